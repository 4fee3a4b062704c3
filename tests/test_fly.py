"""FLy: its exact distribution, vLLM's cases, what a run records, and what the page says of it.

vLLM's cases follow the numbers in its `tests/v1/sample/test_rejection_sampler.py` (004fce2d) and
`tests/v1/spec_decode/test_rejection_sampler_utils.py` (0822b17a), from its pull request 53987. Left
out are placeholder tokens, random logits and batches, which have no counterpart here.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import log, prod

import pytest
import torch
from fakes import Branching
from forging import edited, traced

from specviz.frames import Scene
from specviz.frames.caption import verdict
from specviz.frames.whatif import outcomes
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.file import Trace
from specviz.trace.rule_specs import THRESHOLDS, fly_own_threshold
from specviz.verification import Drawn, MismatchedRule, make_rule
from specviz.verification.distributions import logits_to_probs
from specviz.verification.exact.enumeration import (
    distance,
    joint_distribution,
    plain_distribution,
)
from specviz.verification.published_rules.case_study import P, Q
from specviz.verification.tree import DraftTree

RULE = "fly:1,0.3"


def enumerated(rule, gamma, drawn=Drawn.SAMPLED, p=P, q=Q):
    """Return the distribution of FLy's text, and that of plain decoding."""
    target, draft = (torch.tensor(each, dtype=torch.float64) for each in (p, q))
    found = joint_distribution(
        make_rule(rule), lambda _: target, lambda _: draft, range(-1, gamma), drawn, gamma + 1
    )
    return found, plain_distribution(lambda _: target, gamma + 1)


def by_hand(gamma, window, limit, p=P, q=Q):
    """Return the same distribution from the definition, without the rule's code."""
    tokens = range(len(p))
    unsure = sum(-each * log(each) for each in sorted(p)[-3:]) >= limit
    left = [max(one - other, 0.0) for one, other in zip(p, q, strict=True)]
    ratio = [min(1.0, one / other) for one, other in zip(p, q, strict=True)]
    out = {}
    for draft, passed in product(product(tokens, repeat=gamma), product((1, 0), repeat=gamma)):
        mass = prod(
            q[x] * (ratio[x] if ok else 1 - ratio[x]) for x, ok in zip(draft, passed, strict=True)
        )
        kept = 0
        while kept < gamma:
            ahead = passed[kept + 1 : kept + 1 + window]
            if not passed[kept] and not (unsure and len(ahead) == window and all(ahead)):
                break
            kept += 1
        last = p if kept == gamma else [each / sum(left) for each in left]
        for rest in product(tokens, repeat=gamma + 1 - kept):
            string = (*draft[:kept], *rest)
            share = mass * last[rest[0]] * prod(p[x] for x in rest[1:])
            out[string] = out.get(string, 0.0) + share
    return out


@pytest.mark.parametrize(
    ("gamma", "window", "size"),
    [
        (2, 1, 5),
        *(pytest.param(3, window, 5, marks=pytest.mark.slow) for window in (1, 2, 3)),
        pytest.param(4, 2, 3, marks=pytest.mark.slow),
        pytest.param(4, 2, 5, marks=pytest.mark.nightly),
    ],
)
def test_output_distribution_equals_the_definition_of_fly(gamma, window, size):
    p, q = (P, Q) if size == len(P) else ((0.5, 0.3, 0.2), (0.2, 0.3, 0.5))
    found, _ = enumerated(f"fly:{window},0.3", gamma, p=p, q=q)
    assert distance(found, by_hand(gamma, window, 0.3, p, q)) < 1e-12


class GivenCoins:
    """One u for all guesses or for each; for the last token 0, which selects the top token."""

    def __init__(self, u):
        self.u = u

    def judge(self, node):
        return self.u[node - 1] if isinstance(self.u, list) else self.u

    def final(self):
        return 0.0


def judged(rule, guesses, p, q=None, u=0.5):
    """Return the tokens of a round. p: a row for each guess and one more; q: a row for each."""
    drawn = Drawn.POINT_MASS if q is None else Drawn.SAMPLED
    rows = {} if q is None else dict(enumerate(q[: len(guesses)]))
    tree = DraftTree.chain(0, guesses)
    verdict = make_rule(rule).judge(tree, drawn, p[: len(guesses) + 1], rows, GivenCoins(u))
    return [*(tree.tokens[node] for node in verdict.path), verdict.final.drawn.token]


