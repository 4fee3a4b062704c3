"""Parts of drafters: n-gram matches, adaptive schedules, and the protocol of a proposal."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
import torch
from families import KNOWING_NOTHING, target_of

from specviz.drafters.common.proposal_builder import fit_vocabulary
from specviz.drafters.ngram import NGram
from specviz.engine.loop import Decoding, schedule
from specviz.engine.protocol import BadProposal, Proposal
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings, max_gamma
from specviz.trace.lookup import Match, longest_match
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree


@pytest.mark.parametrize(
    ("context", "shortest", "longest", "found"),
    [
        ([7, 8, 9, 5, 7, 8], 1, 3, Match(0, 2)),  # not Match(4, 2): that is the suffix itself
        ([8, 1, 7, 8, 2, 8], 1, 3, Match(0, 1)),  # the earlier of two matches
        ([7, 8, 1, 8, 2, 7, 8], 1, 3, Match(0, 2)),  # a longer match comes before a shorter one
        ([7, 8, 1, 8, 2, 7, 8], 1, 1, Match(1, 1)),
        ([7, 8, 9, 5, 7, 8], 3, 5, None),
        ([1, 2, 3], 1, 3, None),
        ([4, 4, 4, 4], 1, 3, Match(0, 3)),  # a match may overlap the suffix
        ([4], 1, 3, None),
    ],
)
def test_n_gram_lookup_prefers_the_longest_suffix_then_the_earliest_match(
    context, shortest, longest, found
):
    assert longest_match(context, shortest, longest) == found


def lookup(context, room=9, **choices):
    settings = Settings(**choices)
    session = NGram().begin(tiny.target().start(CaptureSpec()), settings)
    return session.propose(context, tiny.max_tokens(settings, room), Chance(1, 1))


def test_n_gram_draft_has_its_source_and_respects_the_token_limit_and_end_of_text():
    proposal = lookup([7, 8, 9, 5, 7, 8], gamma=3)
    assert proposal.tree.tokens == (8, 9, 5, 7)
    assert proposal.evidence[0] == {"form": "match", "min": 1, "max": 3, "start": 0, "length": 2}
    assert [proposal.evidence[n]["from"] for n in (1, 2, 3)] == [2, 3, 4]
    assert proposal.drawn is Drawn.POINT_MASS
    assert not proposal.q
    assert lookup([7, 8, 9, 5, 7, 8], room=2).tree.tokens == (8, 9)
    assert lookup([7, 8, 9, 5, 7, 8], room=1).tree.tokens == (8,)
    assert lookup([7, 0, 9, 7], gamma=5).tree.tokens == (7, 0)
    missed = lookup([1, 2, 3])
    assert missed.tree.tokens == (3,)
    assert missed.evidence == {0: {"form": "match", "min": 1, "max": 3}}


def test_learning_schedule_raises_gamma_by_two_or_lowers_it_by_one():
    learning = schedule(Settings(gamma=2, schedule="learning"))
    for drafted, kept, gamma in [(2, 2, 4), (4, 3, 3), (0, 0, 3), (3, 0, 2), (2, 0, 1), (1, 0, 1)]:
        learning.observe(drafted, kept)
        assert learning.gamma == gamma
    fixed = schedule(Settings(gamma=2))
    fixed.observe(2, 2)
    assert fixed.gamma == 2


def test_logits_are_cut_or_padded_to_the_vocabulary_of_the_target():
    assert fit_vocabulary(torch.zeros(3), 5).tolist() == [0, 0, 0, -torch.inf, -torch.inf]
    assert fit_vocabulary(torch.arange(5.0), 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("tokens", "drawn", "announced", "room", "says"),
    [
        ([2, 3], Drawn.POINT_MASS, Drawn.POINT_MASS, 2, "at most 1"),
        ([0, 3], Drawn.POINT_MASS, Drawn.POINT_MASS, 9, "end-of-text"),
        ([2], Drawn.SAMPLED, Drawn.POINT_MASS, 2, "announced"),
        ([3], Drawn.SAMPLED, Drawn.SAMPLED, 9, "need q"),
    ],
)
def test_proposal_that_breaks_the_protocol_is_refused(tokens, drawn, announced, room, says):
    proposal = Proposal(DraftTree.chain(1, tokens), drawn)
    with pytest.raises(BadProposal, match=says):
        proposal.check(announced, room, (0,))


# Schedules

COLD = Settings(Sampling(0), gamma=2, max_new_tokens=20, exit_layer=1)
SETTINGS = [
    replace(COLD, schedule="learning"),
    replace(COLD, schedule="learning", siblings=[3, 2]),
    replace(COLD, sampling=Sampling(0.9), siblings=[3, 2]),
    replace(COLD, sampling=Sampling(0.9), schedule="learning"),
]


def played(target, drafter, settings):
    """Return for each round its max_tokens, its tokens left, its depth and its accepted length."""
    ids = target.encode(tiny.PROMPT, settings.max_new_tokens)
    decoding, rooms = Decoding(target, drafter, ids, settings), []
    propose = decoding.session.propose

    def spied(context, room, chance):
        rooms.append((room, len(ids) + settings.max_new_tokens - len(context)))
        return propose(context, room, chance)

    decoding.session.propose = spied
    _, *rounds = decoding.rounds()
    for given, turn in zip(rooms, rounds, strict=True):
        yield *given, max(turn.proposal.tree.depths), len(turn.verdict.path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ngram", "layerskip", "eagle", "eagle3", "medusa", "dspark"])
def test_max_tokens_is_gamma_plus_1_and_gamma_adapts_to_acceptance(name):
    """One drafter of each kind of session; the contract limits the depth of all."""
    target = target_of(name)
    drafter = KNOWING_NOTHING[name](target)
    for settings in SETTINGS:
        gamma = settings.gamma
        for room, left, deep, kept in played(target, drafter, settings):
            assert room == min(left, gamma + 1)
            assert kept <= deep <= room - 1
            if deep and settings.schedule == "learning":
                step = 2 if kept == deep else -1
                gamma = min(max_gamma(settings.siblings), max(1, gamma + step))
