"""Siblings sampled on the device: equal to sequential draws, and read in one transfer."""

from __future__ import annotations

import pytest
import torch
from pretend import pretended

from specviz.drafters.common.candidates import _draw_one_by_one, distinct_draws

WIDTHS = [1, 4, 2, 4, 3]


def rows(kind, size=200):
    """Return distributions (5, V): peaked; flat, with draws beyond the top 64; with many ties."""
    made = torch.Generator().manual_seed(size)
    logits = torch.randn(5, size, generator=made, dtype=torch.float64)
    logits = {"sharp": logits * 6, "flat": logits / 9, "equals": logits.round()}[kind]
    return logits.softmax(-1)


def random_rows(salt):
    made = torch.Generator().manual_seed(salt)
    return [torch.rand(many, generator=made).tolist() for many in WIDTHS]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sharp", "flat", "equals"])
def test_siblings_sampled_in_a_batch_equal_sequential_draws(kind):
    for salt in range(20):
        size = (40, 200)[salt % 2]
        distributions, chances = rows(kind, size), rows("flat", size).float()
        coins = random_rows(salt)
        found = distinct_draws(distributions, coins, chances)
        assert found.draws == [
            _draw_one_by_one(*each) for each in zip(distributions, coins, strict=True)
        ]
        said = [chances[row, some].tolist() for row, some in enumerate(found.tokens)]
        assert found.probs == said


def test_last_token_is_repeated_if_a_distribution_has_too_few_tokens():
    distributions = torch.zeros(2, 100, dtype=torch.float64)
    distributions[0, 7], distributions[1, :3] = (
        1.0,
        torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64),
    )
    found = distinct_draws(distributions, [[0.2, 0.3], [0.1, 0.9]], distributions)
    assert found.tokens == [[7, 7], [0, 2]]


def test_siblings_of_a_level_need_one_device_read():
    distributions = rows("sharp")
    expected = distinct_draws(distributions, random_rows(1), distributions)
    with pretended() as device_log:
        there = distributions.to("cuda")
        device_log.counts.clear()
        assert distinct_draws(there, random_rows(1), there) == expected
    assert (device_log.counts["reads"], device_log.counts["uploads"]) == (1, 1)
