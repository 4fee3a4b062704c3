"""Check drafts against the settings: depth, siblings, budget, confidence, and recorded data.

The guarantees of the engine are checked for every drafter. Whether a drafter follows the settings
is checked only for the built-in families.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from specviz.settings.settings import Settings, max_gamma
from specviz.settings.specs import MAX_GUESSES
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
    DraftLimits,
    check_complete,
)
from specviz.trace.events import Guess, Proposed, Round
from specviz.trace.metrics import accepted_path


class GammaReplay:
    """Recomputes γ of every round, as `engine.loop` does."""

    def __init__(self, settings: Settings) -> None:
        self.gamma = settings.gamma
        self._learns = settings.schedule == "learning"
        self._most = max_gamma(settings.siblings) if self._learns else settings.gamma

    def observe(self, played: Round) -> None:
        """Update γ after a round: 2 more if every guess was accepted, otherwise 1 less."""
        drafted = max(played.proposed.depths, default=0) if played.proposed else 0
        if self._learns and drafted:
            step = 2 if len(accepted_path(played)) == drafted else -1
            self.gamma = min(self._most, max(1, self.gamma + step))


def check_tree(proposed: Proposed, eos: frozenset[int], size: int, where: str) -> None:
    """Check what holds for every tree of guesses; `size` is the vocabulary size."""
    guesses = proposed.guesses
    few = len(guesses) <= MAX_GUESSES
    expect(few, where, f"it has {len(guesses)} guesses, but a draft has at most {MAX_GUESSES}")
    for node, guess in enumerate(guesses, 1):
        here = f"{where}, node {node}"
        expect(0 <= guess.parent < node, here, "its parent does not come before it")
        expect(0 <= guess.token < size, here, "its token is outside the vocabulary")
        ended = guess.parent > 0 and guesses[guess.parent - 1].token in eos
        expect(not ended, here, "it comes after the end of the text")


def check_depth(proposed: Proposed, most: int, where: str) -> None:
    """Check that no guess is deeper than γ and the remaining tokens allow."""
    depth = max(proposed.depths, default=0)
    expect(depth <= most, where, f"guesses are {depth} deep, but γ and the limit allow {most}")


def check_drafting(
    proposed: Proposed, family: str, settings: Settings, limits: DraftLimits, where: str
) -> None:
    """Check that a built-in drafter followed its settings. Raises CheckFailed if not."""
    if family not in BUILT_IN:
        return
    check_kind(proposed, family, settings, where)
    scores = (guess.score for guess in proposed.guesses if guess.score is not None)
    expect_probabilities(scores, where, "the list of scores")
    check_shape(proposed, family, settings, where)
    if family in GROWING:
        check_confidence(proposed.guesses, settings.confidence, where)
    if family in SAMPLING:
        check_complete(proposed, family, settings, limits, where)


def check_distinct(proposed: Proposed, where: str) -> None:
    """Check that siblings are different tokens, unless they were sampled independently."""
    if proposed.drawn == "sampled":
        return
    pairs = Counter((guess.parent, guess.token) for guess in proposed.guesses)
    expect(max(pairs.values(), default=1) == 1, where, "siblings have the same token")


def check_shape(proposed: Proposed, family: str, settings: Settings, where: str) -> None:
    """Check that no node has more children than its drafter's settings allow."""
    children_of = Counter(guess.parent for guess in proposed.guesses)
    widest, total = max(children_of.values(), default=0), len(proposed.guesses)
    if family in CHAINS:
        expect(widest <= 1, where, f"{family} proposes a chain, but this is a tree")
    if family in SAMPLING or family == SUFFIX:
        check_widths(proposed, settings, children_of, where)
    if family in DYNAMIC:
        budget, fan_out = settings.budget, settings.fan_out
        expect(total <= budget, where, f"{total} guesses exceed the budget of {budget}")
        problem = f"{widest} guesses after a node exceed the fan-out of {fan_out}"
        expect(widest <= fan_out, where, problem)
    if family in RANKED:
        check_paths(proposed, settings, children_of, where)


def check_kind(proposed: Proposed, family: str, settings: Settings, where: str) -> None:
    """Check that guesses were sampled in the way that follows from the settings."""
    expected = "point-mass"
    samples = settings.candidates == "sampled" and not settings.sampling.greedy
    if samples and family in SAMPLING | IN_ORDER:
        branches = settings.branches and family not in CHAINS
        expected = "without-replacement" if branches else "sampled"
    problem = f"its guesses are {proposed.drawn}, but by the settings they should be {expected}"
    expect(proposed.drawn == expected, where, problem)
    expect(proposed.cut is None, where, f"a draft of {family} is not cut by its own guesses")


def check_widths(
    proposed: Proposed, settings: Settings, children_of: Mapping[int, int], where: str
) -> None:
    """Check that no node has more children than the settings allow at its depth."""
    depths = [0, *proposed.depths]
    for node, number in children_of.items():
        most = settings.width(depths[node])
        problem = f"{number} guesses come after node {node}, but the siblings allow {most}"
        expect(number <= most, where, problem)


def check_paths(
    proposed: Proposed, settings: Settings, children_of: Mapping[int, int], where: str
) -> None:
    """Check that the tree consists of exactly the rank paths that the settings define."""
    chosen = {tuple(each) for each in settings.rank_paths}
    if not chosen:
        check_widths(proposed, settings, children_of, where)
    for node, guess in enumerate(proposed.guesses, 1):
        ranks = (guess.evidence or {}).get("path")
        if not isinstance(ranks, list):
            continue
        inside = all(rank < settings.width(depth) for depth, rank in enumerate(ranks))
        allowed = tuple(ranks) in chosen if chosen else inside
        expect(allowed, where, f"node {node} is rank path {ranks!r:.40}, which was not chosen")
    total = len(proposed.guesses)
    problem = f"{total} guesses exceed the {len(chosen)} rank paths"
    expect(not chosen or total <= len(chosen), where, problem)


def check_confidence(guesses: Sequence[Guess], confidence: float, where: str) -> None:
    """Check that there is no guess under a guess whose score is below the confidence limit."""
    for guess in guesses:
        above = guesses[guess.parent - 1].score if guess.parent else None
        sure = above is None or above >= confidence - TOLERANCE
        problem = f"a guess follows one with score {above!r}, below the confidence {confidence!r}"
        expect(sure, where, problem)
