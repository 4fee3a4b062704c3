"""The contract of a drafter: twelve checks, run on every family of the catalogue."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import count

import pytest
import tiny
import torch
from fakes import Branching
from families import CASES, OTHER, SURE, WRONG

from specviz.catalog.entry import entries
from specviz.drafters.contract import CHECKS, Case, ContractBroken, check_drafter, run_check
from specviz.drafters.ngram import NGram
from specviz.engine.protocol import Proposal
from specviz.verification import Cut, Drawn
from specviz.verification.tree import DraftTree

pytestmark = pytest.mark.slow
COUNTED = "tokens follow the target's distribution"  # counts the outcomes of hundreds of runs
# Families that sample no guess; Lookahead does not either, but its rounds depend on earlier ones.
FIXED = {
    "eagle2", "eagle3", "medusa", "blockwise", "mtp-parallel", "lmtp", "moa", "dflash", "jetspec",
    "p-eagle", "ngram", "suffix",
}  # fmt: skip
# Checks for which one of the settings must draft two tokens deep.
DEEP = ("a draft is no deeper than allowed", "nothing follows an end token")


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("family", CASES)
def test_every_drafter_family_passes_every_contract_check(family, whole):
    """By default, the checks of whole runs get all shapes; the others take one or two, in turn.

    Tokens are counted by default if the family samples its guesses: whatever other families guess,
    the rule treats it in the same way.
    """
    case = CASES[family] if whole else replace(CASES[family], runs=120)
    for at, check in enumerate(CHECKS):
        if check == COUNTED and not whole and family in FIXED:
            continue
        many = len(case.shapes) if whole or at < 3 else 2 if check in DEEP else 1
        shapes = dict.fromkeys((at + n) % len(case.shapes) for n in range(many))
        check_drafter(replace(case, shapes=[case.shapes[turn] for turn in shapes]), [check])


@pytest.mark.parametrize("family", WRONG)
def test_drafters_with_bad_guesses_are_still_lossless(family):
    case = replace(WRONG[family], shapes=WRONG[family].shapes[:2])
    check_drafter(case, ["greedy output equals `generate`", "sampled runs replay"])


SIBLINGS = Case(
    tiny.target, lambda target: Branching(Drawn.SAMPLED, (-1, 0, 0, 1)), ["The cat"], runs=150
)


@pytest.mark.parametrize(
    "case",
    [replace(CASES["draft-model"], shapes=[SURE], runs=150), SIBLINGS],
    ids=["draft cut by confidence", "siblings sampled independently"],
)
def test_tokens_follow_the_target_in_cases_that_no_family_covers(case):
    run_check(COUNTED, case)


def test_every_catalogue_drafter_is_checked():
    """Drafters are identified by their code: rows that differ only in weights count as one."""
    drafters = [entry for entry in entries() if entry.kind == "drafter"]
    tried = {entry.drafter for entry in drafters if entry.name in CASES}
    assert set(CASES) - {OTHER} <= {entry.name for entry in drafters}
    assert {entry.drafter for entry in drafters} == tried


class BrokenDrafter:
    """A correct drafter whose sessions are broken by subclasses."""

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


class ChangesTargetCache(BrokenDrafter):
    def propose(self, context, room, chance):
        with torch.inference_mode():
            self.run.cache.layers[0].keys.mul_(-1)
        return super().propose(context, room, chance)


class UsesOtherRandomNumbers(BrokenDrafter):
    tosses = count()

    def propose(self, context, room, chance):
        return super().propose(context, room, replace(chance, seed=next(self.tosses)))


class ReportsWrongDistribution(BrokenDrafter):
    """A drafter that reports q as if sampled, but takes q's top token."""

    def propose(self, context, room, chance):
        proposal = super().propose(context, min(room, 2), chance)
        if not proposal.q:
            return proposal
        top = [int(proposal.q[0].argmax())] * len(proposal.tree.children[0])
        return replace(proposal, tree=DraftTree((context[-1], *top), (-1,) + (0,) * len(top)))


class DropsUnlikelyGuesses(BrokenDrafter):
    """A drafter that ends a draft before a guess with a low q without declaring it."""

    def propose(self, context, room, chance):
        proposal = super().propose(context, room, chance)
        tree, q = proposal.tree, proposal.q
        improbable = (
            node
            for node in range(1, len(tree))
            if q and q[tree.parents[node]][tree.tokens[node]] < 0.2
        )
        kept = next(improbable, len(tree))
        tree = DraftTree(tree.tokens[:kept], tree.parents[:kept])
        inner = {node for node, children in enumerate(tree.children) if children}
        return replace(
            proposal,
            tree=tree,
            q={node: probs for node, probs in q.items() if node in inner},
            draws={node: draw for node, draw in proposal.draws.items() if node < kept},
            score={node: score for node, score in proposal.score.items() if node < kept},
        )


