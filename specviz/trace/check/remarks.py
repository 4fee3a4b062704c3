"""Check a proposal's remark and evidence against the settings, the text and the guesses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from specviz.settings.settings import Settings
from specviz.trace.check.expectations import TOLERANCE, expect, expect_close
from specviz.trace.check.families import DYNAMIC, ranks
from specviz.trace.events import Guess, Proposed

# For each form of remark, the setting that each entry repeats.
SETTINGS: Final = {
    "match": {"min": "ngram_min", "max": "ngram_max"},
    "counts": {"factor": "suffix_factor", "least": "suffix_least"},
    "layers": {"exit": "exit_layer"},
}


def check_remark(proposed: Proposed, family: str, settings: Settings, where: str) -> None:
    """Check entries that repeat a setting, and that a dynamic tree has its best guesses."""
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
    """Check each guess's path probability in a dynamic tree, and its place in that order."""
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
    """Check each guess's rank among its siblings and its number of guessed features."""
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
    """Check that a guess copied from the text is at the position that its evidence gives."""
    for node, guess in enumerate(proposed.guesses, 1):
        evidence = guess.evidence or {}
        if "from" in evidence:
            at = read_count(evidence, "from", where)
            same = at < len(text) and text[at] == guess.token
            expect(same, f"{where}, node {node}", f"token {at} of the text is not its token")


def check_suffix(proposed: Proposed, settings: Settings, text: Sequence[int], where: str) -> None:
    """Check each guess's depth against the factor, and its probability against the least."""
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
    """Check that a guess's score is its count divided by the count of all tokens seen there."""
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
    """Read a whole number of at least 0 from free-form entries. Raises CheckFailed."""
    found = entries.get(name)
    if type(found) is not int or found < 0:
        expect(False, where, f"its {name!r} is {found!r:.40}, which is not a count")
        return 0
    return found
