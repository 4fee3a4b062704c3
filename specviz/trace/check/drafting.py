"""Check drafts against the settings: depth, siblings, budget, confidence, and recorded data.

The guarantees of the engine are checked for every drafter. Whether a drafter follows the settings
is checked only for the built-in families.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from specviz.settings.settings import Settings, max_gamma
from specviz.settings.specs import MAX_GUESSES
from specviz.trace.check.expectations import TOLERANCE, expect, expect_close, expect_probabilities
from specviz.trace.check.families import (
    BUILT_IN,
    CHAINS,
    DSPARK,
    DYNAMIC,
    GROWING,
    LOOKAHEAD,
    NGRAM,
    RANKED,
    SAMPLING,
    SUFFIX,
    DraftLimits,
    check_block,
    check_complete,
    ranks,
)
from specviz.trace.events import Guess, Proposed, Round
from specviz.trace.metrics import accepted_path

# The setting that each entry of the proposal's data repeats, for each form of data.
SETTINGS: Final = {
    "match": {"min": "ngram_min", "max": "ngram_max"},
    "counts": {"factor": "suffix_factor", "least": "suffix_least"},
    "layers": {"exit": "exit_layer"},
}


def check_remark(proposed: Proposed, family: str, settings: Settings, where: str) -> None:
    """Check that recorded settings are the run's, and that a dynamic tree has its best guesses."""
    remark = proposed.remark or {}
    form = remark.get("form")
    for entry, name in SETTINGS.get(form, {}).items() if isinstance(form, str) else ():
        found, expected = remark.get(entry), getattr(settings, name)
        expect(found == expected, where, f"its {name} is {found!r:.40}, not {expected!r:.40}")
    if family in DYNAMIC and "weighed" in remark:
        total = len(proposed.guesses)
        expected = min(settings.budget, read_count(remark, "weighed", where))
        expect(total == expected, where, f"it has {total} guesses but should have {expected}")
        same = remark.get("kept", total) == total
        expect(same, where, "its remark gives another number of guesses")
        check_weighed(proposed, where)
    if family == "eagle":
        check_ranks(proposed, where)


def check_weighed(proposed: Proposed, where: str) -> None:
    """Check each guess's path probability in a dynamic tree, and its rank by that probability."""
    reached, places = [1.0], []
    for node, guess in enumerate(proposed.guesses, 1):
        evidence = guess.evidence or {}
        reached.append(reached[guess.parent] * (1.0 if guess.score is None else guess.score))
        if "path" in evidence:
            place = f"{where}, node {node}"
            expect_close(evidence["path"], reached[node], place, "the probability of its path")
            places.append((read_count(evidence, "place", place), -evidence["path"]))
    ordered = sorted(places)
    falling = all(one <= other + TOLERANCE for (_, one), (_, other) in pairwise(ordered))
    distinct = [place for place, _ in ordered] == list(range(1, len(ordered) + 1))
    expect(falling and distinct, where, "the places do not match the paths' probabilities")


def check_ranks(proposed: Proposed, where: str) -> None:
    """Check each guess's rank among its siblings and its number of predicted features."""
    for node, (guess, depth) in enumerate(zip(proposed.guesses, proposed.depths, strict=True), 1):
        evidence, rank = guess.evidence or {}, ranks(proposed.guesses, node)[0]
        expected = {"rank": rank, "guessed_features": depth - 1}
        same = all(evidence.get(name, value) == value for name, value in expected.items())
        expect(same, f"{where}, node {node}", f"its evidence is not {expected}")


def check_ngram(proposed: Proposed, settings: Settings, text: Sequence[int], where: str) -> None:
    """Check that the match equals the end of the text, and that the guesses followed it.

    Args:
        proposed: The proposal.
        settings: The run's settings.
        text: All tokens before the round, the newest last.
        where: The round, for messages.
    """
    remark = proposed.remark or {}
    if "start" not in remark:
        return
    start, length = (read_count(remark, name, where) for name in ("start", "length"))
    fits = settings.ngram_min <= length <= settings.ngram_max
    expect(fits, where, f"the settings do not allow its match of {length} tokens")
    end = start + length
    same = list(text[start:end]) == list(text[-length:]) and end < len(text)
    expect(same, where, "its match is not the end of the text")
    expected = list(text[end : end + len(proposed.guesses)])
    found = [guess.token for guess in proposed.guesses]
    expect(found == expected, where, "its guesses are not what followed the match")
    check_copies(proposed, text, where)


def check_copies(proposed: Proposed, text: Sequence[int], where: str) -> None:
    """Check that a copied guess equals the token at the position that it was copied from."""
    for node, guess in enumerate(proposed.guesses, 1):
        evidence = guess.evidence or {}
        if "from" in evidence:
            at = read_count(evidence, "from", where)
            same = at < len(text) and text[at] == guess.token
            expect(same, f"{where}, node {node}", f"token {at} of the text is not its token")


