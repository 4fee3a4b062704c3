"""The uniform drafter: q is 1/V, its draws are valid, and the text stays exact."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import tiny
import torch
from forging import traced
from hypothesis import example, given
from hypothesis import strategies as st

from specviz.drafters.uniform import Uniform, distinct_picks
from specviz.engine.loop import rounds
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.metrics import summary
from specviz.verification import Drawn
from specviz.verification.distributions import draw, remove_token

IDS = [3, 5, 7, 9, 6, 2, 3, 5, 8, 1, 7, 9, 6, 4, 10, 11, 9, 6, 2]
WARM = Settings(Sampling(0.9, top_k=40, top_p=0.95), max_new_tokens=24, gamma=4)


def test_u_at_the_edge_of_an_interval_selects_that_interval():
    for size in (3, 6, 11, 22, 23, 280):
        for k in range(size):
            for u in (k / size, math.nextafter((k + 1) / size, 0)):
                (pick,) = distinct_picks(size, [u])
                assert pick.token == k
                assert pick.lo <= u < pick.hi


def proposed(settings, room=9, target=None, chance=None):
    session = Uniform().begin((target or tiny.target()).start(CaptureSpec()), settings)
    return session.propose([3, 5, 7], tiny.max_tokens(settings, room), chance or Chance(1, 1))


@pytest.mark.slow
@given(
    st.integers(1, 300) | st.integers(1, 9), st.lists(st.floats(0, 1, exclude_max=True), max_size=8)
)
@example(3, [0.1, 0.9, 0.5, 0.2])  # more u than tokens
def test_distinct_uniform_picks_equal_sequential_draws_without_replacement(size, coins):
    picks = distinct_picks(size, coins)
    assert len(picks) == min(size, len(coins))
    left = torch.full((size,), 1 / size, dtype=torch.float64)
    for pick, u in zip(picks, coins, strict=False):
        assert pick.u == u
        assert pick.lo <= u < pick.hi
        assert left[pick.token].item() == pytest.approx(pick.hi - pick.lo, abs=1e-12)
        if min(u - pick.lo, pick.hi - u) > 1e-9:  # closer to the edge, rounding decides
            again = draw(left, u)
            assert pick.token == again.token
            assert (pick.lo, pick.hi) == pytest.approx((again.lo, again.hi), abs=1e-9)
        left = remove_token(left, pick.token)
    assert len({pick.token for pick in picks}) == len(picks)


def test_uniform_drafter_ignores_temperature():
    whole = proposed(WARM)
    for sampling in (Sampling(0.1), Sampling(5.0, top_k=1)):
        assert proposed(replace(WARM, sampling=sampling)).tree == whole.tree
    for change in ({"candidates": "greedy"}, {"sampling": Sampling(0)}):
        fixed = proposed(replace(WARM, **change))
        assert fixed.tree == whole.tree
        assert fixed.drawn is Drawn.POINT_MASS
        assert not fixed.q
        assert not fixed.draws
        assert not fixed.score
    assert proposed(WARM, chance=Chance(1, 2)).tree != whole.tree


def test_uniform_drafter_names_its_evidence_and_ends_paths_at_the_end_of_text():
    assert proposed(WARM, room=1).evidence == {}
    assert proposed(WARM).evidence == {0: {"form": "lower-bound", "vocabulary": tiny.VOCABULARY}}
    settings, target = replace(WARM, siblings=[3, 2], gamma=3), tiny.target()
    target.eos = (proposed(settings).tree.tokens[2],)
    tree = proposed(settings, target=target).tree
    assert [len(tree.children[n]) for n in (1, 2, 3)] == [2, 0, 2]


def test_alpha_is_the_overlap_of_p_with_the_uniform_distribution():
    target, settings = tiny.target(tiny.small_llama()), replace(WARM, sampling=Sampling(1.3))
    target.encode = lambda prompt, new: list(IDS)
    found = []
    for turn in rounds(target, Uniform(), IDS, settings):
        for node in (0, *turn.verdict.path):
            if turn.proposal.tree.children[node]:
                found.append(torch.clamp(turn.p[node], max=1 / 12).sum().item())
    trace = traced(target, Uniform(), settings, baseline=False)
    assert summary(trace)["alpha"] == pytest.approx(sum(found) / len(found), abs=1e-9)
