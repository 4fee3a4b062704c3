"""Live runs under block and traversal verification: distributions, numbers and traces."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from math import prod
from statistics import mean
from typing import Any

import pytest
import torch
from fakes import Branching
from forging import cut, edited, header, inside, put, refused, traced

from specviz.compare.report import count_by_depth
from specviz.engine.loop import rounds
from specviz.settings.chance import DRAFT, FINAL, JUDGE, u_key
from specviz.settings.settings import Sampling, Settings
from specviz.trace import metrics
from specviz.trace.check import CheckFailed, check
from specviz.trace.events import Judged
from specviz.trace.file import Trace
from specviz.trace.rule_specs import THRESHOLDS
from specviz.verification import Drawn, MismatchedRule
from specviz.verification.distributions import logits_to_probs
from specviz.verification.exact import distance
from specviz.verification.exact.recorded_run import worst_bounds

CHAIN, TREE = (-1, 0, 1, 2), (-1, 0, 0, 1, 1, 2, 3)
WARM = Settings(Sampling(1.4, top_k=12), max_new_tokens=24, gamma=3, seed=3)
KINDS = [
    *(("block", drawn, CHAIN) for drawn in (Drawn.SAMPLED, Drawn.POINT_MASS)),
    *(("traversal", drawn, TREE) for drawn in Drawn),
]


@pytest.fixture(scope="module")
def runs(tiny_target):
    """Return a sampled run for each rule and kind of candidates."""
    return {
        (rule, drawn): traced(tiny_target, Branching(drawn, shape), replace(WARM, rule=rule))
        for rule, drawn, shape in KINDS
    }


# The output distribution: every u of a round is forced to every interval


@dataclass
class Live:
    """Round 1 of runs that differ only in their random numbers."""

    target: Any
    drafter: Any
    settings: Settings
    after: dict[tuple[int, ...], list[tuple[int, float]]] = field(default_factory=dict)

    def __post_init__(self):
        self.ids = self.target.encode("The cat", 4)
        names = [(DRAFT, n) for n in range(1, 7)] + [(JUDGE, n) for n in range(1, 7)]
        self.names = [u_key(1, *name) for name in [*names, (FINAL, 0)]]
        self.first = self.play({})[0].tokens

    def play(self, coins):
        """Return rounds 0 and 1 with these numbers in round 1 and zeros elsewhere."""
        laid = {name: coins.get(name, 0.0) for name in self.names}
        settings = replace(self.settings, coins=laid)
        return list(islice(rounds(self.target, self.drafter, self.ids, settings), 2))

    def outcomes(self):
        """Yield every round that random numbers can lead to, with its probability."""
        coins: dict[str, float] = {}
        while True:
            played = self.play(coins)[1]
            told = list(decided(played))
            yield played, prod(hi - lo for _, lo, hi in told)
            while told and told[-1][2] > 1 - 1e-12:
                coins.pop(told.pop()[0], None)
            if not told:
                return
            coins[told[-1][0]] = told[-1][2]

    def distribution(self, length):
        """Return the distribution of the tokens after the first, completed by sampling from p."""
        found: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for played, chance in self.outcomes():
            for text, share in self.longer(played.tokens[:length], length):
                found[text] += chance * share
        return dict(found)

    def longer(self, text, length):
        """Yield a text with every continuation of plain decoding and its probability."""
        if len(text) == length or (text and text[-1] in self.target.eos):
            yield tuple(text), 1.0
            return
        for token, chance in self.next(tuple(text)):
            for whole, share in self.longer((*text, token), length):
                yield whole, chance * share

    def next(self, text):
        """Return the target's distribution after a text, computed by transformers alone."""
        if text not in self.after:
            with torch.inference_mode():
                row = self.target.model(torch.tensor([[*self.ids, *self.first, *text]])).logits
            chances = logits_to_probs(row[0, -1], self.settings.sampling)
            tokens = chances.nonzero().flatten().tolist()
            self.after[text] = [(token, chances[token].item()) for token in tokens]
        return self.after[text]