def rows_of(size, *rows):
    """Return distributions (n, size) from mappings of tokens to probabilities."""
    found = torch.zeros(len(rows), size, dtype=torch.float64)
    for at, row in enumerate(rows):
        for token, probability in row.items():
            found[at, token] = probability
    return found


UNSURE = {7: 1e-12, 8: 0.5, 9: 0.5}
AFTER = ({2: 1}, {3: 1}, {4: 1}, {8: 1})
VLLM_GATES = {
    "full window": ([7, 2, 3, 4], [UNSURE, *AFTER], [7, 2, 3, 4, 8]),
    "low entropy": ([7, 2, 3, 4], [{7: 1e-12, 8: 1}, *AFTER], [8]),
    "masked token": ([7, 2, 3, 4], [{8: 0.5, 9: 0.5}, *AFTER], [8]),
    "consecutive rejections": (
        [7, 2, 3, 4],
        [UNSURE, {2: 1e-12, 8: 0.5, 9: 0.5}, *AFTER[1:]],
        [8],
    ),
    "short request": ([7, 2], [UNSURE, *AFTER], [8]),
    "no guess": ([], [UNSURE], [8]),
}


@pytest.mark.parametrize("with_q", [True, False])
@pytest.mark.parametrize("case", VLLM_GATES)
def test_vllm_test_case_for_entropy_and_lookahead_gives_the_same_tokens(case, with_q):
    guesses, rows, expected = VLLM_GATES[case]
    q = rows_of(10, *({token: 1} for token in guesses)) if with_q else None
    assert judged("fly:2,0.3", guesses, rows_of(10, *rows), q) == expected


@pytest.mark.parametrize(("failing", "rejected"), [(None, 7), (2, 0), (5, 3)])
def test_vllm_test_case_for_a_failed_window_gives_the_same_tokens(failing, rejected):
    """A failed window ends the round at its first rejection, with the residual of that position.

    So the tokens are those of speculative sampling on rows whose overruled rejections are repaired.
    """
    guesses, unsure = list(range(1, 8)), {14: 0.7, 15: 0.3}
    fine = [{token: 0.9, 15: 0.1} for token in guesses]
    rejections = {0, 3} | ({failing} if failing is not None else set())
    p = [{guesses[at]: 1e-12, **unsure} if at in rejections else row for at, row in enumerate(fine)]
    repaired = [fine[at] if at in (0, 3) and at < rejected else row for at, row in enumerate(p)]
    q = rows_of(16, *({token: 0.8, 15: 0.2} for token in guesses))
    found = judged("fly:2,0.3", guesses, rows_of(16, *p, unsure), q)
    assert found == judged("speculative", guesses, rows_of(16, *repaired, unsure), q)
    assert found[:-1] == guesses[:rejected]


def test_vllm_test_cases_for_given_probabilities_give_the_same_tokens():
    """Without draft probabilities, with them, and as the last request of a mixed batch."""
    rows = [{9: 0.6, 7: 0.4}, *({0: 0.2, token: 0.8} for token in (2, 3, 4)), {8: 1}]
    assert judged("fly:2,0", [7, 2, 3, 4], rows_of(10, *rows), u=0.5) == [7, 2, 3, 4, 8]
    assert judged("point-mass", [7, 2, 3, 4], rows_of(10, *rows), u=0.5) == [9]
    rows = [{0: 0.6, 1: 0.4}, *({0: 0.4, token: 0.6} for token in (2, 3, 4)), {7: 1}]
    q = rows_of(8, *({0: 0.5, token: 0.5} for token in (1, 2, 3, 4)))
    assert judged("fly:2,0", [1, 2, 3, 4], rows_of(8, *rows), q, u=0.9) == [1, 2, 3, 4, 7]
    assert judged("speculative", [1, 2, 3, 4], rows_of(8, *rows), q, u=0.9) == [0]
    rows = rows_of(10, {0: 0.6, 4: 0.4}, {5: 1}, {6: 1}, {8: 1})
    assert judged("fly:1,0", [4, 5, 6], rows, u=0.5) == [4, 5, 6, 8]


def logits_of(targets, first=None):
    """Return logits (n, 10) with these top tokens, of which the first row may be another."""
    logits = torch.full((len(targets), 10), -100.0, dtype=torch.float64)
    logits[range(len(targets)), targets] = 100.0
    if first is not None:
        logits[0] = -100.0
        for token, value in first.items():
            logits[0, token] = value
    return logits


