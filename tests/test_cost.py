"""The speed-up formula against published results, limits, brute force and enumeration."""

from itertools import permutations, product
from math import inf, prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.cost import formula, tree_formula

P, Q = (0.40, 0.25, 0.20, 0.10, 0.05), (0.10, 0.45, 0.15, 0.25, 0.05)  # worked example of the paper
COSTS = (0.01, 0.05, 0.1, 0.2, 0.5)
BEST = {  # table of the paper: γ and the speed-up
    0.5: [(5, "1.88"), (3, "1.63"), (2, "1.46"), (1, "1.25"), (0, "1.00")],
    0.7: [(9, "2.97"), (6, "2.35"), (4, "1.98"), (3, "1.58"), (1, "1.13")],
    0.8: [(14, "4.23"), (8, "3.09"), (6, "2.47"), (4, "1.87"), (2, "1.22")],
    0.9: [(24, "7.49"), (13, "4.67"), (10, "3.43"), (7, "2.37"), (3, "1.38")],
}

chances = st.floats(0, 1)
costs = st.floats(0, 3)
lengths = st.integers(0, 40)


def plain_sum(alpha, gamma):
    """Return 1 + α + … + α^γ, term by term."""
    return sum(alpha**i for i in range(gamma + 1))


def test_expected_tokens_equal_those_of_the_worked_example_and_at_limits():
    alpha = sum(map(min, P, Q))
    assert alpha == pytest.approx(0.65)
    found = [f"{formula.expected_tokens(alpha, gamma):.4f}" for gamma in (1, 2, 3)]
    assert found == ["1.6500", "2.0725", "2.3471"]
    assert formula.expected_tokens(0, 7) == 1
    assert formula.expected_tokens(1, 7) == 8
    assert {formula.expected_tokens(percent / 100, 0) for percent in range(101)} == {1}
    assert formula.speedup(0.6, 0, 0.3) == pytest.approx(1)
    assert formula.expected_tokens(1 - 1e-12, 5) == pytest.approx(6, rel=1e-11)


@pytest.mark.slow
@given(chances, lengths)
def test_closed_form_of_expected_tokens_equals_the_sum(alpha, gamma):
    assert formula.expected_tokens(alpha, gamma) == pytest.approx(plain_sum(alpha, gamma), rel=1e-9)


@pytest.mark.slow
@given(st.floats(0.001, 1), st.integers(1, 40))
def test_solve_alpha_inverts_expected_tokens(alpha, gamma):
    tokens = formula.expected_tokens(alpha, gamma)
    found = formula.solve_alpha(tokens, gamma)
    assert formula.expected_tokens(found, gamma) == pytest.approx(tokens)
    assert found == pytest.approx(alpha, abs=1e-6)


@pytest.mark.slow
@given(chances, lengths, costs, st.floats(0.1, 3))
def test_speedup_is_expected_tokens_divided_by_cost(alpha, gamma, c, verify):
    tokens = plain_sum(alpha, gamma)
    assert formula.speedup(alpha, gamma, c) == pytest.approx(tokens / (gamma * c + 1), rel=1e-9)
    found = formula.speedup(alpha, gamma, c, verify)
    assert found == pytest.approx(tokens / (gamma * c + verify), rel=1e-9)


@pytest.mark.slow
@given(st.floats(0.001, 0.999), st.floats(0.001, 3))
def test_drafting_is_faster_exactly_if_alpha_exceeds_c(alpha, c):
    gains = [formula.speedup(alpha, gamma, c) for gamma in range(1, 60)]
    if abs(alpha - c) > 1e-9:
        assert formula.can_pay(alpha, c) == (max(gains) > 1)
    if formula.can_pay(alpha, c):
        sure = (1 + alpha) / (1 + c)  # at γ = 1: corollary 3.9 of the paper
        assert formula.optimal_gamma(alpha, c).speedup >= sure * (1 - 1e-12)


def test_relative_operations_match_the_paper():
    assert f"{formula.relative_operations(0.8, 5, 0.05):.3f}" == "1.694"
    assert formula.relative_operations(1, 5, 0) == 1  # all accepted, and drafting is free
    assert formula.relative_operations(0, 5, 0) == 6  # all five guesses are rejected
    assert formula.relative_operations(0.8, 0, 0.05) == pytest.approx(1)


def test_optimal_gamma_matches_the_published_table():
    for alpha, row in BEST.items():
        found = [formula.optimal_gamma(alpha, c) for c in COSTS]
        assert [(best.gamma, f"{best.speedup:.2f}") for best in found] == row


@pytest.mark.slow
@given(st.floats(0, 0.97), st.floats(0.005, 2))
def test_optimal_gamma_matches_brute_force(alpha, c):
    gains = [formula.speedup(alpha, gamma, c) for gamma in range(400)]
    best = formula.optimal_gamma(alpha, c)
    assert best.speedup == pytest.approx(max(gains), rel=1e-9)
    assert best.gamma <= gains.index(max(gains))
    assert all(gain < best.speedup for gain in gains[: best.gamma])


