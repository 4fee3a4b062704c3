"""The enumeration itself: weights add up to one, and statistics agree with known values."""

from __future__ import annotations

import pytest
import torch
from example import P, Q

from specviz.verification import RULES, Drawn
from specviz.verification.exact import exact_sampler_distance, g_test, proposals, verdicts
from specviz.verification.tree import DraftTree


@pytest.mark.parametrize("drawn", list(Drawn))
def test_probabilities_of_all_proposals_sum_to_one(drawn):
    shape = [-1, 0, 0, 1]
    assert sum(w for w, _, _ in proposals(lambda _: Q, shape, drawn)) == pytest.approx(1.0)


def test_probabilities_of_all_verdicts_sum_to_one():
    tree = DraftTree((0, 1, 2, 3), (-1, 0, 0, 1))
    found = list(verdicts(RULES["speculative"], tree, Drawn.SAMPLED, P.repeat(4, 1), {0: Q, 1: Q}))
    assert sum(weight for weight, _ in found) == pytest.approx(1.0, abs=1e-15)
    assert {v.path for _, v in found} == {(), (1,), (2,), (1, 3)}


def test_expected_distance_of_an_exact_sampler_matches_known_values():
    expected = {500: 0.0328, 2_000: 0.0164, 10_000: 0.0073, 100_000: 0.0023}
    for samples, distance in expected.items():
        assert exact_sampler_distance(P, samples) == pytest.approx(distance, abs=6e-5)


def test_g_test_detects_a_broken_sampler():
    right = [round(20_000 * p) for p in P.tolist()]
    assert g_test(right, P.tolist()).p_value > 0.99
    broken = [round(20_000 * p) for p in (0.369, 0.25, 0.231, 0.1, 0.05)]
    assert g_test(broken, P.tolist()).p_value < 1e-3
    with pytest.raises(ValueError, match="probability zero"):
        g_test([1, 1], [1.0, 0.0])


def test_chi_square_tail_equals_published_values():
    assert g_test([50, 50], [0.5, 0.5]).p_value == 1.0
    table = torch.special.gammaincc(torch.tensor(2.0), torch.tensor(9.488 / 2))
    assert table.item() == pytest.approx(0.05, abs=1e-4)
    small = g_test([96, 2, 2], [0.96, 0.02, 0.02])
    assert small.degrees == 1  # cells expecting fewer than 5 are merged
