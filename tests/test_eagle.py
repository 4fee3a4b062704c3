"""EAGLE and EAGLE-2: alignment with the target's features, cached trees, exact output."""

from __future__ import annotations

from dataclasses import replace

import circle
import pytest
import tiny
import torch
from driven import (
    CHUNKS,
    Shifted,
    check_dynamic,
    deep_target,
    drafter,
    driven,
    finals,
    plain_logits,
)
from test_engine import traced

from specviz.drafters.eagle import Eagle, Eagle2, width_under
from specviz.engine.loop import rounds
from specviz.models.passes import States
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import summary, token_ids
from specviz.verification import Drawn
from specviz.verification.distributions import logits_to_probs

GREEDY = Settings(Sampling(0.0), max_new_tokens=24, gamma=4, siblings=[4, 3, 3, 2])
WARM = replace(GREEDY, sampling=Sampling(1.1))
FAMILIES = ["eagle", "eagle2", "eagle3"]


@pytest.mark.parametrize("siblings", [[], [3, 2], [4, 3, 3, 2]])
@pytest.mark.parametrize("temperature", [0.0, 1.3])
def test_logits_of_a_node_depend_only_on_its_path(siblings, temperature):
    target = deep_target()
    made = drafter(target)
    settings = replace(WARM, siblings=siblings, sampling=Sampling(temperature))
    seen = 0
    for text, proposal in driven(target, made, settings):
        states = finals(target, text)[:-1]
        tree = proposal.tree
        for node, kids in enumerate(tree.children):
            if not kids:
                continue
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            logits = plain_logits(made.head, states, target.model.lm_head, target, text, path)
            soft = logits.softmax(-1)
            scores = [proposal.score[kid] for kid in kids]
            assert scores == pytest.approx([soft[tree.tokens[k]].item() for k in kids], abs=1e-4)
            if temperature:
                wanted = logits_to_probs(logits, settings.sampling)
                assert torch.allclose(proposal.q[node], wanted, rtol=0, atol=1e-4)
            else:
                assert [tree.tokens[k] for k in kids] == logits.topk(len(kids)).indices.tolist()
            seen += 1
    assert seen >= 4 * len(CHUNKS)


def test_logits_in_a_dynamic_tree_depend_only_on_the_path():
    target = deep_target()
    made = drafter(target, Eagle2)
    depths = set()
    for text, proposal in driven(target, made, WARM):
        check_dynamic(target, made, text, proposal, finals(target, text)[:-1], target.model.lm_head)
        depths.add(max(proposal.tree.depths))
    assert max(depths) > 1


def kept_a_pass(target, drafter, settings=GREEDY, prompt=tiny.PROMPT):
    return summary(traced(target, drafter, prompt, settings, baseline=False))["tokens_per_pass"]


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_shifted_hidden_states_lower_acceptance_but_the_text_stays_exact(name):
    """The head is exact by construction: all guesses are accepted, and none with shifted rows."""
    counts = circle.target()
    counts.eos = ()
    made = circle.drafters(counts)[name]
    assert kept_a_pass(counts, made) == 24 / 6  # the prefill's token, 5 four times, and the last 3
    assert kept_a_pass(counts, Shifted(made)) == 1.0
    trace = traced(counts, Shifted(made), tiny.PROMPT, GREEDY)
    assert token_ids(trace) == trace.baseline.token_ids


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(0.8, top_k=3, top_p=0.9)])
def test_sampled_traces_with_accepted_later_siblings_pass_check(name, sampling):
    counts = circle.target(0.2)
    made = circle.drafters(counts, 0.02)[name]
    later = kept = 0
    for seed in range(3):
        settings = replace(WARM, sampling=sampling, seed=seed)
        trace = traced(counts, made, tiny.PROMPT, settings, baseline=False)
        check(trace)
        for turn in trace.rounds[1:]:
            parents = [guess.parent for guess in turn.proposed.guesses]
            path = [judged.node for judged in turn.judged if judged.accepted]
            kept += len(path)
            later += sum(parents.index(parents[node - 1]) != node - 1 for node in path)
    assert kept > 10
    assert later


@pytest.mark.slow
def test_static_tree_has_the_25_guesses_of_the_eagle_shape():
    counts = circle.target(0.2)
    (_, turn, *_) = rounds(counts, circle.drafters(counts)["eagle"], [5, 6], WARM)
    tree = turn.proposal.tree
    assert len(tree) == 26
    assert [len(kids) for kids in tree.children[:7]] == [4, 3, 2, 1, 0, 3, 2]
    assert turn.proposal.drawn is Drawn.WITHOUT_REPLACEMENT
    assert turn.proposal.evidence[6] == {"rank": 1, "guessed_features": 1}
    assert turn.proposal.evidence[0] == {"form": "features", "passes": 4}
    chain = replace(WARM, siblings=[])
    (_, turn, *_) = rounds(counts, circle.drafters(counts)["eagle"], [5, 6], chain)
    assert turn.proposal.tree.is_chain
    assert len(turn.proposal.tree) == 5
    assert turn.proposal.drawn is Drawn.SAMPLED
    assert width_under(WARM, (1, 1)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_greedy_candidates_are_declared_as_point_mass(name):
    counts = circle.target(0.2)
    made = circle.drafters(counts, 0.02)[name]
    for settings in (replace(WARM, candidates="greedy"), GREEDY):
        turns = list(rounds(counts, made, [5, 6], settings))
        assert {turn.proposal.drawn for turn in turns} == {Drawn.POINT_MASS}
        assert not any(turn.proposal.q for turn in turns)


def test_number_of_hidden_states_must_match_the_text():
    target = deep_target()
    session = drafter(target).begin(target.start(Eagle.capture), WARM)
    session.commit([5, 6], States(final=torch.zeros(2, 48)))
    with pytest.raises(ValueError, match="0 \\+ 2 states for a text of 4 tokens"):
        session.propose([1, 5, 6, 7], 9, Chance(1, 1))
