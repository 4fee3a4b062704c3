"""Enumeration, closed forms, random samples, the acceptance ceiling, statistics of counts."""

from __future__ import annotations

from itertools import permutations, product

import networkx
import pytest
import torch
from example import P, Q, model

from specviz.settings.settings import Sampling
from specviz.verification import Drawn, make_rule
from specviz.verification.distributions import (
    NotADistribution,
    as_distribution,
    as_pair,
    normalize_weights,
)
from specviz.verification.exact import (
    RoundSetup,
    accepted_length,
    enumerate_position,
    exact_sampler_distance,
    g_test,
    proposals,
    verdicts,
)
from specviz.verification.exact.candidates import as_method
from specviz.verification.exact.closed_form import acceptance_ceiling, closed_form
from specviz.verification.exact.monte_carlo import (
    g_test_of_two,
    sample_distance,
    sample_first_token,
    sample_strings,
    throw_darts,
    wilson,
    wilson_intervals,
)
from specviz.verification.tree import DraftTree

SAMPLED, REPLACED, FIXED = Drawn.SAMPLED, Drawn.WITHOUT_REPLACEMENT, Drawn.POINT_MASS
SINGLE = ["without-replacement", "block", "traversal", "point-mass", "lenience:0.75", "ensemble",
          "typical", "relaxed:2,0.2", "thresholds:1,0.5", "thresholds", "unverified"]  # fmt: skip
SEVERAL = ["speculative", "accept-reject", "k-seq"]


# The enumeration itself


def test_probabilities_of_all_proposals_and_verdicts_sum_to_one():
    for drawn in Drawn:
        made = proposals(lambda _: Q, [-1, 0, 0, 1], drawn)
        assert sum(weight for weight, _, _ in made) == pytest.approx(1.0)
    tree = DraftTree((0, 1, 2, 3), (-1, 0, 0, 1))
    found = list(verdicts(make_rule("speculative"), tree, SAMPLED, P.repeat(4, 1), {0: Q, 1: Q}))
    assert sum(weight for weight, _ in found) == pytest.approx(1.0, abs=1e-15)
    assert {v.path for _, v in found} == {(), (1,), (2,), (1, 3)}


# Closed forms


@pytest.mark.parametrize(
    "rule", [*SINGLE, *(pytest.param(rule, marks=pytest.mark.slow) for rule in SEVERAL)]
)
def test_closed_form_equals_enumeration(rule):
    pairs = [(P, Q), (Q, P), (P, P), (P.flip(0), Q)]
    for (p, q), candidates in product(pairs, (1, 2, 3) if rule in SEVERAL else (1,)):
        found = closed_form(rule, p, q, candidates)
        exact = enumerate_position(RoundSetup.position(make_rule(rule), p, q, SAMPLED, candidates))
        assert torch.allclose(found.through_draft, exact.through_draft, atol=1e-14)
        assert torch.allclose(found.through_rest, exact.through_rest, atol=1e-14)


@pytest.mark.slow
def test_accepted_length_of_a_tree_is_the_sum_over_its_positions():
    """With the same p and q everywhere, it is the sum over nodes of their path probabilities."""
    round = RoundSetup.position(make_rule("without-replacement"), P, Q, REPLACED, 2)
    first = enumerate_position(RoundSetup.position(round.rule, P, Q, REPLACED)).acceptance
    second = enumerate_position(round).acceptance - first
    assert (first, second) == pytest.approx((0.65, 0.10636), abs=5e-6)
    tree = RoundSetup(round.rule, round.target, round.draft, [-1, 0, 0, 1, 2], round.method)
    kept = accepted_length(tree.rule, tree.target, tree.draft, tree.parents, tree.method)
    assert kept == pytest.approx((first + second) * (1 + first), abs=1e-12)
    assert kept == pytest.approx(1.248, abs=5e-4)


def test_rule_without_closed_form_is_reported():
    for rule, candidates in (("lenience", 2), ("greedy", 1)):
        with pytest.raises(ValueError, match="There is no formula for the rule"):
            closed_form(rule, P, Q, candidates)


def large(seed, size=151_936):
    """Return a distribution as peaked as a model's."""
    scores = torch.randn(size, generator=torch.Generator().manual_seed(seed)) * 3
    return scores.softmax(-1)


