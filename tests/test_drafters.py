"""Drafters alone: lookup finds the longest, earliest match; schedules learn; caches roll back."""

from __future__ import annotations

import pytest
import tiny
import torch

from specviz.drafters.common.proposal_builder import fit_vocabulary
from specviz.drafters.ngram import Match, NGram, longest_match
from specviz.engine.protocol import BadProposal, Proposal
from specviz.engine.schedule import schedule
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree


@pytest.mark.parametrize(
    ("context", "shortest", "longest", "found"),
    [
        ([7, 8, 9, 5, 7, 8], 1, 3, Match(0, 2)),  # not Match(4, 2): that is the suffix itself
        ([8, 1, 7, 8, 2, 8], 1, 3, Match(0, 1)),  # the earliest of two
        ([7, 8, 1, 8, 2, 7, 8], 1, 3, Match(0, 2)),  # longer beats what one token would find
        ([7, 8, 1, 8, 2, 7, 8], 1, 1, Match(1, 1)),
        ([7, 8, 9, 5, 7, 8], 3, 5, None),
        ([1, 2, 3], 1, 3, None),
        ([4, 4, 4, 4], 1, 3, Match(0, 3)),  # a match may overlap the suffix
        ([4], 1, 3, None),
    ],
)
def test_the_longest_suffix_then_the_earliest_place(context, shortest, longest, found):
    assert longest_match(context, shortest, longest) == found


def lookup(context, room=9, **choices):
    settings = Settings(**choices)
    session = NGram().begin(tiny.target().start(CaptureSpec()), settings)
    return session.propose(context, tiny.max_tokens(settings, room), Chance(1, 1))


def test_lookup_says_where_in_the_text_the_guess_stands():
    proposal = lookup([7, 8, 9, 5, 7, 8], gamma=3)
    assert proposal.tree.tokens == (8, 9, 5, 7)
    assert proposal.evidence[0] == {"form": "match", "min": 1, "max": 3, "start": 0, "length": 2}
    assert [proposal.evidence[n]["from"] for n in (1, 2, 3)] == [2, 3, 4]
    assert proposal.drawn is Drawn.POINT_MASS
    assert not proposal.q


def test_lookup_keeps_to_room_stops_at_the_end_of_a_text_and_may_find_nothing():
    assert lookup([7, 8, 9, 5, 7, 8], room=2).tree.tokens == (8, 9)
    assert lookup([7, 8, 9, 5, 7, 8], room=1).tree.tokens == (8,)
    assert lookup([7, 0, 9, 7], gamma=5).tree.tokens == (7, 0)
    missed = lookup([1, 2, 3])
    assert missed.tree.tokens == (3,)
    assert missed.evidence == {0: {"form": "match", "min": 1, "max": 3}}


def test_a_schedule_learns_two_up_one_down_and_a_fixed_one_does_not():
    learning = schedule(Settings(gamma=2, schedule="learning"))
    for drafted, kept, gamma in [(2, 2, 4), (4, 3, 3), (0, 0, 3), (3, 0, 2), (2, 0, 1), (1, 0, 1)]:
        learning.observe(drafted, kept)
        assert learning.gamma == gamma
    fixed = schedule(Settings(gamma=2))
    fixed.observe(2, 2)
    assert fixed.gamma == 2


@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_a_draft_model_proposes_the_same_after_a_roll_back_as_afresh(candidates):
    target, drafter = tiny.target().start(CaptureSpec()), tiny.draft()
    settings = Settings(Sampling(0.9), candidates=candidates, gamma=4)
    text, other = [3, 5, 7, 9, 11], [3, 5, 7, 9, 12, 13, 14]
    used = drafter.begin(target, settings)
    for context in (other, text):
        used.propose(context, 5, Chance(1, 1))
    again = used.propose(text, 5, Chance(1, 2))
    fresh = drafter.begin(target, settings).propose(text, 5, Chance(1, 2))
    assert again.tree == fresh.tree
    assert again.drawn is (Drawn.SAMPLED if candidates == "sampled" else Drawn.POINT_MASS)
    for node, law in fresh.q.items():
        assert torch.allclose(again.q[node], law, atol=1e-5)


def test_a_draft_models_q_is_the_law_each_guess_was_drawn_from():
    settings = Settings(Sampling(0.7, top_k=5, top_p=0.9), gamma=3)
    session = tiny.draft().begin(tiny.target().start(CaptureSpec()), settings)
    proposal = session.propose([3, 5, 7], 4, Chance(4, 1))
    for node, made in proposal.draws.items():
        law = proposal.q[node - 1]
        assert made.token == proposal.tree.tokens[node]
        assert law[made.token].item() == pytest.approx(made.hi - made.lo, abs=1e-12)
        assert int((law > 0).sum()) <= 5


def test_padded_vocabularies_are_fitted():
    assert fit_vocabulary(torch.zeros(3), 5).tolist() == [0, 0, 0, -torch.inf, -torch.inf]
    assert fit_vocabulary(torch.arange(5.0), 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("proposal", "says"),
    [
        (Proposal(DraftTree.chain(1, [2, 3]), Drawn.POINT_MASS), "at most 1"),
        (Proposal(DraftTree.chain(1, [0, 3]), Drawn.POINT_MASS), "at most 1|end-of-text"),
        (Proposal(DraftTree.chain(1, [2]), Drawn.SAMPLED), "announced"),
    ],
)
def test_a_proposal_that_breaks_the_contract_is_refused(proposal, says):
    with pytest.raises(BadProposal, match=says):
        proposal.check(Drawn.POINT_MASS, 2, (0,))
    with pytest.raises(BadProposal, match="end-of-text"):
        Proposal(DraftTree.chain(1, [0, 3]), Drawn.POINT_MASS).check(Drawn.POINT_MASS, 9, (0,))
    with pytest.raises(BadProposal, match="need q"):
        Proposal(DraftTree.chain(1, [3]), Drawn.SAMPLED).check(Drawn.SAMPLED, 9, (0,))