def test_optimal_gamma_is_the_smallest_of_equally_fast_ones():
    assert formula.speedup(0.5, 1, 0.2) == pytest.approx(formula.speedup(0.5, 2, 0.2))
    assert formula.speedup(0.5, 0, 0.5) == pytest.approx(formula.speedup(0.5, 1, 0.5))
    assert formula.optimal_gamma(0.5, 0.2).gamma == 1
    assert formula.optimal_gamma(0.5, 0.5).gamma == 0


def test_optimal_gamma_is_0_without_gain_and_unlimited_if_drafting_is_free():
    assert not formula.can_pay(0.3, 0.3)
    assert formula.can_pay(0.31, 0.3)
    for alpha, c in [(0, 0.1), (1, 1), (1, 2), (0.3, 0.3), (0.2, 0.9)]:
        assert formula.optimal_gamma(alpha, c) == formula.Optimum(0, pytest.approx(1))
    assert formula.optimal_gamma(0.8, 0) == formula.Optimum(None, pytest.approx(5))
    assert formula.optimal_gamma(1, 0) == formula.Optimum(None, inf)
    assert formula.optimal_gamma(1, 0.25) == formula.Optimum(None, 4)
    assert formula.optimal_gamma(0, 0) == formula.Optimum(0, 1)
    best = formula.optimal_gamma(1 - 1e-9, 1e-9)
    assert best.gamma > 1e6
    for gamma in (best.gamma // 2, best.gamma * 2):
        assert formula.speedup(1 - 1e-9, gamma, 1e-9) < best.speedup


paths = tree_formula.path_probabilities


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: formula.expected_tokens(1.2, 3), "α must be a probability from 0 to 1, not 1.2."),
        (lambda: formula.expected_tokens(float("nan"), 3), "from 0 to 1, not nan"),
        (lambda: formula.expected_tokens(0.5, -1), "γ must be at least 0, not -1."),
        (lambda: formula.speedup(0.5, 3, -0.1), "c must be at least 0, not -0.1."),
        (lambda: formula.speedup(0.5, 3, inf), "c must be at least 0, not inf."),
        (lambda: formula.speedup(0.5, 3, 0.1, verify=0), "The cost of the verification pass must"),
        (lambda: formula.speedup_from_tokens(-1, 0.1), "The tokens of a round must be at least 0"),
        (lambda: formula.relative_operations(0.5, 3, -1), "ĉ must be at least 0"),
        (lambda: formula.optimal_gamma(-0.1, 0.1), "α must be a probability"),
        (lambda: formula.optimal_gamma(0.1, -0.1), "c must be at least 0"),
        (lambda: formula.can_pay(2, 0.1), "α must be a probability"),
        (lambda: formula.tokens_by_depth([0.5, 1.5]), "A probability by depth must be a"),
        (lambda: formula.solve_alpha(0.9, 4), "."),
        (lambda: formula.solve_alpha(5.1, 4), "."),
        (lambda: formula.solve_alpha(1, 0), "."),
        (lambda: formula.solve_alpha(float("nan"), 4), "."),
        (lambda: tree_formula.path_probabilities([], []), "A tree starts with its root"),
        (lambda: tree_formula.path_probabilities([0], [1.0]), "A tree starts with its root"),
        (lambda: tree_formula.depths([-1, 1]), "A node's parent must come before it."),
        (lambda: tree_formula.depths([-1, -1]), "A node's parent must come before it."),
        (lambda: paths([-1, 0], [1.0]), "2 nodes need 2 probabilities, not 1."),
        (lambda: paths([-1, 0], [1.0, 1.1]), "The probability of a node must be a probability"),
        (lambda: paths([-1, 0, 0], [1, 0.7, 0.5]), "Only one alternative can be accepted"),
        (lambda: tree_formula.full_tree((2, -1)), "A node cannot have -1 children."),
        (lambda: tree_formula.best_tree((0.3, 0.5), 3), "must not increase"),
        (lambda: tree_formula.best_tree((), 3), "Acceptance by rank must be given"),
        (lambda: tree_formula.best_tree((0.5,), -1), "The number of draft tokens must be at"),
    ],
)
def test_invalid_values_raise_readable_error(call, sentence):
    with pytest.raises(ValueError, match=r".") as refusal:
        call()
    assert sentence in str(refusal.value)
    assert str(refusal.value).endswith(".")


def keep_without_replacement(width):
    """Return for each rank the probability of being accepted, by enumeration of all draws."""
    found = [0.0] * width
    for drawn in (each for rank in range(width) for each in permutations(range(5), rank + 1)):
        p, q, weight, kept, alive = list(P), list(Q), 1.0, 0.0, 1.0
        for x in drawn:
            weight *= q[x]
            ratio = min(1.0, p[x] / q[x])
            kept, alive = alive * ratio, alive * (1 - ratio)
            left = [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]
            p = [a / sum(left) for a in left] if sum(left) > 0 else p
            q = [0.0 if i == x else b for i, b in enumerate(q)]
            q = [b / sum(q) for b in q]
        found[len(drawn) - 1] += kept * weight
    return found