CLOSE = {9: 1.0, 1: 0.9, 0: 0.8}
VLLM_TOP_TOKENS = {  # rule, guesses, the target's logits, the text at temperature 1
    "low entropy": ("fly:2,0.3", [1, 2, 3, 4, 5], logits_of([9, 2, 3, 8, 5, 6]), [9]),
    "high entropy": (
        "fly:2,0.3", [1, 2, 3, 4, 5], logits_of([9, 2, 3, 8, 5, 6], CLOSE), [1, 2, 3, 8]
    ),
    "token that is not allowed": (
        "fly:1,0.3",
        [1, 2, 3],
        logits_of([9, 2, 3, 4], {9: 1.0, 0: 0.9, 8: 0.8, 1: -torch.inf}),
        [9],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", VLLM_TOP_TOKENS)
def test_vllm_test_case_for_greedy_requests_gives_the_same_tokens(case):
    """vLLM tests them at temperature 0. Here u = 0.9 rejects the same guesses at temperature 1.

    vLLM uses the entropy of the distribution without temperature. Here p is one-hot at temperature
    0, so that no rejection is overruled.
    """
    rule, guesses, logits, expected = VLLM_TOP_TOKENS[case]
    assert judged(rule, guesses, logits.softmax(-1), u=0.9) == expected
    assert judged(rule, guesses, logits_to_probs(logits, Sampling(0.0)), u=0.9) == [9]


@pytest.mark.parametrize("drawn", [Drawn.SAMPLED, Drawn.POINT_MASS])
@pytest.mark.parametrize("rule", ["fly:2,0.3", "fly:1,1.1"])
def test_output_follows_the_target_where_no_rejection_can_be_overruled(rule, drawn):
    """Either no guess has two guesses after it, or the target's entropy is too low."""
    assert distance(*enumerated(rule, 2, drawn)) < 1e-12


def test_fly_refuses_trees(tiny_target):
    with pytest.raises(MismatchedRule, match="judges chains, but this drafter proposes a tree"):
        traced(tiny_target, Branching(Drawn.SAMPLED), Settings(rule="fly"))


@pytest.fixture(scope="module")
def trace(tiny_target, tiny_draft):
    """A run in which rejections were overruled."""
    settings = Settings(Sampling(1.1), max_new_tokens=120, gamma=4, rule=RULE, seed=3)
    return traced(tiny_target, tiny_draft, settings)


def overruled(trace):
    """Return the rounds and verdicts in which FLy overruled a rejection."""
    return [
        (played, event)
        for played in trace.rounds
        for event in played.judged
        if event.accepted and event.u >= fly_own_threshold(event.inputs)
    ]


def test_fly_run_passes_check_and_is_marked_lossy(trace):
    assert overruled(trace)
    check(Trace.parse(trace.lines()))
    assert (trace.header.rule, trace.header.lossless) == ("fly", False)


def test_check_detects_inputs_that_contradict_the_round(trace):
    judged = (event for played in trace.rounds for event in played.judged)
    event = next(event for event in judged if event.accepted and event.inputs["following"])
    for name, value, says in (
        ("following", 0.0, "the number of following guesses"),
        ("top_entropy", event.inputs["top_entropy"] + 0.01, "the entropy of the top tokens"),
    ):
        inputs = {**event.inputs, name: value}
        forged = replace(event, inputs=inputs, threshold=THRESHOLDS["fly"](inputs))
        with pytest.raises(CheckFailed, match=says):
            check(edited(trace, event, forged))


def scene_of(trace, played):
    earlier = tuple(other for other in trace.rounds if other.number < played.number)
    return Scene(trace.header, trace.vocabulary, played, earlier)


def said(parts):
    return "".join(part if isinstance(part, str) else part.get("n", "") for part in parts)


def test_caption_says_why_a_rejection_was_overruled(trace):
    played, event = overruled(trace)[0]
    sentence = said(verdict(scene_of(trace, played), event))
    assert "Judged alone, this guess is accepted with probability" in sentence
    assert "the next guess would be accepted, so a rejection is overruled" in sentence


def test_what_if_warns_that_an_overruled_guess_depends_on_the_next_ones(trace):
    played, event = next(
        (played, event) for played, event in overruled(trace) if event.node < len(played.judged)
    )
    later = next(other for other in played.judged if other.node == event.node + 1)
    found = outcomes(scene_of(trace, played), later)
    assert "too few of the guesses after" in said(found["rejected"])