def check_suffix(proposed: Proposed, settings: Settings, text: Sequence[int], where: str) -> None:
    """Check the depth of the draft against `factor`, and each probability against `least`."""
    remark, depths = proposed.remark or {}, proposed.depths
    if "length" in remark:
        most = int(settings.suffix_factor * read_count(remark, "length", where) + TOLERANCE)
        depth = max(depths, default=0)
        expect(depth <= most, where, f"guesses are {depth} deep, but the factor allows {most}")
        start, length = (read_count(remark, name, where) for name in ("start", "length"))
        same = list(text[start : start + length]) == list(text[len(text) - length :])
        expect(same, where, "its match is not the end of the text")
    check_copies(proposed, text, where)
    reached = [1.0]
    for node, guess in enumerate(proposed.guesses, 1):
        reached.append(reached[guess.parent] * (1.0 if guess.score is None else guess.score))
        likely = reached[node] >= settings.suffix_least - TOLERANCE
        problem = "its counts give less than the least probability"
        expect(likely, f"{where}, node {node}", problem)
        check_count(guess, f"{where}, node {node}")


def check_count(guess: Guess, where: str) -> None:
    """Check that a guess's score is its count divided by the count of all tokens that followed."""
    evidence = guess.evidence or {}
    if "count" in evidence and "total" in evidence:
        total = read_count(evidence, "total", where)
        expect(total > 0, where, "its total is not above 0")
        score = math.nan if guess.score is None else guess.score
        expect_close(score, read_count(evidence, "count", where) / total, where, "its score")


def check_lookahead(
    proposed: Proposed, settings: Settings, text: Sequence[int], where: str
) -> None:
    """Check the number and length of the n-grams, and the size of the window."""
    remark = proposed.remark or {}
    verified = remark.get("rows_verified", len(proposed.guesses))
    expect(verified == len(proposed.guesses), where, "its remark gives another number of guesses")
    above = {guess.parent for guess in proposed.guesses}
    leaves = sum(node not in above for node in range(1, len(proposed.guesses) + 1))
    most = settings.lookahead_guesses
    expect(leaves <= most, where, f"it has {leaves} n-grams, but the settings allow {most}")
    depth, longest = max(proposed.depths, default=0), settings.lookahead_ngram - 1
    expect(depth <= longest, where, f"guesses are {depth} deep, but the n-grams allow {longest}")
    window = remark.get("window")
    if not isinstance(window, list):
        return
    sizes = list(map(len, window))
    same = remark.get("rows_window") == sum(sizes)
    expect(same, where, "its remark gives another number of rows in the window")
    levels = len(sizes)
    columns = settings.lookahead_window + settings.lookahead_ngram - 1 - levels
    full = levels < settings.lookahead_ngram and sizes[:1] == [columns - 1]
    fits = not sizes or (full and sizes[1:] == [columns] * (levels - 1))
    expect(fits, where, "its window does not have the size that the settings give")


def read_count(entries: dict[str, Any], name: str, where: str) -> int:
    """Read a whole number, at least 0, from recorded entries of any form."""
    found = entries.get(name)
    if type(found) is not int or found < 0:
        expect(False, where, f"its {name!r} is {found!r:.40}, which is not a count")
        return 0
    return found


class GammaReplay:
    """Recomputes γ of every round, as `engine.loop` does.

    Attributes:
        gamma: γ of the next round.
    """

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
    """Check that a built-in drafter followed its settings.

    Raises:
        CheckFailed: If not.
    """
    if family not in BUILT_IN:
        return
    check_kind(proposed, family, settings, where)
    scores = (guess.score for guess in proposed.guesses if guess.score is not None)
    expect_probabilities(scores, where, "the list of scores")
    check_shape(proposed, family, settings, where)
    check_remark(proposed, family, settings, where)
    if family in GROWING:
        check_confidence(proposed.guesses, settings.confidence, where)
    if family in SAMPLING:
        check_complete(proposed, family, settings, limits, where)
    if family == DSPARK:
        check_block(proposed, settings, limits, where)
    check = COPYING_CHECKS.get(family)
    if check is not None:
        check(proposed, settings, limits.text, where)


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
    if samples and family in SAMPLING | {DSPARK}:
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


Copying = Callable[[Proposed, Settings, Sequence[int], str], None]
COPYING_CHECKS: Mapping[str, Copying] = {
    NGRAM: check_ngram,
    SUFFIX: check_suffix,
    LOOKAHEAD: check_lookahead,
}
