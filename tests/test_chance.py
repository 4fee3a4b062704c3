"""Random numbers: in [0, 1), determined by their keys, different for different keys."""

from __future__ import annotations

from statistics import mean

from hypothesis import given
from hypothesis import strategies as st

from specviz.settings.chance import BASELINE, DRAFT, FINAL, JUDGE, Chance, random_u

SEEDS = st.integers(-(2**63), 2**63 - 1)


@given(SEEDS, st.integers(0, 10_000), st.integers(0, 100))
def test_u_is_below_one_and_reproducible(seed, number, node):
    chance = Chance(seed, number)
    for u in (chance.judge(node), chance.draft(node), chance.final(), chance.baseline()):
        assert 0.0 <= u < 1.0
    assert chance.judge(node) == random_u(seed, number, JUDGE, node)


def test_u_differs_between_purposes_rounds_and_nodes():
    keys = [(r, p, n) for r in range(20) for p in (DRAFT, JUDGE, FINAL, BASELINE) for n in range(9)]
    assert len({random_u(7, *key) for key in keys}) == len(keys)


def test_u_is_uniform():
    coins = [random_u(1, r, JUDGE, n) for r in range(200) for n in range(50)]
    assert abs(mean(coins) - 0.5) < 0.01
    for tenth in range(10):
        share = mean(tenth / 10 <= u < (tenth + 1) / 10 for u in coins)
        assert abs(share - 0.1) < 0.015  # 5 standard deviations of 10,000 random numbers


def test_u_of_a_given_seed_equals_its_recorded_value():
    """Check known values, since recorded traces are checked with this function."""
    assert random_u(1, 2, JUDGE, 3) == 0.5753682201422535
