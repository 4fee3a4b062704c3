"""DFlash: a whole block in one pass, its attention, and exact runs."""

from __future__ import annotations

from dataclasses import replace

import dflash_made
import headed
import pytest
import torch
from dflash_made import (
    SIZE,
    drafter,
    generated_by_transformers,
    plain_logits,
    random_head,
    start_session,
    trained,
)
from driven import CHUNKS, Shifted, deep_target, driven
from test_engine import traced

from specviz.drafters.dflash import TOP_COUNT
from specviz.drafters.dflash import head as training
from specviz.drafters.dflash.head import DFlashHead
from specviz.engine.loop import rounds
from specviz.models.passes import States
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.metrics import summary
from specviz.verification import Drawn

GREEDY = Settings(Sampling(0), gamma=4, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=4, max_new_tokens=24)


def turns(settings):
    """Return the rounds after the prefill, each with the text before it."""
    text = headed.target().encode(headed.PROMPTS[0], settings.max_new_tokens)
    for turn in rounds(headed.target(), drafter(), list(text), settings):
        if turn.number:
            yield list(text), turn
        text += turn.tokens


def kept_share(made):
    kept = judged = 0
    for prompt in headed.PROMPTS:
        ids = headed.target().encode(prompt, 40)
        for turn in rounds(headed.target(), made, ids, replace(GREEDY, gamma=3)):
            kept += len(turn.verdict.path)
            judged += len(turn.verdict.decisions)
    return kept / judged


# The block


def test_block_of_guesses_equals_that_of_the_transformers_network():
    """Compare taps, fusing, norms, positions and both directions, incrementally over a cache."""
    target = deep_target()
    head = random_head(target)
    made = drafter(head)
    assert made.capture.layers == (2, 3) == tuple(k + 1 for k in head.config.target_layer_ids)
    for number, (text, proposal) in enumerate(driven(target, made, replace(GREEDY, gamma=9))):
        soft = plain_logits(head, target, text).softmax(-1)
        assert list(proposal.tree.tokens) == [text[-1], *soft.argmax(-1).tolist()]
        assert proposal.tree.parents == (-1, *range(SIZE - 1))
        for node, token in enumerate(proposal.tree.tokens[1:], start=1):
            assert proposal.score[node] == pytest.approx(soft[node - 1, token].item(), abs=1e-4)
            assert proposal.evidence[node] == {"place": node}
        remark = dict(proposal.evidence[0])
        for place, best in zip(soft, remark.pop("places"), strict=True):
            values, ids = place.topk(TOP_COUNT)
            assert [each["token"] for each in best] == ids.tolist()
            assert [each["p"] for each in best] == pytest.approx(values.tolist(), abs=1e-4)
        states = sum(CHUNKS[: number + 1])
        seen = {"passes": 1, "states": states, "masks": SIZE - 1}
        assert remark == {"form": "block", "block": SIZE} | seen
        assert proposal.drawn is Drawn.POINT_MASS
        assert not proposal.q
        assert not proposal.draws


@pytest.mark.slow
def test_rounds_equal_those_of_transformers_generation():
    ids = headed.target().encode("The cat", 40)
    prompt, *transformers_network = generated_by_transformers(trained(), headed.target(), ids, 40)
    assert prompt == ids
    settings = replace(GREEDY, gamma=9)
    _, *ours = rounds(headed.target(), drafter(), list(ids), settings)
    assert len(ours) == len(transformers_network) > 10
    left = 39
    for turn, tokens in zip(ours, transformers_network, strict=True):
        assert len(turn.proposal.tree) == min(SIZE, left)
        assert list(turn.proposal.tree.tokens) == tokens[:left]
        left -= len(turn.tokens)


@pytest.mark.slow
def test_session_and_training_give_the_same_guesses_for_an_anchor():
    text, turn = list(turns(GREEDY))[-1]
    whole = [*text, *turn.tokens]
    outputs = headed.read_target_outputs(headed.target().model, torch.tensor([whole]))
    said = torch.stack(training.guesses(trained(), outputs), dim=2)[0].softmax(-1)
    compared = 0
    for before, turn in turns(GREEDY):
        row = said[len(before) - 2]
        for node, token in enumerate(turn.proposal.tree.tokens[1:], start=1):
            assert token == int(row[node - 1].argmax())
            assert turn.proposal.score[node] == pytest.approx(row[node - 1, token].item(), abs=1e-4)
            compared += 1
    assert compared > 20


