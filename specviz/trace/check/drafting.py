"""Check drafts against the settings: depth, siblings, budget, confidence, and recorded data.

The guarantees of the engine are checked for every drafter. Whether a drafter follows the settings
is checked only for the built-in families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from specviz.settings.settings import max_gamma
from specviz.settings.specs import MAX_GUESSES
from specviz.trace.check.checked_round import CheckedRound, Draft, RunMemory
from specviz.trace.check.expectations import TOLERANCE, expect, expect_probabilities
from specviz.trace.check.families import (
    BUILT_IN,
    CHAINS,
    DYNAMIC,
    GROWING,
    IN_ORDER,
    RANKED,
    SAMPLING,
    SUFFIX,
    check_complete,
)
from specviz.trace.check.header import RunSpec
from specviz.trace.metrics import accepted_path


class DraftReplay:
    """Follows the drafts of one run: γ, as `engine.loop` sets it, and the draft before."""

    def __init__(self, plan: RunSpec) -> None:
        settings = plan.settings
        self._gamma = settings.gamma
        self._learns = settings.schedule == "learning"
        self._most = max_gamma(settings.siblings) if self._learns else settings.gamma
        self._before: Draft | None = None
        self._accepted: Sequence[int] = ()
        self._memory = RunMemory()

    def begin(self, checked: CheckedRound) -> Draft | None:
        """Return a round's draft, or None if it has none; check what holds for every draft."""
        proposed, header, plan = checked.played.proposed, checked.header, checked.plan
        if proposed is None:
            return None
        length = len(checked.text)
        left = plan.settings.max_new_tokens - (length - len(header.prompt_ids))
        expect(left > 0, checked.where, "it has more tokens than the limit allows")
        known = checked.family in BUILT_IN  # otherwise, a draft is limited only by γ
        draft = Draft(
            checked.played,
            checked.text,
            plan,
            header,
            proposed,
            length,
            min(self._gamma, left - 1) if known else self._gamma,
            self._before,
            self._accepted,
            self._memory,
        )
        check_tree(draft)
        if known:
            check_distinct(draft)
        return draft

    def end(self, draft: Draft) -> None:
        """Note which guesses were accepted. γ grows by 2 if all were, otherwise shrinks by 1."""
        self._before, self._accepted = draft, accepted_path(draft.played)
        if self._learns and draft.deepest:
            step = 2 if len(self._accepted) == draft.deepest else -1
            self._gamma = min(self._most, max(1, self._gamma + step))


def check_tree(draft: Draft) -> None:
    """Check what holds for every tree of guesses: its size, order and depth."""
    guesses, where = draft.guesses, draft.where
    few = len(guesses) <= MAX_GUESSES
    expect(few, where, f"it has {len(guesses)} guesses, but a draft has at most {MAX_GUESSES}")
    for node, guess in enumerate(guesses, 1):
        here = draft.node(node)
        expect(0 <= guess.parent < node, here, "its parent does not come before it")
        expect(0 <= guess.token < draft.size, here, "its token is outside the vocabulary")
        ended = guess.parent > 0 and guesses[guess.parent - 1].token in draft.eos
        expect(not ended, here, "it comes after the end of the text")
    problem = f"guesses are {draft.deepest} deep, but γ and the limit allow {draft.depth}"
    expect(draft.deepest <= draft.depth, where, problem)


def check_distinct(draft: Draft) -> None:
    """Check that siblings are different tokens, unless they were sampled independently."""
    if draft.drawn == "sampled":
        return
    pairs = Counter((guess.parent, guess.token) for guess in draft.guesses)
    expect(max(pairs.values(), default=1) == 1, draft.where, "siblings have the same token")


def check_drafting(draft: Draft) -> None:
    """Check that a built-in drafter followed its settings. Raises CheckFailed if not."""
    if draft.family not in BUILT_IN:
        return
    check_kind(draft)
    scores = (guess.score for guess in draft.guesses if guess.score is not None)
    expect_probabilities(scores, draft.where, "the list of scores")
    check_shape(draft)
    if draft.family in GROWING:
        check_confidence(draft)
    if draft.family in SAMPLING:
        check_complete(draft)


def check_shape(draft: Draft) -> None:
    """Check that no node has more children than its drafter's settings allow."""
    family, settings, where = draft.family, draft.settings, draft.where
    children_of = Counter(guess.parent for guess in draft.guesses)
    widest, total = max(children_of.values(), default=0), len(draft.guesses)
    if family in CHAINS:
        expect(widest <= 1, where, f"{family} proposes a chain, but this is a tree")
    if family in SAMPLING or family == SUFFIX:
        check_widths(draft, children_of)
    if family in DYNAMIC:
        budget, fan_out = settings.budget, settings.fan_out
        expect(total <= budget, where, f"{total} guesses exceed the budget of {budget}")
        problem = f"{widest} guesses after a node exceed the fan-out of {fan_out}"
        expect(widest <= fan_out, where, problem)
    if family in RANKED:
        check_paths(draft, children_of)


def check_kind(draft: Draft) -> None:
    """Check that guesses were sampled in the way that follows from the settings."""
    family, settings, where = draft.family, draft.settings, draft.where
    expected = "point-mass"
    samples = settings.candidates == "sampled" and not settings.sampling.greedy
    if samples and family in SAMPLING | IN_ORDER:
        branches = settings.branches and family not in CHAINS
        expected = "without-replacement" if branches else "sampled"
    problem = f"its guesses are {draft.drawn}, but by the settings they should be {expected}"
    expect(draft.drawn == expected, where, problem)
    expect(draft.proposed.cut is None, where, f"a draft of {family} is not cut by its own guesses")


def check_widths(draft: Draft, children_of: Mapping[int, int]) -> None:
    """Check that no node has more children than the settings allow at its depth."""
    depths = [0, *draft.depths]
    for node, number in children_of.items():
        most = draft.settings.width(depths[node])
        problem = f"{number} guesses come after node {node}, but the siblings allow {most}"
        expect(number <= most, draft.where, problem)


def check_paths(draft: Draft, children_of: Mapping[int, int]) -> None:
    """Check that the tree consists of exactly the rank paths that the settings define."""
    settings, where = draft.settings, draft.where
    chosen = {tuple(each) for each in settings.rank_paths}
    if not chosen:
        check_widths(draft, children_of)
    for node, guess in enumerate(draft.guesses, 1):
        ranks = (guess.evidence or {}).get("path")
        if not isinstance(ranks, list):
            continue
        inside = all(rank < settings.width(depth) for depth, rank in enumerate(ranks))
        allowed = tuple(ranks) in chosen if chosen else inside
        expect(allowed, where, f"node {node} is rank path {ranks!r:.40}, which was not chosen")
    total = len(draft.guesses)
    problem = f"{total} guesses exceed the {len(chosen)} rank paths"
    expect(not chosen or total <= len(chosen), where, problem)


def check_confidence(draft: Draft) -> None:
    """Check that there is no guess under a guess whose score is below the confidence limit."""
    confidence = draft.settings.confidence
    for guess in draft.guesses:
        above = draft.guesses[guess.parent - 1].score if guess.parent else None
        sure = above is None or above >= confidence - TOLERANCE
        problem = f"a guess follows one with score {above!r}, below the confidence {confidence!r}"
        expect(sure, draft.where, problem)
