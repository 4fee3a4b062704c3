"""The gallery: computed distributions, verdicts that follow from the distance, and samples."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import torch
from example import P, Q

from specviz.verification.exact import distance, exact_sampler_distance
from specviz.verification.exact.candidates import at_temperature
from specviz.verification.published_rules import EXACT, GALLERY, find_case_study, sample_counts
from specviz.verification.published_rules.blocks import acceptance_counts
from specviz.verification.published_rules.drafts import (
    LEAST,
    best_of_all,
    outer,
    until_first_loss,
)
from specviz.verification.published_rules.randomness import win_probabilities
from specviz.verification.published_rules.refined import REPEATED

LOST = {
    "top-k-masked": 0,
    "sampled-masked": 0,
    "half-a-fix": 0.3171,
    "draw-and-compare": 0,
    "resample-from-p": 0.1600,
    "mask-the-rejected": 0.1267,
    "argmax-tested-soft": 0.3056,
    "draft-temperature": 0.0586,
    "truncated-tested-full": 0.1786,
    "truncated-tested-truncated": 0,
    "unmasked-siblings": 0.0305,
    "one-coin": 0.105,
    "shared-noise": 0.0222,
    "dropped-and-masked": 0,
    "block": 0,
    "traversal": 0,
    "cumulative-uniform": 0.237,
    "cut-before-sampling": 0,
    "cut-after-sampling": 0.1425,
    "schedule-first-loss": 0,
    "schedule-best-of-all": 0.0375,
    "refined-last-pass": 0,
    "refined-chain": 0.0163,
}
FIRST = {  # the distribution of the first token
    "half-a-fix": (0.717, 0.113, 0.143, 0.025, 0.003),
    "resample-from-p": (0.240, 0.338, 0.220, 0.135, 0.068),
    "mask-the-rejected": (0.273, 0.292, 0.237, 0.127, 0.072),
    "argmax-tested-soft": (0.381, 0.556, 0.063, 0, 0),
    "unmasked-siblings": (0.369, 0.25, 0.231, 0.1, 0.05),
    "one-coin": (0.40, 0.25, 0.20, 0.10, 0.05),  # lossy only for sequences
    "schedule-best-of-all": (0.40, 0.25, 0.20, 0.10, 0.05),
}
KEPT = {
    "top-k-masked": 0.35,
    "sampled-masked": 0.21,
    "half-a-fix": 0.21,
    "draw-and-compare": 0.21,
    "resample-from-p": 0.65,
    "mask-the-rejected": 0.65,
    "argmax-tested-soft": 0.5556,
    "unmasked-siblings": 0.787,
    "cumulative-uniform": 1.538,  # more than any lossless rule can
}


@cache
def result(key):
    return find_case_study(key).result()


def test_numbers_of_each_published_rule_equal_the_reference():
    for key, lost in LOST.items():
        assert result(key).tv == pytest.approx(lost, abs=6e-4), key
    for key, expected in FIRST.items():
        found, should = result(key).first()
        assert found == pytest.approx(expected, abs=6e-4), key
        assert should == pytest.approx(P.tolist(), abs=1e-12), key
    found, should = result("one-coin").first()
    assert found == pytest.approx(should, abs=1e-12)
    for key, kept in KEPT.items():
        assert result(key).accepted_length == pytest.approx(kept, abs=6e-4), key
    assert 0.011 < result("remaining-mass").tv < 0.041


def test_loss_at_other_draft_temperatures_equals_the_reference():
    case = find_case_study("draft-temperature").case
    for temperature, lost in ((0.5, 0.125), (0.7, 0.0586), (1.3, 0.0354)):

        def source(q, temperature=temperature):
            return at_temperature(q, temperature)

        other = replace(case, method=replace(case.method, sampled_from=source))
        found = replace(find_case_study("draft-temperature"), case=other).result()
        assert found.tv == pytest.approx(lost, abs=6e-4)


@pytest.mark.parametrize("each", GALLERY, ids=lambda each: each.key)
def test_verdict_on_a_published_rule_follows_from_its_distance(each):
    """It also holds for one token, equal distributions and those without a common token."""
    found = result(each.key)
    assert sum(found.distribution.values()) == pytest.approx(1, abs=1e-12)
    assert (found.verdict == "exact") == (found.tv < EXACT)
    assert found.tv < 1e-14 or found.tv > 0.01
    if found.verdict == "exact":
        assert LOST[each.key] == 0
    one = torch.ones(1, dtype=torch.float64)
    apart = torch.tensor([0.75, 0.25, 0.0, 0.0], dtype=torch.float64)
    for p, q in [(one, one), (apart, apart), (apart, apart.flip(0))]:
        other = each.result(p, q)
        assert sum(other.distribution.values()) == pytest.approx(1, abs=1e-12)
        if found.verdict == "exact" or len(p) == 1:
            assert other.tv < 1e-12


@pytest.mark.parametrize("each", GALLERY, ids=lambda each: each.key)
def test_samples_of_each_published_rule_follow_its_computed_distribution(each):
    found, throws = result(each.key), 20_000
    counts = sample_counts(each, throws, seed=5)
    assert sum(counts.values()) == throws
    seen = {string: many / throws for string, many in counts.items()}
    law = torch.tensor(list(found.distribution.values()), dtype=torch.float64)
    noise = exact_sampler_distance(law.clamp(max=1), throws)
    assert distance(seen, found.distribution) < 2.5 * noise + 1e-12


def test_every_case_study_has_its_own_key_a_public_source_and_a_reason():
    assert len({each.key for each in GALLERY}) == len(GALLERY) >= 12
    for each in GALLERY:
        for thread in (each.source, each.answered or each.source):
            assert re.fullmatch(r"https://(github\.com|arxiv\.org)/\S+", thread.url)
        for text in (
            each.claimed, each.drawn, each.judged, each.why, each.premise, each.answer,
        ):  # fmt: skip
            assert text.endswith((".", "?", ".)"))
        assert 3 <= each.lines.strip().count("\n") + 1 <= 9
        assert max(map(len, each.lines.splitlines())) <= 70


def test_dropping_a_sampled_guess_because_of_its_own_q_is_lossy():
    """Compute the first token by hand: kept guesses as sampled, and p in place of those dropped."""
    kept = Q * (Q >= 0.2)
    residual = (P - Q).clamp(min=0)
    accepted = torch.minimum(torch.ones_like(P), P / Q)
    expected = kept * accepted + (1 - kept.sum()) * P
    expected += (kept * (1 - accepted)).sum() * residual / residual.sum()
    found, _ = result("cut-after-sampling").first()
    assert found == pytest.approx(expected.tolist(), abs=1e-12)
    assert result("cut-after-sampling").verdict == "lossy"


def test_choosing_the_draft_length_after_sampling_is_lossy():
    """Compute the distance by hand: after an improbable token, only probable ones are sent."""
    probable = Q >= LEAST
    sent, accepted = Q * probable, torch.minimum(P, Q)
    residual = (P - Q).clamp(min=0)
    second = accepted * probable + (1 - sent.sum()) * P
    second += (sent - accepted * probable).sum() * residual / residual.sum()
    after_improbable = accepted[~probable].sum()
    expected = after_improbable * (second - P).abs().sum() / 2
    assert result("schedule-best-of-all").tv == pytest.approx(expected.item(), abs=1e-12)


def test_early_stop_decides_on_a_guess_before_it_is_sampled():
    """The decision on guess k is the same for all tokens from k on; not in the best-of-all rule."""
    for sent in (until_first_loss, best_of_all):  # they differ only in what decides
        assert set(sent(Q).flatten().tolist()) == {1, 3}
    for gamma in range(1, 4):
        later = tuple(range(gamma - 1, 3))
        early = (until_first_loss(Q) >= gamma).double()
        assert torch.equal(early.amin(later), early.amax(later))
    second = (best_of_all(Q) >= 2).double()
    assert not torch.equal(second.amin((1, 2)), second.amax((1, 2)))


def test_refined_guesses_are_exact_with_the_q_that_they_were_sampled_from():
    """Enumerate drafts: in a race, the runner-up of x is sampled from q without x."""
    weights = Q * (1 - (1 - REPEATED) * torch.eye(5, dtype=Q.dtype))
    after = weights / weights.sum(1, keepdim=True)
    for key, recomputed in (("refined-last-pass", False), ("refined-chain", True)):
        out = torch.zeros(5, 5, 5, 5, dtype=torch.float64)
        for x, before, y, z in product(range(5), repeat=4):
            if before != x:
                weight = Q[before] * (before == y)
            elif y == x:
                weight = after[x, x]
            else:
                weight = (Q[x] - after[x, x]) * Q[y] / (1 - Q[x])
            weight = weight * Q[x] * after[before, z]
            tests = ((x, Q), (y, after[x]), (z, after[y if recomputed else before]))
            at: tuple[int, ...] = ()
            for token, q in tests:
                ratio = min(1.0, (P[token] / q[token]).item())
                rest = (P - q).clamp(min=0) / (P - q).clamp(min=0).sum()
                rest = outer(rest, *[P] * (3 - len(at)))
                out[at] += weight * (1 - ratio) * rest
                weight, at = weight * ratio, (*at, token)
            out[at] += weight * P
        found = torch.tensor(list(result(key).distribution.values()), dtype=torch.float64)
        assert torch.allclose(found.view_as(out), out, rtol=0, atol=1e-12)
        assert (result(key).tv < 1e-14) != recomputed
    assert result("refined-chain").first()[0] == pytest.approx(P.tolist(), abs=1e-12)


def test_cumulative_uniform_rule_counts_accepted_guesses_by_the_product_of_ratios():
    assert sum(acceptance_counts(0.5, 0.25)) == pytest.approx(1)
    assert acceptance_counts(0.0, 0.0) == (1.0, 0.0, 0.0)


def test_exponential_race_with_equal_starts_samples_in_proportion_to_p():
    none = torch.zeros(5, dtype=torch.float64)
    assert torch.allclose(win_probabilities(P, none), P)
    assert win_probabilities(P, Q).sum().item() == pytest.approx(1, abs=1e-12)