def test_all_positions_of_a_block_are_filled_in_one_pass(monkeypatch):
    text = headed.target().encode("The cat saw the", 20)
    trained()  # passes during training count too
    seen = []
    forward = DFlashHead.forward

    def counted(head, words, positions, mixes):
        seen.append(words)
        return forward(head, words, positions, mixes)

    monkeypatch.setattr(DFlashHead, "forward", counted)
    whole = start_session(text, GREEDY).propose(text, 20, Chance(1, 1))
    assert len(whole.tree) - 1 == SIZE - 1  # a larger γ does not add positions
    for gamma in range(1, SIZE):
        part = start_session(text, GREEDY).propose(text, gamma + 1, Chance(1, 1))
        assert part.tree.tokens == whole.tree.tokens[: gamma + 1]
        assert part.evidence[0] == whole.evidence[0]
    assert len(seen) == SIZE
    embed = headed.target().model.get_input_embeddings()
    block = torch.tensor([text[-1], *[trained().config.mask_token_id] * (SIZE - 1)])
    assert all(torch.equal(words[0], embed(block)) for words in seen)


def test_guesses_depend_on_later_positions_only_as_mask_tokens():
    """Attention is bidirectional: the last position changes the first guess; inputs are masks."""
    target, head = headed.target(), trained()
    text = target.encode("The cat saw the", 20)
    masks = [text[-1], *[head.config.mask_token_id] * (SIZE - 1)]
    usual = plain_logits(head, target, text, masks)
    other = plain_logits(head, target, text, [*masks[:-1], 33])
    assert (usual[0] - other[0]).abs().max() > 1e-3
    shorter = plain_logits(head, target, text, masks[:-1])
    assert (usual[0] - shorter[0]).abs().max() > 1e-3
    proposal = start_session(text, GREEDY).propose(text, 20, Chance(1, 1))
    assert [row[0]["token"] for row in proposal.evidence[0]["places"]] == usual.argmax(-1).tolist()
    assert usual.argmax(-1)[0] != masks[1]  # its top token is another one, which no position reads


# Exact runs


@pytest.mark.slow
def test_trained_head_saves_target_passes():
    trace = traced(headed.target(), drafter(), "The cat", GREEDY, baseline=False)
    assert summary(trace)["tokens_per_pass"] > 1.5


@pytest.mark.slow
def test_acceptance_falls_if_hidden_states_are_shifted_by_one():
    """Acceptance does not fall to zero, since the head still reads the newest token."""
    right = kept_share(drafter())
    assert right > 0.5
    assert kept_share(Shifted(drafter())) < right - 0.1


# Edges


@pytest.mark.parametrize(("room", "depth"), [(1, 0), (2, 1), (3, 2), (99, SIZE - 1)])
def test_draft_is_no_deeper_than_the_token_budget(room, depth):
    text = headed.target().encode("The cat saw the", 9)
    proposal = start_session(text, GREEDY).propose(text, room, Chance(1, 1))
    assert max(proposal.tree.depths) == depth
    assert len(proposal.evidence) == depth + 1
    assert proposal.evidence[0]["passes"] == (depth > 0)
    assert len(proposal.evidence[0].get("places", [])) == (SIZE - 1 if depth else 0)
    proposal.check(Drawn.POINT_MASS, room, ())


@pytest.mark.slow
def test_block_is_drafted_after_a_text_of_one_token():
    prompt = [5]
    first, second, *_ = rounds(headed.target(), drafter(), prompt, GREEDY)
    assert len(first.proposal.tree) == 1
    text = [5, *first.tokens]
    soft = plain_logits(trained(), headed.target(), text)
    assert list(second.proposal.tree.tokens[1:]) == soft.argmax(-1)[: GREEDY.gamma].tolist()


def test_missing_hidden_states_raise_readable_error():
    text = headed.target().encode("The cat saw the", 9)
    session = start_session(text, GREEDY)
    with pytest.raises(ValueError, match=f"{len(text) - 1} states for a text of"):
        session.propose([*text, 7], 9, Chance(1, 1))
    row = session.past[0][0].new_zeros(1, 48)
    session.commit([7], States(dict.fromkeys(drafter().capture.layers, row)))
    assert len(session.propose([*text, 7], 5, Chance(1, 2)).tree) == 5


def test_drafter_reads_its_name_and_target_from_its_files(tmp_path):
    trained().save(tmp_path)
    made = dflash_made.DFlash.load("my-dflash", tmp_path, headed.target())
    assert (made.name, made.card.family, made.made_for) == ("dflash", "dflash", headed.HASH)
    assert made.card.name == "my-dflash"
    assert made.card.parameters == sum(p.numel() for p in trained().parameters())
