"""L-MTP: which head predicts which token from which state, and short texts."""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import torch

from specviz.drafters.lmtp import LeapConfig, LeapHeads, NewestStates
from specviz.engine.loop import rounds
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings

GREEDY = Settings(Sampling(0), gamma=6, max_new_tokens=12)


@pytest.mark.parametrize(
    ("leap", "sources"),
    [
        (1, [(1, 0), (2, 0), (3, 0)]),  # Medusa's
        (2, [(1, 1), (1, 0), (2, 1), (2, 0), (3, 1), (3, 0)]),
        (3, [(1, 2), (1, 1), (1, 0), (2, 2), (2, 1), (2, 0)]),
    ],
)
def test_earlier_hidden_states_provide_the_positions_that_heads_skip(leap, sources):
    """Head m reads the state at n - 1 - b and guesses position n - 1 - b + k m + 1 = n + j."""
    heads = LeapHeads(LeapConfig(3, skip_token=leap), 8, None)
    reader = NewestStates(heads, lambda x: x, "toy")
    assert [reader.source(j) for j in range(1, len(sources) + 1)] == sources
    for j, (m, back) in enumerate(sources, 1):
        assert -1 - back + leap * m + 1 == j


@pytest.mark.slow
@pytest.mark.parametrize("leap", [1, 2, 3])
def test_guesses_equal_the_output_of_the_head_and_state_in_evidence(leap):
    heads = headed.trained("lmtp", replace(headed.CONFIGS["lmtp"], skip_token=leap), steps=5)
    text = headed.target().encode("The cat saw the", 9)
    proposal = headed.start_session("lmtp", text, GREEDY, heads).propose(text, 7, Chance(1, 1))
    final = headed.read_target_outputs(headed.target().model, torch.tensor([text])).final[0]
    assert len(proposal.tree) - 1 == min(GREEDY.gamma, 3 * leap)
    for node in range(1, len(proposal.tree)):
        why = proposal.evidence[node]
        assert why["state"] == len(text) - 2 - why["back"]
        with torch.inference_mode():
            logits = heads(final[why["state"]], headed.target().model.lm_head)[why["head"] - 1]
        assert proposal.tree.tokens[node] == int(logits.argmax())
        assert why["state"] + leap * why["head"] + 1 == len(text) - 1 + node


@pytest.mark.slow
def test_text_shorter_than_a_leap_gives_an_empty_draft():
    drafted = []
    for turn in rounds(headed.target(), headed.drafter("lmtp"), [5], GREEDY):
        drafted.append(len(turn.proposal.tree) - 1)
    assert drafted[:2] == [0, 0]  # the prefill, and a round with one state only
    assert drafted[2] == GREEDY.gamma


def test_session_stores_as_many_states_as_a_leap_is_long():
    text = headed.target().encode("The cat saw the", 9)
    session = headed.start_session("lmtp", text, GREEDY)
    assert session.heads.states.shape[0] == 2


@pytest.mark.parametrize("own", [True, False])
def test_heads_load_with_or_without_their_own_output_projections(tmp_path, own):
    names = set(headed.heads("lmtp").state_dict())
    assert "heads.0.resblock.0.l_proj.weight" in names
    made = LeapHeads(LeapConfig(), 48, 280 if own else None)
    assert ("heads.2.lm_head.weight" in made.state_dict()) is own
    made.save(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "heads.safetensors")
    loaded = LeapHeads.load(tmp_path, headed.target())
    assert loaded.own_projection is own
    assert len(loaded.heads) == 3