TWO = keep_without_replacement(2)


def test_acceptance_by_rank_equals_known_values():
    assert TWO[0] == pytest.approx(0.65)
    assert f"{TWO[1]:.5f}" == "0.10636"
    sums = [sum(keep_without_replacement(width)) for width in (1, 2, 3)]
    assert [f"{each:.4f}" for each in sums] == ["0.6500", "0.7564", "0.8297"]


@pytest.mark.parametrize(
    ("widths", "accepted"), [((2, 2), "1.32845"), ((2, 1), "1.24800"), ((1, 1), "1.07250")]
)
def test_accepted_tokens_of_full_trees_equal_the_enumeration(widths, accepted):
    parents = tree_formula.full_tree(widths)
    keep = tree_formula.acceptance_by_position(parents, TWO)
    tokens = sum(tree_formula.path_probabilities(parents, keep))
    assert f"{tokens - 1:.5f}" == accepted
    assert tokens - 1 == pytest.approx(enumerated(parents, keep))


def enumerated(parents, keep):
    """Return the mean accepted length over all outcomes: each node accepts one child or none."""
    kids = [[n for n, parent in enumerate(parents) if parent == node] for node in range(len(keep))]
    total = 0.0
    for choice in product(*([None, *each] for each in kids)):
        weight = prod(
            keep[kept] if kept else 1 - sum(keep[n] for n in kids[node])
            for node, kept in enumerate(choice)
        )
        node, length = 0, 0
        while choice[node]:
            node, length = choice[node], length + 1
        total += weight * length
    return total


@st.composite
def trees_with_chances(draw, most=7):
    """Generate a small tree with probabilities that allow every sibling to be rejected."""
    size = draw(st.integers(1, most))
    parents = [-1, *(draw(st.integers(0, node - 1)) for node in range(1, size))]
    raw = [draw(st.floats(0, 1)) for _ in parents]
    totals = [sum(raw[n] for n, p in enumerate(parents) if p == node) for node in range(size)]
    keep = [raw[n] / max(1.0, totals[p]) if n else 1.0 for n, p in enumerate(parents)]
    return parents, keep


@pytest.mark.slow
@given(trees_with_chances())
def test_sum_over_nodes_equals_the_mean_over_all_outcomes(tree):
    parents, keep = tree
    mean = 1 + enumerated(parents, keep)
    assert sum(tree_formula.path_probabilities(parents, keep)) == pytest.approx(mean)


@pytest.mark.slow
@given(st.lists(chances, max_size=12))
def test_tree_formula_for_a_chain_equals_the_chain_formula(by_depth):
    parents = range(-1, len(by_depth))
    tokens = sum(tree_formula.path_probabilities(parents, [1.0, *by_depth]))
    assert tokens == pytest.approx(formula.tokens_by_depth(by_depth))
    same = sum(tree_formula.path_probabilities(parents, [1.0] + [0.7] * len(by_depth)))
    assert same == pytest.approx(formula.expected_tokens(0.7, len(by_depth)))


def test_full_tree_formula_equals_a_chain_with_the_acceptance_of_siblings():
    parents = tree_formula.full_tree((2, 2, 2))
    assert len(parents) == 1 + 2 + 4 + 8
    keep = tree_formula.acceptance_by_position(parents, TWO)
    tokens = sum(tree_formula.path_probabilities(parents, keep))
    assert tokens == pytest.approx((1 - sum(TWO) ** 4) / (1 - sum(TWO)))


def test_depths_and_probabilities_of_paths_equal_hand_calculation():
    parents, keep = [-1, 0, 0, 1, 1, 3], [1.0, 0.5, 0.3, 0.6, 0.2, 0.9]
    assert tree_formula.depths(parents) == [0, 1, 1, 2, 2, 3]
    paths = tree_formula.path_probabilities(parents, keep)
    assert paths == pytest.approx([1, 0.5, 0.3, 0.3, 0.1, 0.27])
    assert tree_formula.acceptance_by_position(parents, (0.5, 0.3)) == [1, 0.5, 0.3, 0.5, 0.3, 0.5]
    assert tree_formula.acceptance_by_position([-1, 0, 0, 0], (0.5, 0.3))[3] == 0


@pytest.mark.parametrize("by_place", [(0.6,), (0.5, 0.3), (0.4, 0.4, 0.2), (0.9, 0.05), (1.0,)])
def test_best_tree_has_as_many_tokens_as_found_by_brute_force(by_place):
    def tokens(parents):
        keep = tree_formula.acceptance_by_position(parents, by_place)
        return sum(tree_formula.path_probabilities(parents, keep))

    for nodes in range(5):
        every = product(*(range(node) for node in range(1, nodes + 1)))
        best = tree_formula.best_tree(by_place, nodes)
        assert len(best) == nodes + 1
        assert tokens(best) == pytest.approx(max(tokens([-1, *parents]) for parents in every))
