"""Every rule by enumeration: the real rule runs on every possible outcome of its draws."""

from __future__ import annotations

import pytest
import torch
from example import WARPERS, P, Q, model
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
from specviz.verification.base import NodeDistributions, acceptance_probability
from specviz.verification.exact import (
    acceptance,
    accepted_length,
    distance,
    joint_distribution,
    output_distribution,
    plain_distribution,
    proposals,
    verdicts,
)
from specviz.verification.rules import acceptance_of_one, least_rho, max_ratio
from specviz.verification.tree import DraftTree

SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS
LOSSLESS = [
    ("speculative", SAMPLED),
    ("without-replacement", REPLACED),
    ("point-mass", FIXED),
    ("point-mass", SAMPLED),
    ("point-mass", REPLACED),
]
FURTHER = [("accept-reject", SAMPLED), ("k-seq", SAMPLED), *(("traversal", d) for d in Drawn)]
CHAIN, SIBLINGS, TREE, DEEPER = [-1, 0, 1], [-1, 0, 0], [-1, 0, 0, 1], [-1, 0, 0, 1, 1]


def away(rule, drawn, candidates=1):
    """Return the distance of the rule's output from p in the worked example."""
    law = output_distribution(make_rule(rule), P, Q, drawn, candidates)
    return float((law - P).abs().sum() / 2)


def constant(rule, shape, drawn, p=P, q=Q):
    """Return the accepted length with the same p and q everywhere."""
    return accepted_length(RULES[rule], lambda _: p, lambda _: q, shape, drawn)


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS)
@pytest.mark.parametrize("sampling", WARPERS, ids=str)
def test_two_tokens_follow_the_target_under_all_sampling_settings(rule, drawn, sampling):
    target, draft = model(1, 3, sampling), model(2, 3, sampling)
    plain = plain_distribution(target, 2)
    for shape in ([-1], CHAIN, SIBLINGS, TREE):
        ours = joint_distribution(RULES[rule], target, draft, shape, drawn, 2)
        assert distance(ours, plain) < 1e-14, shape


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS[:3])
def test_first_three_tokens_from_a_deeper_tree_follow_the_target(rule, drawn):
    target, draft = model(3, 3, Sampling(1.0)), model(4, 3, Sampling(1.0))
    ours = joint_distribution(RULES[rule], target, draft, DEEPER, drawn, 3)
    assert distance(ours, plain_distribution(target, 3)) < 1e-14


@pytest.mark.parametrize("drawn", [SAMPLED, FIXED])
@pytest.mark.parametrize("rule", ["greedy", "point-mass"])
def test_every_rule_gives_the_text_of_the_target_at_temperature_0(rule, drawn):
    target, draft = model(5, 3, Sampling(0.0)), model(6, 3, Sampling(1.0))
    ours = joint_distribution(RULES[rule], target, draft, TREE, drawn, 3)
    assert ours == plain_distribution(target, 3)


