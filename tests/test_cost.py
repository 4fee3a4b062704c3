"""The speed-up formula against published results, limits, brute force and enumeration."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.cost import formula

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


# Chains


def test_expected_tokens_equal_those_of_the_worked_example_and_at_limits():
    alpha = sum(map(min, P, Q))
    assert alpha == pytest.approx(0.65)
    found = [f"{formula.expected_tokens(alpha, gamma):.4f}" for gamma in (1, 2, 3)]
    assert found == ["1.6500", "2.0725", "2.3471"]
    assert formula.expected_tokens(0, 7) == 1
    assert formula.expected_tokens(1, 7) == 8
    assert formula.expected_tokens(0.6, 0) == pytest.approx(1)
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


def test_expected_tokens_for_equal_acceptance_at_every_depth_equal_the_formula():
    assert formula.tokens_by_depth([0.65] * 3) == pytest.approx(formula.expected_tokens(0.65, 3))
    assert formula.tokens_by_depth([]) == 1
    assert formula.tokens_by_depth([0.9, 0.5, 0.2]) == pytest.approx(1 + 0.9 + 0.45 + 0.09)


@pytest.mark.slow
@given(chances, lengths, costs)
def test_speedup_is_expected_tokens_divided_by_cost(alpha, gamma, c):
    want = plain_sum(alpha, gamma) / (gamma * c + 1)
    assert formula.speedup(alpha, gamma, c) == pytest.approx(want, rel=1e-9)


def test_doubling_the_verification_cost_halves_the_speedup_of_free_drafts():
    assert formula.speedup(0.8, 4, 0, verify=2) == pytest.approx(formula.speedup(0.8, 4, 0) / 2)
    assert formula.speedup_from_tokens(3, 0.5, 1.5) == 1.5


@pytest.mark.slow
@given(st.floats(0.001, 0.999), st.floats(0.001, 3))
def test_drafting_is_faster_exactly_if_alpha_exceeds_c(alpha, c):
    gains = [formula.speedup(alpha, gamma, c) for gamma in range(1, 60)]
    if abs(alpha - c) > 1e-9:
        assert formula.can_pay(alpha, c) == (max(gains) > 1)
    if formula.can_pay(alpha, c):
        sure = formula.guaranteed_speedup(alpha, c)
        assert sure == pytest.approx((1 + alpha) / (1 + c))
        assert formula.optimal_gamma(alpha, c).speedup >= sure * (1 - 1e-12)


def test_relative_operations_match_the_paper():
    assert f"{formula.relative_operations(0.8, 5, 0.05):.3f}" == "1.694"
    assert formula.relative_operations(1, 5, 0) == 1  # all accepted, and drafting is free
    assert formula.relative_operations(0, 5, 0) == 6  # all five guesses are rejected
    assert formula.relative_operations(0.8, 0, 0.05) == pytest.approx(1)


# The best length


def test_optimal_gamma_matches_the_published_table():
    for alpha, row in BEST.items():
        found = [formula.optimal_gamma(alpha, c) for c in COSTS]
        assert [(best.gamma, f"{best.speedup:.2f}") for best in found] == row
        assert {best.origin for best in found} == {"simulated"}


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
    assert formula.guaranteed_speedup(0.3, 0.3) == pytest.approx(1)
    for alpha, c in [(0, 0.1), (1, 1), (1, 2), (0.3, 0.3), (0.2, 0.9)]:
        assert formula.optimal_gamma(alpha, c) == formula.Optimum(0, pytest.approx(1))
    assert formula.optimal_gamma(0.8, 0) == formula.Optimum(None, pytest.approx(5))
    assert formula.optimal_gamma(1, 0) == formula.Optimum(None, inf)
    assert formula.optimal_gamma(1, 0.25) == formula.Optimum(None, 4)
    assert formula.optimal_gamma(0, 0) == formula.Optimum(0, 1)


def test_very_large_optimal_gamma_is_found_quickly():
    best = formula.optimal_gamma(1 - 1e-9, 1e-9)
    assert best.gamma > 1e6
    for gamma in (best.gamma // 2, best.gamma * 2):
        assert formula.speedup(1 - 1e-9, gamma, 1e-9) < best.speedup


# Refusals


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
    ],
)
def test_invalid_values_raise_readable_error(call, sentence):
    with pytest.raises(ValueError, match=r".") as refusal:
        call()
    assert sentence in str(refusal.value)
    assert str(refusal.value).endswith(".")