def test_distance_is_zero_for_a_large_vocabulary_in_float64():
    p, q = as_pair(large(1), large(2))
    assert (p.dtype, p.sum().item()) == (torch.float64, pytest.approx(1, abs=1e-14))
    for rule in ("speculative", "k-seq", "point-mass"):
        assert closed_form(rule, p, q).tv < 1e-14
    assert closed_form("speculative", p, q, 3).tv < 1e-14
    assert closed_form("ensemble:0.9", p, q).tv == pytest.approx(
        0.1 * (p - q).abs().sum().item() / 2
    )


def test_float32_rounding_gives_a_lossless_rule_a_distance_above_zero():
    p, q = large(1), large(2)  # float32 throughout
    tv = closed_form("speculative", p, q).tv
    assert tv > 1e-9
    assert closed_form("speculative", as_distribution(p.bfloat16()), as_distribution(q)).tv < 1e-15


def test_numbers_that_are_not_a_distribution_are_refused():
    for values, says in (
        ([], "at least one token"),
        ([[0.5, 0.5]], "one probability for each token"),
        ([0.5, float("nan")], "probabilities between"),
        ([1.5, -0.5], "probabilities between"),
        ([0.2, 0.2], "sums to 0.4, not 1"),
    ):
        with pytest.raises(NotADistribution, match=says):
            as_distribution(values)
    assert normalize_weights([1, 1, 2]).tolist() == [0.25, 0.25, 0.5]
    for bars in ([0, 0], [float("inf"), 1]):
        with pytest.raises(NotADistribution, match="at least one bar"):
            normalize_weights(bars)
    with pytest.raises(NotADistribution, match="probabilities between"):
        normalize_weights([2, -1])
    with pytest.raises(NotADistribution, match="p has 2 tokens, but q has 3"):
        as_pair([0.5, 0.5], [0.5, 0.25, 0.25])


# The ceiling


def test_acceptance_ceiling_equals_that_of_the_worked_example():
    for drawn, expected in (
        (SAMPLED, (0.650, 0.7900, 0.8710)),
        (REPLACED, (0.650, 0.8381, 1.0)),
        (FIXED, (0.25, 0.35, 0.55)),
    ):
        found = [acceptance_ceiling(P, Q, drawn, candidates) for candidates in (1, 2, 3)]
        assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("drawn", [SAMPLED, REPLACED])
def test_acceptance_ceiling_equals_the_solution_of_the_linear_program(drawn):
    """Solve the linear program directly, as a flow."""
    p, q = model(3, 4, Sampling(1.0))(()), model(4, 4, Sampling(0.7))(())
    tuples = product(range(4), repeat=2) if drawn is SAMPLED else permutations(range(4), 2)
    graph = networkx.DiGraph()
    for x, y in tuples:
        weight = q[x] * (q[y] if drawn is SAMPLED else q[y] / (1 - q[x]))
        graph.add_edge("draft", (x, y), capacity=weight.item())
        for token in (x, y):
            graph.add_edge((x, y), token)
            graph.add_edge(token, "target", capacity=p[token].item())
    flow = networkx.maximum_flow_value(graph, "draft", "target")
    assert acceptance_ceiling(p, q, drawn, 2) == pytest.approx(flow, abs=1e-9)


def test_no_lossless_rule_exceeds_the_acceptance_ceiling():
    for rule, drawn in [("k-seq", SAMPLED), ("speculative", SAMPLED), ("traversal", REPLACED)]:
        found = enumerate_position(RoundSetup.position(make_rule(rule), P, Q, drawn, 2)).acceptance
        assert found < acceptance_ceiling(P, Q, drawn, 2)
    with pytest.raises(ValueError, match="at most 16 tokens, not 17"):
        acceptance_ceiling(torch.ones(17) / 17, torch.ones(17) / 17, SAMPLED, 1)


# Random samples


@pytest.mark.parametrize(
    ("rule", "drawn", "candidates"),
    [
        ("speculative", SAMPLED, 1),
        ("speculative", SAMPLED, 2),
        ("without-replacement", REPLACED, 2),
        ("traversal", REPLACED, 2),
        ("lenience:0.75", SAMPLED, 1),
        ("unverified", SAMPLED, 1),
    ],
)
def test_sampled_tokens_follow_the_enumerated_distribution(rule, drawn, candidates):
    round = RoundSetup.position(make_rule(rule), P, Q, drawn, candidates)
    exact = enumerate_position(round)
    thrown = sample_first_token(round, 20_000, seed=7)
    assert thrown.throws == 20_000
    noise = exact_sampler_distance(exact.output, 20_000)
    assert sample_distance(thrown.counts, exact.output.tolist()) < 2.5 * noise
    assert thrown.kept / 20_000 == pytest.approx(exact.acceptance, abs=0.012)
    lossless = make_rule(rule).spec.lossless
    assert (thrown.test.p_value > 1e-3) == lossless
    assert (thrown.tv < 3 * thrown.noise) == lossless