@pytest.mark.parametrize(
    ("rule", "drawn", "expected"),
    [
        ("speculative", SAMPLED, (0.650, 0.7350, 0.7615)),
        ("without-replacement", REPLACED, (0.650, 0.7564, 0.8297)),
        ("point-mass", FIXED, (0.25, 0.35, 0.55)),
        ("point-mass", SAMPLED, (0.21,)),
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


def test_some_candidate_is_always_accepted_if_every_token_is_a_candidate():
    assert acceptance(RULES["without-replacement"], P, Q, REPLACED, 5) == pytest.approx(1.0)


@pytest.mark.slow
def test_accepted_length_of_chains_on_the_worked_example_equals_known_values():
    for rule, expected, error in (
        ("speculative", [1.65, 2.0725, 2.3471], 5e-5),
        ("block", [1.65, 2.1250, 2.4973], 6e-5),
    ):
        chain = [constant(rule, c, SAMPLED) for c in ([-1, 0], CHAIN, [-1, 0, 1, 2])]
        assert [1 + length for length in chain] == pytest.approx(expected, abs=error)


@pytest.mark.slow
@given(laws(3), laws(3))
def test_every_rule_is_exact_for_zero_tied_and_nearly_equal_probabilities(p, q):
    for rule, drawn in LOSSLESS:
        for candidates in (1, 2):
            exact = output_distribution(RULES[rule], p, q, drawn, candidates)
            assert torch.allclose(exact, p, atol=1e-12), (rule, drawn, candidates)


@pytest.mark.slow
@settings(max_examples=12)
@given(laws(3), laws(3))
def test_further_lossless_rules_are_exact_for_zero_tied_and_nearly_equal_probs(p, q):
    for rule, drawn in FURTHER:
        for candidates in (1, 2):
            exact = output_distribution(RULES[rule], p, q, drawn, candidates)
            assert torch.allclose(exact, p, atol=1e-9), (rule, drawn, candidates)


def test_rules_are_exact_for_equal_disjoint_and_single_token_distributions():
    one, half = torch.ones(1).double(), torch.tensor([0.5, 0.5, 0.0, 0.0]).double()
    for rule, spec in RULE_SPECS.items():
        if not spec.lossless or spec.temperature_zero:
            continue
        drawn = next(iter(sorted(spec.accepts, key=lambda d: d.value)))
        for p, q in [(one, one), (half, half), (half, half.flip(0))]:
            assert torch.allclose(output_distribution(RULES[rule], p, q, drawn), p, atol=1e-15)
    assert acceptance(RULES["speculative"], half, half, SAMPLED) == pytest.approx(1.0)
    assert acceptance(RULES["speculative"], half, half.flip(0), SAMPLED) == 0.0


@pytest.mark.parametrize("rule", ["speculative", "without-replacement", "point-mass", "greedy"])
def test_u_of_zero_accepts_no_token_of_probability_zero(rule):
    p = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    q = {0: torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)}

    class Zero:
        def judge(self, node: int) -> float:
            return 0.0

        def final(self) -> float:
            return 0.0

    tree, drawn = DraftTree.chain(0, [0]), next(iter(RULES[rule].spec.accepts))
    verdict = RULES[rule].judge(tree, drawn, p, q, Zero())
    assert verdict.path == ()
    assert verdict.final.kind == "recovered"
    assert verdict.final.drawn.token == 1


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS[:3])
@pytest.mark.parametrize("candidates", [1, 2, 3])
def test_alpha_of_given_candidates_equals_enumeration(rule, drawn, candidates):
    """Compare α of given candidates; with one sampled candidate it is averaged over all draws."""
    tokens = [1, 3, 0][:candidates]
    tree = DraftTree((0, *tokens), (-1,) + (0,) * candidates)
    rows, laws = P.repeat(4, 1), {} if drawn is FIXED else {0: Q}
    found = acceptance_probability(NodeDistributions(P, laws.get(0)), tokens, drawn)
    kept = sum(w for w, v in verdicts(RULES[rule], tree, drawn, rows, laws) if v.path)
    alone = drawn is not FIXED and candidates == 1
    assert found.value == pytest.approx(0.65 if alone else kept, abs=1e-14)
    assert (found.tries is not None) == (drawn is not FIXED and candidates > 1)


@pytest.mark.parametrize(("rule", "drawn"), LOSSLESS[:2])
def test_mean_of_alpha_over_all_draws_is_the_acceptance_probability(rule, drawn):
    for candidates in (1, 2, 3):
        mean = sum(
            weight * acceptance_probability(NodeDistributions(P, Q), tree.tokens[1:], drawn).value
            for weight, tree, _ in proposals(lambda _: Q, [-1] + [0] * candidates, drawn)
        )
        assert mean == pytest.approx(acceptance(RULES[rule], P, Q, drawn, candidates), abs=1e-13)


# Parameters of the rules


def test_largest_ratio_of_p_to_q_is_4_in_the_worked_example():
    assert max_ratio(P, Q).item() == pytest.approx(4)
    assert max_ratio(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0])).item() == float("inf")


def test_rho_is_the_smallest_value_without_a_negative_residual():
    def least_residual(rho):
        """Return the smallest p − min(q, p/ρ) P/β of two candidates."""
        beta = acceptance_of_one(P, Q, rho)
        any_accepted = 1 - (1 - beta) ** 2
        return (P - torch.minimum(Q, P / rho) * any_accepted / beta).min().item()

    assert [least_rho(P, Q, k) for k in (1, 2, 3)] == pytest.approx([1, 1.5, 1.939], abs=1e-3)
    assert least_residual(1.0) == pytest.approx(-0.0875, abs=1e-12)
    assert least_residual(1.5) > -1e-12
    assert least_residual(1.49) < -1e-4


# Block and traversal verification


