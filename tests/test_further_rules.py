"""The other rules by enumeration: acceptance, loss, specs and refusals."""

from __future__ import annotations

import pytest
import torch
from example import P, Q, model
from hypothesis import given, settings
from test_distributions import laws

from specviz.settings.settings import Sampling
from specviz.trace.rule_specs import RULE_SPECS, THRESHOLDS, parse_rule
from specviz.verification import (
    RULE_FACTORIES,
    RULES,
    Drawn,
    MismatchedRule,
    choose_rule,
    make_rule,
)
from specviz.verification.exact import (
    acceptance,
    accepted_length,
    distance,
    joint_distribution,
    output_distribution,
    plain_distribution,
)
from specviz.verification.rules import k_seq_residual, least_rho, max_ratio
from specviz.verification.tree import DraftTree

SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS
EVERY = list(Drawn)


def tv(law):
    return float((law - P).abs().sum() / 2)


def away(rule, drawn, candidates=1):
    """Return the distance of the rule's output from p in the worked example."""
    return tv(output_distribution(make_rule(rule), P, Q, drawn, candidates))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "drawn", "expected"),
    [
        ("accept-reject", SAMPLED, (0.25, 0.4375, 0.578125)),
        ("k-seq", SAMPLED, (0.650, 0.7500, 0.7939)),
        ("traversal", SAMPLED, (0.650, 0.7350, 0.7615)),
        ("traversal", REPLACED, (0.650, 0.7564, 0.8297)),
        ("traversal", FIXED, (0.25, 0.35, 0.55)),
        ("thresholds:1,1", FIXED, (0.25, 0.35, 0.55)),
    ],
)
def test_acceptance_of_lossless_rules_equals_that_of_the_worked_example(rule, drawn, expected):
    for candidates, alpha in enumerate(expected, 1):
        found = acceptance(make_rule(rule), P, Q, drawn, candidates)
        assert found == pytest.approx(alpha, abs=5e-5)
        assert away(rule, drawn, candidates) < 1e-14


@pytest.mark.slow
@settings(max_examples=12)
@given(laws(3), laws(3))
def test_lossless_rules_are_exact_for_zero_tied_and_nearly_equal_probs(p, q):
    for rule, drawn in [("accept-reject", SAMPLED), ("k-seq", SAMPLED)] + [
        ("traversal", drawn) for drawn in EVERY
    ]:
        for candidates in (1, 2):
            exact = output_distribution(RULES[rule], p, q, drawn, candidates)
            assert torch.allclose(exact, p, atol=1e-9), (rule, drawn, candidates)


def test_largest_ratio_of_p_to_q_is_4_in_the_worked_example():
    assert max_ratio(P, Q).item() == pytest.approx(4)
    assert max_ratio(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])).item() == float("inf")


def test_rho_is_the_smallest_value_without_a_negative_residual():
    assert [least_rho(P, Q, k) for k in (1, 2, 3)] == pytest.approx([1, 1.5, 1.939], abs=1e-3)
    assert k_seq_residual(P, Q, 1.0, 2).min().item() == pytest.approx(-0.0875, abs=1e-12)
    assert k_seq_residual(P, Q, 1.5, 2).min().item() > -1e-12
    assert k_seq_residual(P, Q, 1.49, 2).min().item() < -1e-4


@pytest.mark.parametrize("drawn", EVERY)
@pytest.mark.parametrize("shape", [[-1, 0, 1], [-1, 0, 0, 1], [-1, 0, 0, 1, 2]])
def test_traversal_is_exact_on_trees_and_accepts_no_fewer_than_the_usual_rule(drawn, shape):
    target, draft = model(1, 3, Sampling(1.0)), model(2, 3, Sampling(1.0))
    ours = joint_distribution(RULES["traversal"], target, draft, shape, drawn, 3)
    assert distance(ours, plain_distribution(target, 3)) < 1e-14
    usual = {SAMPLED: "speculative", REPLACED: "without-replacement", FIXED: "point-mass"}
    kept, least = (
        accepted_length(RULES[name], target, draft, shape, drawn)
        for name in ("traversal", usual[drawn])
    )
    assert kept > least - 1e-12
    assert (kept < least + 1e-12) == (drawn is FIXED)


def test_traversal_on_a_chain_equals_block_verification():
    """Compare with the formulas of the block verification paper, one draft at a time."""
    target, draft = model(5, 3, Sampling(1.0)), model(6, 3, Sampling(1.0))
    expected = 0.0
    for x in range(3):
        for y in range(3):
            q = [draft(())[x].item(), draft((x,))[y].item()]
            reach = [1.0, min(1.0, target(())[x].item() / q[0])]
            reach.append(min(1.0, reach[1] * target((x,))[y].item() / q[1]))
            owed = (reach[1] * target((x,)) - draft((x,))).clamp(min=0).sum().item()
            one = owed / (owed + 1 - reach[1]) if owed + 1 - reach[1] > 0 else 1.0
            expected += q[0] * q[1] * (2 * reach[2] + (1 - reach[2]) * one)
    for rule in ("block", "traversal"):
        found = accepted_length(RULES[rule], target, draft, [-1, 0, 1], SAMPLED)
        assert found == pytest.approx(expected, abs=1e-12)


def test_block_verification_reproduces_the_published_example():
    p = torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)

    def kept(rule):
        return accepted_length(RULES[rule], lambda _: p, lambda _: p.flip(0), [-1, 0, 1], SAMPLED)

    assert kept("speculative") == pytest.approx(10 / 9, abs=1e-12)
    assert kept("block") == pytest.approx(11 / 9, abs=1e-12)


