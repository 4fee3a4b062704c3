"""Distributions, residuals and draws: against transformers' warpers, and by properties."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from specviz.settings.settings import Sampling
from specviz.verification.distributions import (
    TOP_SIZES,
    BadScores,
    deferred_nan_check,
    draw,
    draw_each,
    logits_to_probs,
    overlap,
    remove_token,
    residual,
    total_variation,
)


@st.composite
def laws(draw_, size=5):
    """Generate distributions with zeros, ties, and masses that differ in the last bits."""
    grain = st.sampled_from([0.0, 1.0, 1.0, 2.0, 1.0 + 2**-52, 1e-17, 1e-300])
    weights = draw_(st.lists(grain, min_size=size, max_size=size).filter(lambda w: sum(w) > 1e-200))
    tensor = torch.tensor(weights, dtype=torch.float64)
    return tensor / tensor.sum()


COINS = st.one_of(st.just(0.0), st.just(1 - 2**-53), st.floats(0, 1, exclude_max=True))


def test_probabilities_equal_those_of_transformers():
    logits = torch.randn(4, 40, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    logits[0, 7] = logits[0, 8]  # a tie
    for temperature, top_k, top_p in product(
        (0.2, 0.8, 1.0, 1.7), (0, 1, 5, 40), (0.05, 0.5, 0.9, 1.0)
    ):
        scores = TemperatureLogitsWarper(temperature)(None, logits.clone())
        scores = TopKLogitsWarper(top_k)(None, scores) if top_k else scores
        scores = TopPLogitsWarper(top_p)(None, scores) if top_p < 1 else scores
        ours = logits_to_probs(logits, Sampling(temperature, top_k, top_p))
        assert torch.allclose(ours, scores.softmax(-1), atol=1e-15), (temperature, top_k, top_p)
        assert ours.dtype == torch.float64


def test_top_k_above_the_vocabulary_keeps_all_tokens_and_temperature_0_keeps_one():
    logits = torch.tensor([[1.0, 3.0, 2.0]])
    assert torch.equal(
        logits_to_probs(logits, Sampling(1.0, top_k=99)), logits_to_probs(logits, Sampling(1.0))
    )
    assert logits_to_probs(logits, Sampling(0.0)).tolist() == [[0.0, 1.0, 0.0]]


def test_logits_that_are_not_finite_are_refused():
    for bad in (float("nan"), float("inf")):
        rows = torch.zeros(2, 5)
        rows[1, 3] = bad
        with pytest.raises(BadScores, match="The model returned logits that are not numbers"):
            deferred_nan_check(rows, "The model")()
    deferred_nan_check(torch.tensor([[0.0, -torch.inf]]), "The model")()
    with pytest.raises(BadScores):
        deferred_nan_check(torch.full((1, 3), -torch.inf), "The model")()


@pytest.mark.slow
@given(laws(), laws())
def test_overlap_is_one_minus_total_variation_and_residual_is_zero_where_q_is_at_least_p(p, q):
    assert overlap(p, q) + total_variation(p, q) == pytest.approx(1.0, abs=1e-12)
    left = residual(p, q)
    assert left.sum() == pytest.approx(1.0, abs=1e-12)
    assert bool((left >= 0).all())
    if bool((p > q).any()):
        assert bool((left[p <= q] == 0).all())


def test_residual_of_equal_distributions_falls_back_to_p():
    p = torch.tensor([0.25, 0.75], dtype=torch.float64)
    assert torch.equal(residual(p, p), p)
    one = torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert torch.equal(remove_token(one, 1), one)


@pytest.mark.slow
@given(laws(), COINS)
@settings(max_examples=300)
def test_drawn_interval_contains_u_and_zero_probability_is_never_drawn(p, u):
    found = draw(p, u)
    assert p[found.token] > 0
    assert found.lo <= u < found.hi
    above = [(-v, i) for i, v in enumerate(p.tolist()) if v > 0]
    before = sorted(above)[: sorted(above).index((-p[found.token].item(), found.token))]
    assert found.lo == pytest.approx(sum(-v for v, _ in before), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("size", [TOP_SIZES[0] * 3, TOP_SIZES[1] + 7])
@given(data=st.data(), u=COINS)
@settings(max_examples=60)
def test_tokens_of_equal_probability_are_ordered_by_id(size, data, u):
    seed = data.draw(st.integers(0, 999))
    p = torch.randint(1, 4, (size,), generator=torch.Generator().manual_seed(seed)).double()
    p[data.draw(st.integers(0, size - 1))] = data.draw(st.sampled_from([1.0, size, 8.0 * size]))
    p /= p.sum()
    order = sorted(range(len(p)), key=lambda i: (-p[i].item(), i))
    found = draw(p, u)
    place = order.index(found.token)
    assert found.lo == pytest.approx(sum(p[i].item() for i in order[:place]), abs=1e-12)
    assert found.hi == pytest.approx(found.lo + p[found.token].item(), abs=1e-12)


@pytest.mark.parametrize("size", [5, 200, 3000])
def test_batched_draws_equal_single_draws(size):
    """Include distributions (flat, many ties) whose draws go beyond the top tokens."""
    torch.manual_seed(1)
    peaked = (torch.randn(size, dtype=torch.float64) * 4).softmax(-1)
    flat = torch.full((size,), 1 / size, dtype=torch.float64)
    tied = torch.ones(size, dtype=torch.float64).index_fill(0, torch.tensor([3]), 2.0)
    laws = [peaked, flat, tied / tied.sum(), peaked.flip(0)]
    for u in (0.0, 0.03, 0.4, 0.9, 0.9999):
        coins = [u, 1 - u / 2 - 1e-9, u, u / 3]
        alone = [draw(each, coin) for each, coin in zip(laws, coins, strict=True)]
        assert draw_each(laws, coins) == alone