def test_sampled_strings_of_a_chain_fit_the_exact_distribution():
    strings, thrown = sample_strings(
        RoundSetup.chain(make_rule("block"), P, Q, SAMPLED, 2), 20_000, 3, 2
    )
    assert strings == sorted(product(range(5), repeat=2))
    assert thrown.test.degrees == 24
    assert thrown.test.p_value > 1e-3


def test_p_value_of_an_impossible_token_is_0_and_that_of_no_samples_1():
    p, q = torch.tensor([1.0, 0.0]).double(), torch.tensor([0.5, 0.5]).double()
    thrown = sample_first_token(RoundSetup.position(make_rule("unverified"), p, q, SAMPLED), 100, 1)
    assert thrown.impossible == thrown.counts[1] > 0
    assert thrown.test.p_value == 0.0
    none = RoundSetup.position(make_rule("speculative"), P, Q, as_method(SAMPLED))
    thrown = sample_first_token(none, 0, 1)
    assert (thrown.counts, thrown.tv, thrown.test.p_value) == ([0] * 5, 0.0, 1.0)


def test_accepted_samples_of_rejection_sampling_follow_p():
    thrown = throw_darts(P, Q, 20_000, seed=2)
    assert thrown.acceptance == pytest.approx(0.25)
    assert int(thrown.kept.sum()) / 20_000 == pytest.approx(0.25, abs=0.015)
    counts = thrown.counts(5)
    assert sample_distance(counts, P.tolist()) < 2.5 * exact_sampler_distance(P, sum(counts))
    assert bool((thrown.heights <= thrown.bound * Q[thrown.tokens]).all())
    with pytest.raises(ValueError, match="no dart can land on it"):
        throw_darts(torch.tensor([0.5, 0.5]), torch.tensor([1.0, 0.0]), 1, 1)


# Statistics of counts


def test_expected_distance_of_an_exact_sampler_matches_known_values():
    expected = {500: 0.0328, 2_000: 0.0164, 10_000: 0.0073, 100_000: 0.0023}
    for samples, distance in expected.items():
        assert exact_sampler_distance(P, samples) == pytest.approx(distance, abs=6e-5)


def test_g_test_detects_a_broken_sampler():
    right = [round(20_000 * p) for p in P.tolist()]
    assert g_test(right, P.tolist()).p_value > 0.99
    broken = [round(20_000 * p) for p in (0.369, 0.25, 0.231, 0.1, 0.05)]
    assert g_test(broken, P.tolist()).p_value < 1e-3
    assert g_test([50, 50], [0.5, 0.5]).p_value == 1.0
    small = g_test([96, 2, 2], [0.96, 0.02, 0.02])
    assert small.degrees == 1  # cells expecting fewer than 5 are merged
    with pytest.raises(ValueError, match="probability zero"):
        g_test([1, 1], [1.0, 0.0])


def test_wilson_intervals_equal_published_ones():
    found = wilson(10, 100)
    assert (found.low, found.high) == pytest.approx((0.0552, 0.1744), abs=1e-4)
    assert (wilson(0, 50).low, wilson(50, 50).high) == (0.0, 1.0)
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    wide = wilson_intervals([10, 90])[0]
    assert wide.low < found.low < found.high < wide.high


def test_g_test_distinguishes_equal_from_different_samples():
    same = g_test_of_two({"a": 500, "b": 300, "c": 200}, {"a": 510, "b": 280, "c": 210})
    assert (same.degrees, same.p_value > 0.5) == (2, True)
    other = g_test_of_two({"a": 500, "b": 300, "c": 200}, {"a": 300, "b": 500, "c": 200})
    assert other.p_value < 1e-9
    few = g_test_of_two({"a": 100, "b": 2}, {"a": 101, "c": 1})
    assert few.degrees == 1  # b and c are merged
    assert g_test_of_two({}, {"a": 1}).p_value == 1.0


@pytest.mark.slow
def test_enough_samples_reveal_a_lossy_rule():
    """With that many samples, nearly all of 40 tries must have a p-value below 0.001."""
    for rule, throws in (("ensemble:0.9", 6_449), ("ensemble:0.5", 400)):
        setup = RoundSetup.position(make_rule(rule), P, Q, SAMPLED)
        found = [sample_first_token(setup, throws, seed).test.p_value for seed in range(40)]
        assert sum(p < 1e-3 for p in found) >= 36, rule
