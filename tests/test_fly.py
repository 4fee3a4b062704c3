"""FLy: its exact distribution, what a run of it records, and what the page says of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import log, prod

import pytest
import torch
from fakes import Branching
from test_check import edited, traced

from specviz.frames import Scene
from specviz.frames.caption import verdict
from specviz.frames.whatif import outcomes
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.file import Trace
from specviz.trace.rule_specs import THRESHOLDS, fly_own_threshold
from specviz.verification import Drawn, MismatchedRule, make_rule
from specviz.verification.exact.enumeration import (
    distance,
    joint_distribution,
    plain_distribution,
)
from specviz.verification.published_rules.case_study import P, Q

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


@pytest.mark.parametrize(("gamma", "window"), [(2, 1), (3, 1), (3, 2), (3, 3), (4, 2)])
def test_enumeration_equals_the_definition(gamma, window):
    found, _ = enumerated(f"fly:{window},0.3", gamma)
    assert distance(found, by_hand(gamma, window, 0.3)) < 1e-12


def test_distance_is_what_it_overrules():
    """With two guesses, that is the probability of a rejection before a guess that passes."""
    alpha = sum(min(one, other) for one, other in zip(P, Q, strict=True))
    assert distance(*enumerated(RULE, 2)) == pytest.approx((1 - alpha) * alpha)


@pytest.mark.parametrize("drawn", [Drawn.SAMPLED, Drawn.POINT_MASS])
@pytest.mark.parametrize("rule", ["fly:2,0.3", "fly:1,1.1"])
def test_nothing_is_lost_where_nothing_can_be_overruled(rule, drawn):
    """Because two guesses never have two after them, or because the target is too sure."""
    assert distance(*enumerated(rule, 2, drawn)) < 1e-12


def test_trees_are_refused(tiny_target):
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


def test_run_passes_check_and_says_that_it_is_lossy(trace):
    assert overruled(trace)
    check(Trace.parse(trace.lines()))
    assert (trace.header.rule, trace.header.lossless) == ("fly", False)


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("following", lambda _: 0.0, "the number of following guesses"),
        ("top_entropy", lambda value: value + 0.01, "the entropy of the top tokens"),
    ],
)
def test_check_detects_inputs_that_the_round_contradicts(trace, name, change, says):
    event = next(
        event
        for played in trace.rounds
        for event in played.judged
        if event.accepted and event.inputs["following"]
    )
    inputs = {**event.inputs, name: change(event.inputs[name])}
    forged = replace(event, inputs=inputs, threshold=THRESHOLDS["fly"](inputs))
    with pytest.raises(CheckFailed, match=says):
        check(edited(trace, event, forged))


def scene_of(trace, played):
    earlier = tuple(other for other in trace.rounds if other.number < played.number)
    return Scene(trace.header, trace.vocabulary, played, earlier)


def said(parts):
    return "".join(part if isinstance(part, str) else part.get("n", "") for part in parts)


def test_sentence_says_why_a_rejection_was_overruled(trace):
    played, event = overruled(trace)[0]
    sentence = said(verdict(scene_of(trace, played), event))
    assert "Its own test accepts with probability" in sentence
    assert "the next 1 guesses pass their own tests (1 does). Both hold" in sentence


def test_what_if_says_that_the_overruled_guess_depends_on_the_next(trace):
    played, event = next(
        (played, event) for played, event in overruled(trace) if event.node < len(played.judged)
    )
    later = next(other for other in played.judged if other.node == event.node + 1)
    found = outcomes(scene_of(trace, played), later)
    assert "would no longer be followed by enough passing guesses" in said(found["rejected"])