def decided(played):
    """Yield the key of each random number of a round and the interval that it was in."""
    for node, draw in sorted(played.proposal.draws.items()):
        yield u_key(1, DRAFT, node), draw.lo, draw.hi
    for each in played.verdict.decisions:
        bar = min(1.0, each.threshold)
        yield u_key(1, JUDGE, each.node), *((0.0, bar) if each.accepted else (bar, 1.0))
    drawn = played.verdict.final.drawn
    yield u_key(1, FINAL, 0), drawn.lo, drawn.hi


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "drawn", "shape"),
    [
        ("block", Drawn.SAMPLED, (-1, 0, 1)),
        ("block", Drawn.POINT_MASS, CHAIN),
        ("traversal", Drawn.SAMPLED, (-1, 0, 0, 1)),
        ("traversal", Drawn.WITHOUT_REPLACEMENT, (-1, 0, 0, 1)),
        ("traversal", Drawn.POINT_MASS, TREE),
    ],
)
def test_enumerated_live_round_follows_the_target_exactly(tiny_target, rule, drawn, shape):
    settings = Settings(Sampling(2.0, top_k=3), max_new_tokens=5, gamma=3, rule=rule)
    live = Live(tiny_target, Branching(drawn, shape), settings)
    ours = live.distribution(3)
    assert sum(ours.values()) == pytest.approx(1, abs=1e-9)
    assert distance(ours, dict(live.longer((), 3))) < 1e-6  # float32 scores of two shapes of pass


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["block", "traversal"])
def test_text_at_temperature_0_equals_plain_decoding(tiny_target, rule):
    shape = CHAIN if rule == "block" else TREE
    settings = Settings(Sampling(0.0), max_new_tokens=24, gamma=3, rule=rule)
    for drawn in Drawn:
        trace = traced(tiny_target, Branching(drawn, shape), settings)
        check(Trace.parse(trace.lines()))
        assert metrics.token_ids(trace) == trace.baseline.token_ids
        assert metrics.summary(trace)["accepted_length"] > 0
        found = {e.threshold for played in trace.rounds for e in played.judged}
        assert found == {0.0, 1.0}


# Traces


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "drawn", "shape"), KINDS)
def test_leaf_first_run_passes_check_and_records_the_path_of_the_rule(
    tiny_target, runs, rule, drawn, shape
):
    """Compare with live verdicts: the u of the last guess on the path decides all of them."""
    trace = Trace.parse(runs[rule, drawn].lines())
    check(trace)
    assert (trace.header.rule, trace.header.lossless) == (rule, True)
    assert sum(len(played.judged) for played in trace.rounds) > 20
    assert worst_bounds(trace)[1] < 1e-14
    ids = trace.header.prompt_ids
    again = list(rounds(tiny_target, Branching(drawn, shape), ids, replace(WARM, rule=rule)))
    kept = [played.verdict.path for played in again]
    assert [tuple(metrics.accepted_path(played)) for played in trace.rounds] == kept
    assert any(kept)
    summary = metrics.summary(trace)
    assert summary["alpha"] is None
    assert summary["accepted_length"] == mean(map(len, kept))
    told = [{*p.verdict.path, *(d.node for d in p.verdict.decisions)} for p in again]
    assert summary["acceptance_rate"] == sum(map(len, kept)) / sum(map(len, told))
    depths = count_by_depth(trace)
    assert sum(depth.kept for depth in depths) == sum(map(len, kept))
    for depth, (one, other) in enumerate(pairwise(depths), 1):
        assert one.kept == sum(len(path) >= depth for path in kept)
        assert other.kept <= other.positions <= one.kept


def forged(trace, event, **inputs):
    """Return the trace with other inputs at a verdict and a matching threshold."""
    found = {**event.inputs, **inputs}
    bar = THRESHOLDS[trace.header.rule](found)
    return edited(trace, event, replace(event, inputs=found, threshold=bar))


def verdicts(trace, holds):
    return [e for e in trace.events if isinstance(e, Judged) and holds(e)]


@pytest.mark.slow
@pytest.mark.parametrize("drawn", list(Drawn))
def test_check_detects_forged_reach_probability_and_remaining_mass(runs, drawn):
    trace = runs["traversal", drawn]
    leaf = verdicts(trace, lambda e: "left" not in e.inputs and 0.01 < e.inputs["reach"] < 0.9)[-1]
    inner = verdicts(trace, lambda e: e.inputs.get("left", 0) > 0.001 and not e.accepted)[-1]
    off = leaf.inputs["reach"] * 1.001
    side = leaf.u < off if leaf.accepted else leaf.u >= off
    assert side, "the verdict stays, so that this alone is wrong"
    with pytest.raises(CheckFailed, match="its 'reach' is"):
        check(forged(trace, leaf, reach=off))
    with pytest.raises(CheckFailed, match="its 'left' is"):
        check(forged(trace, inner, left=inner.inputs["left"] * 1.01))
    with pytest.raises(CheckFailed, match="its inputs should be"):
        check(forged(trace, leaf, left=0.1))