@pytest.mark.slow
def test_tokens_per_round_of_block_verification_equal_known_values():
    brought = [
        1 + accepted_length(RULES["block"], lambda _: P, lambda _: Q, chain, SAMPLED)
        for chain in ([-1, 0], [-1, 0, 1], [-1, 0, 1, 2])
    ]
    assert brought == pytest.approx([1.65, 2.1250, 2.4973], abs=6e-5)


def test_block_verification_refuses_trees():
    tree = DraftTree((0, 1, 2), (-1, 0, 0))
    with pytest.raises(ValueError, match="judges chains"):
        RULES["block"].judge(tree, SAMPLED, P.repeat(3, 1), {0: Q}, None)


@pytest.mark.parametrize(
    ("rule", "drawn", "candidates", "kept", "lost"),
    [
        ("lenience:0.75", SAMPLED, 1, 0.767, 0.117),
        ("lenience:0.5", SAMPLED, 1, 0.95, 0.300),
        ("lenience:0.25", SAMPLED, 1, 1.0, 0.35),
        ("ensemble:0.9", SAMPLED, 1, 0.685, 0.035),
        ("ensemble:0.5", SAMPLED, 1, 0.825, 0.175),
        ("typical", FIXED, 1, 1.0, 0.75),
        ("typical", SAMPLED, 1, 0.95, 0.35),
        ("relaxed:2,0.2", SAMPLED, 1, 0.55, 0.35),
        ("thresholds:1,0.8", FIXED, 2, 0.4375, 0.0875),
        ("thresholds:1,0.8", FIXED, 3, 0.6875, 0.1375),
        ("thresholds:1,0.5", FIXED, 2, 0.70, 0.35),
        ("thresholds:0.2,1", FIXED, 2, 1.0, 0.75),
        ("unverified", SAMPLED, 1, 1.0, 0.35),
    ],
)
def test_acceptance_and_loss_of_lossy_rules_equal_known_values(rule, drawn, candidates, kept, lost):
    assert acceptance(make_rule(rule), P, Q, drawn, candidates) == pytest.approx(kept, abs=5e-4)
    assert away(rule, drawn, candidates) == pytest.approx(lost, abs=5e-4)


def test_relaxed_rule_prefers_the_top_token():
    for rule, top in (("relaxed:2,0.2", 0.55), ("relaxed:10,0.6", 0.10)):
        assert output_distribution(make_rule(rule), P, Q, SAMPLED)[0].item() == pytest.approx(top)


def test_output_of_lenience_never_exceeds_p_divided_by_lenience():
    for lenience in (0.75, 0.5, 0.25):
        law = output_distribution(make_rule(f"lenience:{lenience}"), P, Q, SAMPLED)
        assert bool((law <= P / lenience + 1e-12).all())


def test_output_of_ensemble_is_the_weighted_mean_of_p_and_q():
    assert torch.allclose(
        output_distribution(make_rule("ensemble:0.7"), P, Q, SAMPLED), 0.7 * P + 0.3 * Q
    )


@pytest.mark.parametrize("rule", [name for name in RULE_SPECS if RULE_SPECS[name].lossless])
def test_rules_are_exact_for_equal_disjoint_and_single_token_distributions(rule):
    if RULE_SPECS[rule].temperature_zero:
        return
    drawn = next(iter(sorted(RULE_SPECS[rule].accepts, key=lambda d: d.value)))
    one, half = torch.ones(1).double(), torch.tensor([0.5, 0.5, 0.0, 0.0]).double()
    for p, q in [(one, one), (half, half), (half, half.flip(0))]:
        assert torch.allclose(output_distribution(RULES[rule], p, q, drawn), p, atol=1e-15)


def test_every_rule_has_a_spec_a_threshold_and_a_factory():
    assert set(RULE_SPECS) == set(THRESHOLDS) == set(RULE_FACTORIES) == set(RULES)


@pytest.mark.parametrize("rule", [name for name in RULE_SPECS if not RULE_SPECS[name].lossless])
def test_every_lossy_rule_describes_its_loss(rule):
    assert RULE_SPECS[rule].tradeoff.endswith(".")
    if rule == "fly":  # loses nothing at a single position: see test_fly.py
        return
    drawn = SAMPLED if SAMPLED in RULE_SPECS[rule].accepts else FIXED
    assert away(rule, drawn) > 0.01


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lenience:0", "The lenience of the rule 'lenience' must be between 0.01 and 1, not '0'."),
        ("lenience:nan", "not 'nan'"),
        ("typical:a", "not 'a'"),
        ("typical:0.1,0.2,0.3", "The rule 'typical' takes epsilon, delta, not '0.1,0.2,0.3'."),
        ("speculative:1", "The rule 'speculative' takes no number, not '1'."),
        ("hopeful:1", "There is no rule 'hopeful'"),
    ],
)
def test_invalid_rule_parameters_are_refused(text, says):
    with pytest.raises(MismatchedRule) as refused:
        make_rule(text)
    assert says in str(refused.value)


def test_missing_rule_parameters_have_defaults():
    assert parse_rule("typical:0.2") == ("typical", {"epsilon": 0.2, "delta": 0.3})


@pytest.mark.parametrize(
    ("rule", "drawn", "says"),
    [
        ("lenience", FIXED, "divides by q"),
        ("k-seq", REPLACED, "not be lossless"),
    ],
)
def test_rule_that_does_not_support_the_candidates_is_refused(rule, drawn, says):
    with pytest.raises(MismatchedRule, match=says):
        choose_rule(rule, drawn, Sampling(0.8))


def test_lossy_rule_is_used_if_requested():
    assert not choose_rule("typical:0.05", FIXED, Sampling(0.8)).spec.lossless