class AnnouncesTheCut(DropsUnlikelyGuesses):
    """The same drafter with the declaration that it cuts drafts after sampling."""

    cut = Cut.AFTER_SAMPLING

    def __init__(self, drafter):
        super().__init__(drafter)
        self.card = replace(self.card, family="trimmed")  # built-in families never do this

    def propose(self, context, room, chance):
        return replace(super().propose(context, room, chance), cut=self.cut)


class DraftsWithoutRemainingTokens(BrokenDrafter):
    def propose(self, context, room, chance):
        return super().propose(context, max(room, 2), chance)


class ExceedsTokenLimit(BrokenDrafter):
    def propose(self, context, room, chance):
        return super().propose(context, room + 1, chance)


class DraftsPastEndOfText(BrokenDrafter):
    def begin(self, target, settings):
        session = super().begin(target, settings)
        session.session.target = copy(session.session.target)
        session.session.target.eos = ()
        return session


class RemovesTargetEndTokens(BrokenDrafter):
    def begin(self, target, settings):
        target.target.eos = ()
        return super().begin(target, settings)


class SharesOneSession(BrokenDrafter):
    def begin(self, target, settings):
        if not hasattr(self, "only"):
            self.only = self.drafter.begin(target, settings)
        return self.only


class DraftsLessOverTime(BrokenDrafter):
    def commit(self, tokens, states, extra_rows=None):
        super().commit(tokens, states, extra_rows)
        self.commits += 1

    def propose(self, context, room, chance):
        return super().propose(context, room if self.commits < 3 else 1, chance)


class HidesErrors(BrokenDrafter):
    def propose(self, context, room, chance):
        try:
            return super().propose(context, room, chance)
        except ValueError:
            return nothing(context, self.drawn)

    def commit(self, tokens, states, extra_rows=None):
        with suppress(ValueError):
            super().commit(tokens, states, extra_rows)


# By check: the drafter that breaks it, and the family that it wraps.
MUTANTS = {
    "greedy output equals `generate`": (ChangesTargetCache, "ngram"),
    "sampled runs replay": (UsesOtherRandomNumbers, "draft-model"),
    "tokens follow the target's distribution": (ReportsWrongDistribution, "draft-model"),
    "a sampled guess does not decide whether it is proposed": (DropsUnlikelyGuesses, "draft-model"),
    "a run stops at its limit": (DraftsWithoutRemainingTokens, "draft-model"),
    "a draft is no deeper than allowed": (ExceedsTokenLimit, "eagle"),
    "nothing follows an end token": (DraftsPastEndOfText, "ngram"),
    "a text ends at its first end token": (RemovesTargetEndTokens, "medusa"),
    "sessions are independent": (SharesOneSession, "medusa"),
    "a fresh session proposes the same": (DraftsLessOverTime, "ngram"),
    "NaN weights raise BadScores": (HidesErrors, "medusa"),
    "missing states raise ValueError": (HidesErrors, "eagle"),
}


@pytest.mark.parametrize("check", CHECKS)
def test_every_contract_check_detects_its_violation(check):
    mutant, family = MUTANTS[check]
    case = CASES[family]
    with pytest.raises(ContractBroken, match="Broken: " + check):
        run_check(check, replace(case, drafter=lambda target: mutant(case.drafter(target))))


@pytest.mark.parametrize("family", sorted({family for _, family in MUTANTS.values()}))
def test_wrapper_used_to_build_faulty_drafters_breaks_no_contract_itself(family):
    case = CASES[family]
    checks = [check for check, (_, own) in MUTANTS.items() if own == family and check != COUNTED]
    case = replace(case, shapes=case.shapes[:1])
    wrapped = replace(case, drafter=lambda target: BrokenDrafter(case.drafter(target)))
    check_drafter(wrapped, checks)


def test_draft_cut_after_sampling_keeps_the_distribution_only_if_it_is_declared():
    """The engine then tests the guesses without q, which is exact for every draft."""
    case = replace(CASES["draft-model"], shapes=CASES["draft-model"].shapes[:1])
    silent, declared = (
        replace(case, drafter=lambda target, cut=cut: cut(case.drafter(target)))
        for cut in (DropsUnlikelyGuesses, AnnouncesTheCut)
    )
    with pytest.raises(ContractBroken, match="do not follow the target"):
        run_check(COUNTED, silent)
    check_drafter(declared)


def test_check_drafter_names_first_failed_check():
    quick = [check for check in CHECKS if check != COUNTED]
    broken = replace(CASES["ngram"], drafter=lambda target: DraftsPastEndOfText(NGram()))
    with pytest.raises(ContractBroken, match="Broken: nothing follows an end token"):
        check_drafter(broken, quick)
