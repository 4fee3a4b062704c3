"""Batched speed-up predictions against hand calculation and brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from specviz.cost import sources, tree_formula
from specviz.cost.roofline import (
    BATCHES,
    DraftPlan,
    Hardware,
    Serving,
    best_gamma,
    first_losing_batch,
    memory_needed,
    pass_time,
    predict,
)

BIG = sources.models()["llama-3.1-8b"].shape
SMALL = sources.models()["llama-3.2-1b"].shape
H100 = sources.machines()["h100-sxm"].hardware
SERVED = Serving(BIG, H100, "bf16")


def test_predicted_speedup_equals_hand_calculation():
    guessing = DraftPlan.chain(0.8, 4, SMALL)
    found = predict(SERVED, guessing, 8)
    plain, verify = pass_time(SERVED, 8).seconds, pass_time(SERVED, 8, 5).seconds
    draft = 4 * pass_time(replace(SERVED, shape=SMALL), 8).seconds
    tokens = 1 + 0.8 + 0.64 + 0.512 + 0.4096
    assert (found.plain, found.draft, found.verify) == pytest.approx((plain, draft, verify))
    assert found.speedup == pytest.approx(tokens * plain / (draft + verify))
    assert found.tokens_per_second == pytest.approx(8 * tokens / (draft + verify))
    assert found.plain_tokens_per_second == pytest.approx(8 / plain)
    assert found.origin == "simulated"


def test_prediction_equals_plain_decoding_without_a_draft_and_the_formula_if_it_is_free():
    for draft in (None, SMALL):
        found = predict(SERVED, DraftPlan.chain(0.8, 0, draft), 16)
        assert (found.speedup, found.draft) == (1, 0)
    alone = replace(SERVED, context=0)
    found = predict(alone, DraftPlan.chain(0.8, 4), 1)
    assert found.speedup == pytest.approx(1 + 0.8 + 0.64 + 0.512 + 0.4096, rel=1e-3)


def test_prediction_for_a_chain_equals_that_for_an_unbranched_tree():
    chain = DraftPlan.chain(0.7, 3, SMALL)
    tree = DraftPlan.tree([-1, 0, 1, 2], [1, 0.7, 0.7, 0.7], SMALL)
    assert tree.widths == chain.widths == (1, 1, 1)
    assert predict(SERVED, tree, 4).speedup == pytest.approx(predict(SERVED, chain, 4).speedup)


def test_predicted_tree_cost_is_one_verification_and_one_draft_pass_per_level():
    parents = tree_formula.full_tree((2, 2))
    keep = tree_formula.acceptance_by_position(parents, (0.6, 0.2))
    guessing = DraftPlan.tree(parents, keep, SMALL)
    assert guessing.widths == (2, 4)
    assert guessing.tokens == pytest.approx(1 + 0.8 + 0.64)
    found = predict(SERVED, guessing, 2)
    assert found.verify == pass_time(SERVED, 2, 7).seconds
    drafter = replace(SERVED, shape=SMALL)
    assert found.draft == pass_time(drafter, 2, 1).seconds + pass_time(drafter, 2, 2).seconds


def test_speedup_falls_with_batch_size_until_drafting_is_slower():
    guessing = DraftPlan.chain(0.6, 5)
    gains = [predict(SERVED, guessing, batch).speedup for batch in BATCHES]
    assert gains[0] > 2.3
    assert gains[-1] < 0.8
    assert gains == sorted(gains, reverse=True)


def test_first_losing_batch_is_the_smallest_slower_than_plain_decoding():
    guessing = DraftPlan.chain(0.6, 5)
    lost = first_losing_batch(SERVED, guessing)
    assert 200 < lost < 256
    assert predict(SERVED, guessing, lost).speedup < 1
    assert predict(SERVED, guessing, lost - 1).speedup >= 1
    assert first_losing_batch(SERVED, guessing, limit=lost - 1) is None
    assert first_losing_batch(SERVED, DraftPlan.chain(0.6, 0)) is None
    assert first_losing_batch(SERVED, DraftPlan.chain(0.0, 1, SMALL)) == 1


def test_longer_drafts_stop_paying_at_smaller_batches():
    """Reproduce vLLM's notes on n-grams with four H100: faster at low load, slower at high load."""
    seventy = Serving(sources.models()["llama-3.1-70b"].shape, H100, "bf16", cards=4)
    losses = [first_losing_batch(seventy, DraftPlan.chain(0.6, gamma)) for gamma in (1, 3, 5, 10)]
    assert losses == sorted(losses, reverse=True)
    assert None not in losses


def test_optimal_gamma_matches_brute_force_and_falls_with_the_batch_size():
    for batch, draft in product((1, 16, 64, 256, 512), (None, SMALL)):
        gains = [predict(SERVED, DraftPlan.chain(0.7, g, draft), batch).speedup for g in range(13)]
        best = best_gamma(SERVED, 0.7, batch, draft, limit=12)
        assert gains[best] == pytest.approx(max(gains))
        assert all(gain < gains[best] for gain in gains[:best])
    best = [best_gamma(SERVED, 0.7, batch) for batch in BATCHES]
    assert best == sorted(best, reverse=True)
    assert best[0] > 20
    assert best[-1] <= 1


def test_predicted_memory_includes_the_drafter():
    tight = Hardware("tight", H100.peak, H100.bandwidth, memory_needed(SERVED, 1, 5))
    serving = replace(SERVED, hardware=tight)
    assert predict(serving, DraftPlan.chain(0.7, 4), 1).fits
    assert not predict(serving, DraftPlan.chain(0.7, 5), 1).fits
    assert not predict(serving, DraftPlan.chain(0.7, 4, SMALL), 1).fits


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: DraftPlan(2.0, (0,)), "Every level of a draft needs at least one token."),
        (lambda: DraftPlan(3.5, (1, 1)), "A round yields 1 to 3 tokens here, not 3.5."),
        (lambda: DraftPlan(0.5, (1, 1)), "A round yields 1 to 3 tokens here, not 0.5."),
        (lambda: DraftPlan.chain(1.5, 2), "α must be a probability"),
        (lambda: best_gamma(SERVED, 0.5, 1, limit=-1), "The longest chain must be at least 0"),
    ],
)
def test_invalid_values_raise_readable_error(call, sentence):
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        call()
    assert sentence in str(refusal.value)
