"""The contract of a drafter: eleven laws, tried on every family of the catalogue."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import count

import pytest
import torch
from families import CASES, OTHER, WRONG

from specviz.catalog.entry import entries
from specviz.drafters.contract import LAWS, ContractBroken, check_drafter, check_law
from specviz.drafters.ngram import NGram
from specviz.engine.protocol import Proposal
from specviz.verification.tree import DraftTree

pytestmark = pytest.mark.slow
COUNTED = "tokens of real runs follow the target"  # counts hundreds of runs


def cells():
    """Every law with every family."""
    for law in LAWS:
        for family in CASES:
            yield pytest.param(law, family, id=f"{law}: {family}")


@pytest.mark.parametrize(("law", "family"), list(cells()))
def test_every_family_keeps_every_law(law, family):
    check_law(law, CASES[family])


@pytest.mark.parametrize("family", WRONG)
@pytest.mark.parametrize(
    "law", ["greedy is `generate` token for token", "sampled runs check and replay"]
)
def test_one_that_is_nearly_always_wrong_keeps_to_the_text(law, family):
    check_law(law, WRONG[family])


def test_every_drafter_of_the_catalogue_is_on_trial():
    """By its code: rows that differ in their weights alone are on trial together."""
    drafters = [entry for entry in entries() if entry.kind == "drafter"]
    tried = {entry.drafter for entry in drafters if entry.name in CASES}
    assert set(CASES) - {OTHER} <= {entry.name for entry in drafters}
    assert {entry.drafter for entry in drafters} == tried


class Broken:
    """A true drafter whose sessions a subclass spoils."""

    def __init__(self, drafter):
        self.drafter = drafter
        self.name, self.card, self.capture = drafter.name, drafter.card, drafter.capture
        self.made_for = drafter.made_for
        for name, part in vars(drafter).items():
            if isinstance(part, torch.nn.Module):
                setattr(self, name, part)

    def begin(self, target, settings):
        self.run, self.settings, self.commits = target, settings, 0
        self.session = self.drafter.begin(target, settings)
        self.drawn = self.session.drawn
        return copy(self)

    def propose(self, context, room, chance):
        return self.session.propose(context, room, chance)

    def commit(self, tokens, states, extra_rows=None):
        self.session.commit(tokens, states, extra_rows)


def nothing(context, drawn):
    return Proposal(DraftTree((context[-1],), (-1,)), drawn)


class SpoilsTheTargetsCache(Broken):
    def propose(self, context, room, chance):
        with torch.inference_mode():
            self.run.cache.layers[0].keys.mul_(-1)
        return super().propose(context, room, chance)


class TossesItsOwnCoins(Broken):
    tosses = count()

    def propose(self, context, room, chance):
        return super().propose(context, room, replace(chance, seed=next(self.tosses)))


class DrawsByAnotherLaw(Broken):
    """Says q, and takes q's top token."""

    def propose(self, context, room, chance):
        proposal = super().propose(context, min(room, 2), chance)
        if not proposal.q:
            return proposal
        top = [int(proposal.q[0].argmax())] * len(proposal.tree.children[0])
        return replace(proposal, tree=DraftTree((context[-1], *top), (-1,) + (0,) * len(top)))


class DraftsWhereNothingIsLeft(Broken):
    def propose(self, context, room, chance):
        return super().propose(context, max(room, 2), chance)


class DraftsOneTooMany(Broken):
    def propose(self, context, room, chance):
        return super().propose(context, room + 1, chance)


class KnowsNoEnd(Broken):
    def begin(self, target, settings):
        session = super().begin(target, settings)
        session.session.eos = ()
        return session


class TakesAwayTheEnd(Broken):
    def begin(self, target, settings):
        target.target.eos = ()
        return super().begin(target, settings)


class HasOneSession(Broken):
    def begin(self, target, settings):
        if not hasattr(self, "only"):
            self.only = self.drafter.begin(target, settings)
        return self.only


class TiresWithTime(Broken):
    def commit(self, tokens, states, extra_rows=None):
        super().commit(tokens, states, extra_rows)
        self.commits += 1

    def propose(self, context, room, chance):
        return super().propose(context, room if self.commits < 3 else 1, chance)


class HidesItsFaults(Broken):
    def propose(self, context, room, chance):
        try:
            return super().propose(context, room, chance)
        except ValueError:
            return nothing(context, self.drawn)

    def commit(self, tokens, states, extra_rows=None):
        with suppress(ValueError):
            super().commit(tokens, states, extra_rows)


# By law: how to break it, and the family that is broken.
MUTANTS = {
    "greedy is `generate` token for token": (SpoilsTheTargetsCache, "ngram"),
    "sampled runs check and replay": (TossesItsOwnCoins, "draft-model"),
    "tokens of real runs follow the target": (DrawsByAnotherLaw, "draft-model"),
    "a run stops exactly at its limit": (DraftsWhereNothingIsLeft, "draft-model"),
    "a draft keeps to the room": (DraftsOneTooMany, "eagle"),
    "nothing follows an end of text": (KnowsNoEnd, "ngram"),
    "a text ends exactly there": (TakesAwayTheEnd, "medusa"),
    "two sessions do not disturb each other": (HasOneSession, "medusa"),
    "a fresh session says the same": (TiresWithTime, "ngram"),
    "NaN is a sentence": (HidesItsFaults, "medusa"),
    "missing states are refused": (HidesItsFaults, "eagle"),
}


@pytest.mark.parametrize("law", LAWS)
def test_every_law_can_be_broken(law):
    mutant, family = MUTANTS[law]
    case = CASES[family]
    with pytest.raises(ContractBroken, match="Broken: " + law):
        check_law(law, replace(case, drafter=lambda target: mutant(case.drafter(target))))


@pytest.mark.parametrize("law", [law for law in LAWS if law != COUNTED])
def test_what_breaks_a_law_is_the_fault_and_not_the_wrapping(law):
    case = CASES[MUTANTS[law][1]]
    check_law(law, replace(case, drafter=lambda target: Broken(case.drafter(target))))


def test_all_laws_are_tried_at_once_and_the_first_broken_is_named():
    case = CASES["ngram"]
    quick = [law for law in LAWS if law != COUNTED]
    check_drafter(case, quick)
    with pytest.raises(ContractBroken, match="Broken: nothing follows an end of text"):
        check_drafter(replace(case, drafter=lambda target: KnowsNoEnd(NGram())), quick)