@pytest.mark.parametrize("drawn", list(Drawn))
@pytest.mark.parametrize("shape", [CHAIN, TREE, [-1, 0, 0, 1, 2]])
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
        found = accepted_length(RULES[rule], target, draft, CHAIN, SAMPLED)
        assert found == pytest.approx(expected, abs=1e-12)


def test_block_verification_reproduces_the_published_example():
    p = torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)
    for rule, expected in (("speculative", 10 / 9), ("block", 11 / 9)):
        found = constant(rule, CHAIN, SAMPLED, p, p.flip(0))
        assert found == pytest.approx(expected, abs=1e-12)


def test_block_verification_refuses_trees():
    tree = DraftTree((0, 1, 2), tuple(SIBLINGS))
    with pytest.raises(ValueError, match="judges chains"):
        RULES["block"].judge(tree, SAMPLED, P.repeat(3, 1), {0: Q}, None)


# Lossy rules


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


def test_output_of_lossy_rules_follows_their_parameters():
    """Relaxed prefers the top token; lenience bounds the output; ensemble is a weighted mean."""
    for rule, top in (("relaxed:2,0.2", 0.55), ("relaxed:10,0.6", 0.10)):
        assert output_distribution(make_rule(rule), P, Q, SAMPLED)[0].item() == pytest.approx(top)
    for lenience in (0.75, 0.5, 0.25):
        law = output_distribution(make_rule(f"lenience:{lenience}"), P, Q, SAMPLED)
        assert bool((law <= P / lenience + 1e-12).all())
    mean = output_distribution(make_rule("ensemble:0.7"), P, Q, SAMPLED)
    assert torch.allclose(mean, 0.7 * P + 0.3 * Q)


def test_every_rule_has_a_spec_and_every_lossy_rule_states_its_loss():
    assert set(RULE_SPECS) == set(THRESHOLDS) == set(RULE_FACTORIES) == set(RULES)
    for rule, spec in RULE_SPECS.items():
        assert spec.lossless or spec.tradeoff.endswith("."), rule
        if not spec.lossless and rule != "fly":  # it loses nothing at one position: see test_fly.py
            assert away(rule, SAMPLED if SAMPLED in spec.accepts else FIXED) > 0.01, rule


# The choice of a rule


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lenience:0", "The lenience of the rule 'lenience' must be between 0.01 and 1, not '0'."),
        ("lenience:nan", "not 'nan'"),
        ("typical:a", "not 'a'"),
        ("typical:0.1,0.2,0.3", "The rule 'typical' takes epsilon, delta, not '0.1,0.2,0.3'."),
        ("speculative:1", "The rule 'speculative' takes no number, not '1'."),
        ("hopeful:1", "There is no rule 'hopeful'"),
        ("auto:1", "The rule 'auto' takes no number"),
        ("fly:1.5,0.3", "The window of the rule 'fly' must be a whole number between 1 and 16"),
        ("relaxed:2.5", "The among of the rule 'relaxed' must be a whole number"),
    ],
)
def test_invalid_rule_parameters_are_refused(text, says):
    with pytest.raises(MismatchedRule) as refused:
        make_rule(text)
    assert says in str(refused.value)


def test_missing_rule_parameters_have_defaults():
    assert parse_rule("typical:0.2") == ("typical", {"epsilon": 0.2, "delta": 0.3})


@pytest.mark.parametrize(
    ("name", "drawn", "says"),
    [
        ("speculative", FIXED, "not be lossless"),
        ("speculative", REPLACED, "not be lossless"),
        ("without-replacement", SAMPLED, "not be lossless"),
        ("greedy", SAMPLED, "Use temperature 0"),
        ("hopeful", SAMPLED, "There is no rule"),
        ("lenience", FIXED, "divides by q"),
        ("k-seq", REPLACED, "not be lossless"),
    ],
)
def test_rule_that_does_not_fit_the_candidates_raises_readable_error(name, drawn, says):
    with pytest.raises(MismatchedRule, match=says) as refused:
        choose_rule(name, drawn, Sampling(0.8))
    assert str(refused.value).endswith(".")


def test_rule_auto_selects_the_rule_that_fits_the_candidates():
    for rule, drawn in LOSSLESS[:3]:
        assert choose_rule("auto", drawn, Sampling(0.8)).spec.name == rule
    assert choose_rule("auto", SAMPLED, Sampling(0.0)).spec.name == "greedy"
    assert not choose_rule("typical:0.05", FIXED, Sampling(0.8)).spec.lossless
