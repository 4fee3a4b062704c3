"""Guesses that stood in the text before: an n-gram's match, and a suffix tree's counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from specviz.frames.evidence.forms import (
    GAP,
    Block,
    Part,
    Remark,
    at,
    evidence,
    guessed,
    main_path,
    marked_line,
    number,
    rows,
    span,
    text_place,
    visible,
    window,
    words,
)
from specviz.frames.scene import Scene, Step
from specviz.texts import count

NEAR: Final = 2  # tokens shown before a match
LONG: Final = 4  # tokens of a match that are shown; of a longer one the last


def match(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The match, and what followed it."""
    if "start" not in remark:
        return None
    many = _last(remark["length"])
    stands = "stands" if remark["length"] == 1 else "stand"
    say = f"The text's {many} {stands} earlier too. What followed there is copied as the guess."
    return {"say": [say], "blocks": _places(scene, step, remark)}


def counts(scene: Scene, step: Step, remark: Remark) -> Block | None:
    """The match, and how often each guess followed there."""
    if "start" not in remark:
        return None
    shown = [
        {
            "at": at(scene, node),
            "words": [guessed(scene, node)],
            "bar": round(said["count"] / said["total"], 6),
            "text": [f"{said['count']:,} of {count(said['total'], 'time')}"],
        }
        for node in window(scene, step, 5)
        for said in [evidence(scene.guesses[node - 1])]
    ]
    listed = rows(["", "guess", "followed there"], shown, len(visible(scene, step)))
    many = _last(remark["length"])
    say = f"The text's {many} stood earlier too. Counts of what followed there choose the guesses."
    return {"say": [say], "blocks": [*_places(scene, step, remark), listed]}


def copied(remark: Remark, guess: Remark, depth: int, words: Sequence[Part]) -> list[Part]:
    """The sentence of one copied guess; [] where the match is not told."""
    if "length" not in remark:
        return []
    if depth > 1:
        return ["Next there stood ", *words, f", the guess at +{depth}."]
    stands = "stands" if remark["length"] == 1 else "stand"
    many = _last(remark["length"])
    return [f"The {many} {stands} earlier in the text too; there followed ", *words, "."]


def counted(remark: Remark, guess: Remark, depth: int, words: Sequence[Part]) -> list[Part]:
    """The sentence of one guess that counts have chosen; [] where the match is not told."""
    if "length" not in remark:
        return []
    seen, total = guess["count"], guess["total"]
    times = "The one time" if total == 1 else f"{number(seen)} of the {number(total)} times"
    those = f"the {_last(remark['length'])}" if depth == 1 else "all this"
    return [f"{times} that {those} stood earlier, ", *words, f" followed: it is +{depth}."]


def no_match(remark: Remark) -> str | None:
    """Why nothing is copied; None where there was a match, and another reason."""
    if "start" in remark:
        return None
    return "No earlier place in the text ends as it does now, so there is no guess"


def _last(length: int) -> str:
    return "last token" if length == 1 else f"last {number(length)} tokens"


def _places(scene: Scene, step: Step, remark: Remark) -> list[Block]:
    """The earlier place with what was copied, and the text's end with the guesses."""
    start, length, end = remark["start"], remark["length"], len(scene.text)
    path = _copied(scene, step, start + length)
    then = [scene.text[evidence(scene.guesses[n - 1])["from"]] for n in path] if end else []
    earlier = [scene.word(token) for token in then]
    mine = [guessed(scene, node) for node in main_path(scene, step)]
    return [
        marked_line(
            f"from {text_place(start)}", *_matched(scene, start, length), span("copied", earlier)
        ),
        marked_line("the end now", *_matched(scene, end - length, length), span("copied", mine)),
    ]


def _matched(scene: Scene, start: int, length: int) -> list[Block]:
    """A match with a little of what stands before it."""
    if length > LONG:
        shown = words(scene, start + length - LONG, start + length)
        return [span("gap", [[f"… {number(length - LONG)} more"]]), span("match", shown)]
    near = words(scene, start - NEAR, start)
    before = [GAP] if start > NEAR else []
    return [*before, span("near", near), span("match", words(scene, start, start + length))]


def _copied(scene: Scene, step: Step, first: int) -> list[int]:
    """The guesses that stood one after another at the earlier place, from `first` on."""
    path: list[int] = []
    for node in main_path(scene, step):
        stood = evidence(scene.guesses[node - 1]).get("from")
        if stood != first + len(path) or stood >= len(scene.text):
            break
        path.append(node)
    return path


def matches(scene: Scene, step: Step, remark: Remark) -> dict[int, str]:
    """By place in the text: the match, there and at the end, and what is copied."""
    if "start" not in remark:
        return {}
    length: int = remark["length"]
    marked: dict[int, str] = {}
    for start in (remark["start"], len(scene.text) - length):
        marked |= dict.fromkeys(range(start, start + length), "match")
    said: list[Any] = [evidence(scene.guesses[n - 1]).get("from") for n in visible(scene, step)]
    return marked | {stood: "copied" for stood in said if stood is not None}