def test_check_detects_a_reach_probability_that_contradicts_the_scores(runs):
    """The forged rows are consistent, but belong to another share of p than the path leaves."""
    trace = runs["block", Drawn.SAMPLED]
    event = verdicts(trace, lambda e: 0.1 < e.rows.reach < 0.9)[0]
    rows, reach = event.rows, event.rows.reach * 0.99
    pairs = [(reach * p, q) for p, q in zip(rows.p, rows.q, strict=True)]
    both = min(rows.rest_both, reach * rows.rest_p)
    above = reach * rows.rest_p - both
    other = replace(
        rows,
        reach=reach,
        rest_both=both,
        rest_residual=above,
        overlap=sum(min(pair) for pair in pairs) + both,
        residual=sum(max(p - q, 0) for p, q in pairs) + above,
    )
    with pytest.raises(CheckFailed, match="the reach of its position is"):
        check(edited(trace, event, replace(event, rows=other)))


LIES = [
    (put("judged", "rows", reach=1.5), "a mass contains 1.5"),
    (cut("judged", "rows", at="reach"), "a reach must be given exactly"),
    (put("judged", alpha=0.5), "it has an α"),
    (cut("judged", "inputs", at="p"), "the rule's inputs should be"),
    (inside("scored", "p", 0, value=lambda p: p * 0.9 + 1e-3), "token|p is"),
    (header(lossless=False), "the header denies it"),
]


@pytest.mark.parametrize(("change", "says"), LIES, ids=[says for _, says in LIES])
def test_check_detects_each_forgery(runs, change, says):
    refused(runs["traversal", Drawn.SAMPLED], change, says)


def test_check_detects_verdicts_in_the_wrong_order(runs):
    trace = runs["block", Drawn.SAMPLED]
    played = next(r for r in trace.rounds if len(r.judged) > 2)
    one, other = played.judged[:2]
    rest = [event for event in trace.events if event not in (one, other)]
    at = trace.events.index(one)
    for events in ([other, one], [other]):
        with pytest.raises(CheckFailed, match=f"node {one.node} is next"):
            check(Trace(trace.header, [*rest[:at], *events, *rest[at:]]))
    last = next(r.judged[-1] for r in trace.rounds if r.judged and r.judged[-1].accepted)
    again = trace.events.copy()
    again.insert(again.index(last), last)
    with pytest.raises(CheckFailed, match="after one was accepted"):
        check(Trace(trace.header, again))


def test_check_detects_a_last_token_from_another_distribution(runs):
    trace = runs["traversal", Drawn.WITHOUT_REPLACEMENT]
    drew = next(r.drew for r in trace.rounds if r.drew and r.drew.kind == "recovered")
    p = [drew.p[0] * 0.9, *drew.p[1:]]
    other = replace(drew, p=p, rest_p=drew.rest_p + drew.p[0] * 0.1)
    if drew.token == drew.tokens[0]:
        other = replace(other, drawn=replace(drew.drawn, hi=p[0], u=min(drew.drawn.u, p[0] / 2)))
    with pytest.raises(CheckFailed):
        check(edited(trace, drew, other))


def test_error_for_block_verification_of_a_tree_suggests_traversal(tiny_target, runs):
    settings = replace(WARM, rule="block")
    with pytest.raises(MismatchedRule, match="'traversal' does the same on trees"):
        traced(tiny_target, Branching(Drawn.SAMPLED, TREE), settings)
    told = runs["traversal", Drawn.SAMPLED]
    header = replace(told.header, rule="block", settings=told.header.settings | {"rule": "block"})
    with pytest.raises(CheckFailed, match="judges chains, but this is a tree"):
        check(Trace(header, told.events))


@pytest.mark.slow
def test_forced_u_changes_no_earlier_token(tiny_target, runs):
    trace = runs["traversal", Drawn.SAMPLED]
    shape = Branching(Drawn.SAMPLED, TREE)
    again = traced(tiny_target, shape, replace(WARM, rule="traversal"))
    assert metrics.token_ids(again) == metrics.token_ids(trace)
    event = verdicts(trace, lambda e: 0.05 < e.threshold < 1 and not e.accepted)[-1]
    coins = {u_key(event.round, JUDGE, event.node): event.threshold / 2}
    other = traced(tiny_target, shape, replace(WARM, rule="traversal", coins=coins))
    check(other)
    assert metrics.accepted_path(other.rounds[event.round])[-1] == event.node
    before = [[r.committed.tokens for r in t.rounds[: event.round]] for t in (trace, other)]
    assert before[0] == before[1]
