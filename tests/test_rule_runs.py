"""Runs under every rule: descriptions, `check`, bounds, and detection of forgeries."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest
import tiny
import torch
from fakes import Branching
from forging import cut, edited, header, put, refused, setting, traced
from test_leaf_first_runs import forged

from specviz.commands.run import compare_with_baseline, summary_lines
from specviz.engine.decode import Tally, repeat
from specviz.engine.recorder import decision_rows
from specviz.frames import Scene
from specviz.frames.caption import caption
from specviz.frames.inspector import inspector
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import FOLDER as TRACES
from specviz.trace.check import CheckFailed, check, list_assumptions
from specviz.trace.events import Judged
from specviz.trace.file import Trace
from specviz.trace.metrics import summary
from specviz.trace.rule_specs import RULE_SPECS, AfterRejection
from specviz.verification import Drawn, MismatchedRule, make_rule
from specviz.verification.base import Decision, NodeDistributions
from specviz.verification.exact.closed_form import closed_form
from specviz.verification.exact.recorded_run import BOUNDS, excerpt, verdict_bounds, worst_bounds
from specviz.verification.tree import DraftTree

TAKES = {
    "accept-reject": Drawn.SAMPLED,
    "k-seq": Drawn.SAMPLED,
    "lenience:0.7": Drawn.SAMPLED,
    "ensemble:0.6": Drawn.WITHOUT_REPLACEMENT,
    "typical": Drawn.SAMPLED,
    "relaxed:3,0.05": Drawn.POINT_MASS,
    "thresholds:0.5,0.6": Drawn.WITHOUT_REPLACEMENT,
    "unverified": Drawn.POINT_MASS,
}


@pytest.fixture(scope="module")
def runs(tiny_target):
    """Return a sampled run on trees for each rule."""
    settings = Settings(Sampling(1.1), max_new_tokens=24, gamma=3)
    return {
        rule: traced(tiny_target, Branching(drawn), replace(settings, rule=rule))
        for rule, drawn in TAKES.items()
    }


@pytest.mark.parametrize("rule", TAKES)
def test_trace_of_every_rule_names_the_rule_and_passes_check(runs, rule):
    trace = Trace.parse(runs[rule].lines())
    check(trace)
    name = rule.split(":")[0]
    assert (trace.header.rule, trace.header.settings["rule"]) == (name, rule)
    assert trace.header.lossless == RULE_SPECS[name].lossless
    assert summary(trace)["alpha"] is None
    assert any(played.judged for played in trace.rounds)
    trusted = " ".join(list_assumptions(trace))
    assert ("depends on whole distributions" in trusted) == (
        name in ("accept-reject", "k-seq", "typical")
    )


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["typical", "ensemble", "unverified"])
def test_greedy_run_with_lossy_rule_passes_check(tiny_target, rule):
    settings = Settings(Sampling(0.0), max_new_tokens=16, gamma=3, rule=rule)
    trace = traced(tiny_target, Branching(Drawn.SAMPLED), settings)
    check(trace)
    kept = [e.inputs["p"] for played in trace.rounds for e in played.judged if e.accepted]
    assert (min(kept) < 1) == (rule != "typical")


@pytest.mark.parametrize("rule", TAKES)
def test_captions_of_lossy_rules_state_how_they_decide(runs, rule):
    said = set()
    for index in range(len(runs[rule].rounds)):
        scene = Scene.of(runs[rule], index)
        for step in scene.steps:
            inspector(scene, step)
            parts = caption(scene, step)["parts"]
            said.add("".join(part for part in parts if isinstance(part, str)))
    text = " ".join(said)
    assert "To keep the target's distribution" not in text
    words = {
        "accept-reject": "the replacement is sampled from p.",
        "k-seq": "judges all alternatives in the same way",
        "lenience:0.7": "divides by 0.7 q instead of q",
        "ensemble:0.6": "uses 0.6 p + 0.4 q in place of p",
        "typical": "under this rule the target's top token",
        "relaxed:3,0.05": "among the 3 likeliest, with p at most 0.05 below the top token's",
        "thresholds:0.5,0.6": "if p is 0.5 or more, and divides a smaller p by 0.6",
        "unverified": "This rule accepts every guess",
    }
    assert words[rule] in text
    changes = RULE_SPECS[runs[rule].header.rule].after_rejection is AfterRejection.RESIDUAL
    assert changes or "p′ (the residual)" not in text


def test_invalid_rule_is_refused_before_any_work(tiny_target, tiny_draft):
    for rule, says in (("typical:2", "not '2'"), ("greedy", "Use temperature 0")):
        with pytest.raises(MismatchedRule, match=says):
            traced(tiny_target, tiny_draft, Settings(rule=rule))


LIES = [
    ("typical", header(lossless=True), "is not lossless"),
    ("lenience:0.7", setting(rule="lenience:0.8"), "rule's parameters are not"),
    ("lenience:0.7", setting(rule="lenience:7"), "must be between 0.01 and 1"),
    ("typical", put("judged", alpha=0.5), "it has an α"),
    ("typical", cut("judged", "inputs", at="entropy"), "the rule's inputs should be"),
]


@pytest.mark.parametrize(("rule", "change", "says"), LIES, ids=[row[-1] for row in LIES])
def test_check_detects_each_forgery(runs, rule, change, says):
    refused(runs[rule], change, says)


FACTS = [  # a rule, a field, a wrong value for it, and the expected error
    ("typical", "entropy", lambda fact: 0.0, "the entropy is 0.0"),
    ("relaxed:3,0.05", "rank", lambda fact: fact + 1, "the rank is"),
    ("relaxed:3,0.05", "top", lambda fact: fact + 0.01, "the top token's p is"),
    ("thresholds:0.5,0.6", "before", lambda fact: fact + 1e-4, "what was tried before is"),
    ("accept-reject", "least", lambda fact: 0.99, "the least q/p is"),
    ("k-seq", "rho", lambda fact: 5.0, "ρ is 5.0, but must"),
]


@pytest.mark.parametrize(("rule", "name", "other", "says"), FACTS, ids=[row[1] for row in FACTS])
def test_check_detects_inputs_that_contradict_p_and_q(runs, rule, name, other, says):
    """Forge the threshold along with the input, so that only the input is wrong."""
    trace = runs[rule]
    event = next(e for e in trace.events if isinstance(e, Judged))
    with pytest.raises(CheckFailed, match=says):
        check(forged(trace, event, **{name: other(event.inputs[name])}))


def test_check_detects_a_last_token_from_another_distribution(runs):
    """Typical acceptance takes the top token, so another last token cannot come from that rule."""
    for rule in ("typical", "relaxed:3,0.05"):
        drew = next(r.drew for r in runs[rule].rounds if r.drew and r.drew.kind == "recovered")
        assert drew.p[0] == 1.0
        other = replace(drew, p=[0.9, *drew.p[1:]], rest_p=drew.rest_p + 0.1)
        other = replace(other, drawn=replace(drew.drawn, hi=0.9, u=min(drew.drawn.u, 0.8)))
        with pytest.raises(CheckFailed):
            check(edited(runs[rule], drew, other))


def test_check_detects_a_last_token_from_a_wrong_residual_of_k_seq(runs):
    """k-SEQ samples from (p − ρ q)₊; here its most probable token has slightly less."""
    drew = next(
        r.drew
        for r in runs["k-seq"].rounds
        if r.drew and r.drew.kind == "recovered" and r.drew.token == r.drew.tokens[0]
    )
    lighter = [*drew.p[:-1], drew.p[-1] * 0.5]
    other = replace(drew, p=lighter, rest_p=drew.rest_p + drew.p[-1] * 0.5)
    with pytest.raises(CheckFailed, match="the last distribution, "):
        check(edited(runs["k-seq"], drew, other))


# Bounds of a run


def verdict(rule, p, q, token):
    """Return a verdict as a trace stores it."""
    made = make_rule(rule)
    tree = DraftTree.chain(0, [token])
    rows = torch.stack([p, p])

    class Coins:
        def judge(self, node):
            return 0.5

        def final(self):
            return 0.5

    decided = made.judge(tree, Drawn.SAMPLED, rows, {0: q}, Coins()).decisions[0]
    both = NodeDistributions(p, decided.distributions.q)
    decision = Decision(1, decided.u, decided.threshold, decided.inputs, both)
    row = decision_rows([decision], tree, None)[0]
    return Judged(1, 1, decided.u, decided.threshold, dict(decided.inputs), row, None)


@pytest.mark.parametrize("rule", ["speculative", "lenience:0.6", "ensemble:0.7", "accept-reject"])
def test_loss_bounds_from_a_trace_contain_the_exact_distance(rule):
    for size in (6, 400):
        coins = torch.Generator().manual_seed(size)
        p, q = (torch.randn(size, generator=coins, dtype=torch.float64) * 2 for _ in "pq")
        p, q = p.softmax(-1), q.softmax(-1)
        least, most = BOUNDS[make_rule(rule).spec.name](verdict(rule, p, q, 3))
        exact = closed_form(rule, p, q).tv
        assert least - 1e-12 <= exact <= most + 1e-12
        if size == 6 or rule in ("speculative", "ensemble:0.7"):
            assert most - least < 1e-12


@pytest.mark.parametrize("rule", ["point-mass", "typical", "thresholds:0.9,0.5", "unverified"])
def test_loss_bounds_without_q_are_conditional_on_the_guess(rule):
    """Compare with a draft that has all its mass on the guess."""
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    for token in range(4):
        fixed = torch.zeros_like(p).index_fill_(0, torch.tensor(token), 1.0)
        least, most = BOUNDS[make_rule(rule).spec.name](verdict(rule, p, fixed, token))
        assert least == most == pytest.approx(closed_form(rule, p, fixed).tv, abs=1e-12)
        assert rule != "point-mass" or least == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_only_lossless_runs_have_loss_bounds_of_zero(runs, tiny_target):
    for drawn in Drawn:
        settings = Settings(Sampling(1.1), max_new_tokens=16, gamma=3)
        trace = traced(tiny_target, Branching(drawn), settings)
        assert worst_bounds(trace)[1] < 1e-14
        found = list(verdict_bounds(trace))
        assert len(found) == sum(len(played.judged) for played in trace.rounds)
        assert all(step.given == (drawn is Drawn.POINT_MASS) for step in found)
        assert found[0].place == 1  # the prefill adds the first token
    for rule in ("lenience:0.7", "ensemble:0.6", "typical", "unverified"):
        assert worst_bounds(runs[rule])[0] > 0.01
    assert worst_bounds(runs["k-seq"]) == (0.0, 1.0)  # which the stored rows do not show
    assert worst_bounds(Trace(runs["typical"].header, [])) == (0.0, 0.0)


def test_forged_residual_raises_the_loss_bounds(tiny_target, tiny_draft):
    settings = Settings(Sampling(1.1), max_new_tokens=8, gamma=3)
    trace = traced(tiny_target, tiny_draft, settings)
    event = next(e for e in trace.events if isinstance(e, Judged))
    rows = replace(event.rows, residual=event.rows.residual + 0.2)
    assert worst_bounds(edited(trace, event, replace(event, rows=rows)))[0] == pytest.approx(0.1)


# Repeated runs of one prompt


@pytest.mark.slow
def test_runs_with_and_without_drafting_follow_one_distribution(tiny_target, tiny_draft):
    settings = Settings(Sampling(0.7, top_k=3), max_new_tokens=4, gamma=3)
    ids = tiny_target.encode(tiny.PROMPT, 4)
    tallies = list(repeat(tiny_target, tiny_draft, ids, settings, 30))
    assert [tally.done for tally in tallies] == list(range(1, 31))
    last = tallies[-1]
    assert sum(last.speculative.values()) == sum(last.plain.values()) == last.of == 30
    assert {len(text) for text in last.speculative} <= {1, 2, 3}
    assert last.test.p_value > 1e-4
    assert last.tv < 3 * last.noise


def test_g_test_detects_a_lossy_rule():
    counts = {(1, 2, 3): 300, (1, 2, 4): 100}, {(1, 2, 3): 200, (1, 2, 4): 200}
    found = Tally(400, 400, *counts)
    assert found.tv == pytest.approx(0.25)
    assert found.noise < 0.05
    assert found.test.p_value < 1e-9


def test_repeated_runs_can_be_stopped_at_any_time(tiny_target, tiny_draft):
    ids = tiny_target.encode(tiny.PROMPT, 4)
    settings = Settings(Sampling(1.0), max_new_tokens=2, gamma=2, seed=2**63 - 1)
    asked = count(1)
    tallies = list(repeat(tiny_target, tiny_draft, ids, settings, 50, lambda: next(asked) > 2))
    assert [tally.done for tally in tallies] == [1, 2]
    assert all(len(text) <= 2 for text in tallies[-1].speculative)


@pytest.mark.slow
def test_command_line_describes_the_loss_of_a_lossy_rule(runs, tiny_target):
    settings = Settings(Sampling(0.0), max_new_tokens=16, gamma=3, rule="unverified")
    greedy = traced(tiny_target, Branching(Drawn.SAMPLED), settings)
    for trace in (runs["typical"], greedy):
        said = list(summary_lines(trace, summary(trace)))
        assert said[1] == f"not lossless. {RULE_SPECS[trace.header.rule].tradeoff}"
    assert compare_with_baseline(greedy).endswith("the rule 'unverified' does not promise it")
    exact = summary_lines(runs["k-seq"], summary(runs["k-seq"]))
    assert "not lossless" not in "\n".join(exact)


@pytest.mark.slow
def test_recorded_runs_have_loss_bounds_of_zero():
    """Check that in shipped runs each verdict's output is p up to rounding."""
    judged = 0
    for path in sorted(TRACES.glob("*.jsonl")):
        trace = Trace.read(path)
        found = [step for step in verdict_bounds(trace) if step.most > 1e-12]
        assert not found, (path.name, found[:1])
        judged += sum(len(played.judged) for played in trace.rounds)
    assert judged > 1_000


def test_excerpt_of_a_distribution_is_normalised_and_keeps_the_top_token(runs):
    for rule in ("lenience:0.7", "unverified"):
        event = next(e for e in runs[rule].events if isinstance(e, Judged))
        found = excerpt(event, 4)
        assert len(found.tokens) == len(set(found.tokens)) == 4
        assert found.p == sorted(found.p, reverse=True)
        assert sum(found.p) == pytest.approx(1)
        assert (found.q is None) == (rule == "unverified")
        assert found.q is None or sum(found.q) == pytest.approx(1)
        assert found.p[0] * found.p_mass == pytest.approx(max(event.rows.p))
        listed = dict(zip(event.rows.tokens, event.rows.p, strict=True))
        assert max(listed, key=listed.get) in found.tokens
