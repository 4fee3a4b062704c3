"""What a drafter remarked on its try, as far as settings, text and guesses tell it again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from specviz.settings.settings import Settings
from specviz.trace.check.expectations import TOLERANCE, expect, expect_close
from specviz.trace.check.families import DYNAMIC
from specviz.trace.check.full import ranks
from specviz.trace.events import Guess, Proposed

# By the remark's form: which of its entries is which setting.
SETTINGS: Final = {
    "match": {"min": "ngram_min", "max": "ngram_max"},
    "counts": {"factor": "suffix_factor", "least": "suffix_least"},
    "layers": {"exit": "exit_layer"},
}


def check_remark(proposed: Proposed, family: str, settings: Settings, where: str) -> None:
    """Entries that repeat a setting are that setting; a dynamic tree keeps the best it weighed."""
    remark = proposed.remark or {}
    form = remark.get("form")
    for entry, name in SETTINGS.get(form, {}).items() if isinstance(form, str) else ():
        found, follows = remark.get(entry), getattr(settings, name)
        expect(found == follows, where, f"its {name} is {found!r:.40}, not {follows!r:.40}")
    if family in DYNAMIC and "weighed" in remark:
        many = len(proposed.guesses)
        follows = min(settings.budget, read_count(remark, "weighed", where))
        expect(many == follows, where, f"{many} guesses were kept, but {follows} follow")
        expect(remark.get("kept", many) == many, where, "its remark has another number of guesses")
        check_weighed(proposed, where)
    if family == "eagle":
        check_ranks(proposed, where)


def check_weighed(proposed: Proposed, where: str) -> None:
    """By guess of a dynamic tree, the probability of its whole path, and its place by that."""
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
    expect(falling and distinct, where, "places do not follow from the paths' probabilities")


def check_ranks(proposed: Proposed, where: str) -> None:
    """A guess's rank is its place among its siblings; of guessed features there are its depth."""
    for node, (guess, depth) in enumerate(zip(proposed.guesses, proposed.depths, strict=True), 1):
        evidence, rank = guess.evidence or {}, ranks(proposed.guesses, node)[0]
        follows = {"rank": rank, "guessed_features": depth - 1}
        same = all(evidence.get(name, value) == value for name, value in follows.items())
        expect(same, f"{where}, node {node}", f"its evidence is not {follows}")


def check_ngram(proposed: Proposed, settings: Settings, text: Sequence[int], where: str) -> None:
    """The guesses are what followed the match, which is the text's own end.

    text: all before the round, its newest token last.
    """
    remark = proposed.remark or {}
    if "start" not in remark:
        return
    start, length = (read_count(remark, name, where) for name in ("start", "length"))
    fits = settings.ngram_min <= length <= settings.ngram_max
    expect(fits, where, f"its match has {length} tokens, which the settings do not allow")
    end = start + length
    same = list(text[start:end]) == list(text[-length:]) and end < len(text)
    expect(same, where, "its match is not the text's own end")
    follows = list(text[end : end + len(proposed.guesses)])
    found = [guess.token for guess in proposed.guesses]
    expect(found == follows, where, "its guesses are not what followed the match")
    check_copies(proposed, text, where)


def check_copies(proposed: Proposed, text: Sequence[int], where: str) -> None:
    """A guess that was copied from the text stands where its evidence says."""
    for node, guess in enumerate(proposed.guesses, 1):
        evidence = guess.evidence or {}
        if "from" in evidence:
            at = read_count(evidence, "from", where)
            there = at < len(text) and text[at] == guess.token
            expect(there, f"{where}, node {node}", f"token {at} of the text is another")


def check_suffix(proposed: Proposed, settings: Settings, text: Sequence[int], where: str) -> None:
    """No guess is deeper than the factor, or less likely than the least chance, allows."""
    remark, depths = proposed.remark or {}, proposed.depths
    if "length" in remark:
        most = int(settings.suffix_factor * read_count(remark, "length", where) + TOLERANCE)
        depth = max(depths, default=0)
        expect(depth <= most, where, f"guesses are {depth} deep, and the factor allows {most}")
        start, length = (read_count(remark, name, where) for name in ("start", "length"))
        same = list(text[start : start + length]) == list(text[len(text) - length :])
        expect(same, where, "what it follows is not the text's own end")
    check_copies(proposed, text, where)
    reached = [1.0]
    for node, guess in enumerate(proposed.guesses, 1):
        reached.append(reached[guess.parent] * (1.0 if guess.score is None else guess.score))
        likely = reached[node] >= settings.suffix_least - TOLERANCE
        expect(likely, f"{where}, node {node}", "its counts lie below the least chance")
        check_count(guess, f"{where}, node {node}")


def check_count(guess: Guess, where: str) -> None:
    """A guess's score is its count over that of all tokens seen there."""
    evidence = guess.evidence or {}
    if "count" in evidence and "total" in evidence:
        total = read_count(evidence, "total", where)
        expect(total > 0, where, "its total is no count")
        score = math.nan if guess.score is None else guess.score
        expect_close(score, read_count(evidence, "count", where) / total, where, "its score")


def check_lookahead(
    proposed: Proposed, settings: Settings, text: Sequence[int], where: str
) -> None:
    """No more n-grams than the settings try, none longer, and a window of their size."""
    remark = proposed.remark or {}
    verified = remark.get("rows_verified", len(proposed.guesses))
    expect(verified == len(proposed.guesses), where, "its remark has another number of guesses")
    above = {guess.parent for guess in proposed.guesses}
    leaves = sum(node not in above for node in range(1, len(proposed.guesses) + 1))
    most = settings.lookahead_guesses
    expect(leaves <= most, where, f"{leaves} n-grams, and the settings try {most}")
    depth, longest = max(proposed.depths, default=0), settings.lookahead_ngram - 1
    expect(depth <= longest, where, f"guesses are {depth} deep; n-grams allow {longest}")
    window = remark.get("window")
    if not isinstance(window, list):
        return
    sizes = list(map(len, window))
    expect(remark.get("rows_window") == sum(sizes), where, "its window has another number of rows")
    levels = len(sizes)
    columns = settings.lookahead_window + settings.lookahead_ngram - 1 - levels
    full = levels < settings.lookahead_ngram and sizes[:1] == [columns - 1]
    fits = not sizes or (full and sizes[1:] == [columns] * (levels - 1))
    expect(fits, where, "its window has another size than the settings give it")


def read_count(entries: dict[str, Any], name: str, where: str) -> int:
    """A whole number from 0 on among free entries. Raises CheckFailed where it is none."""
    found = entries.get(name)
    if type(found) is not int or found < 0:
        expect(False, where, f"its {name!r} is {found!r:.40}, no count")
        return 0
    return found
