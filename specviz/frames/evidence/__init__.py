"""Why a guess was made, as its drafter said it: plain data for the inspector and the text strip.

A family is known by the keys of its remark, so a trace needs no name that this program knows. Its
one rule: every number is the trace's, and a guess is explained once it is on screen (a block that
one pass filled, at its first guess); of verdicts nothing is said but of the rounds before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from specviz.frames.evidence.bounds import oracle, uniform
from specviz.frames.evidence.dynamic import dynamic
from specviz.frames.evidence.features import eagle, mtp
from specviz.frames.evidence.forms import Block, Remark
from specviz.frames.evidence.heads import block, leaps, side_by_side, states_read
from specviz.frames.evidence.layers import layerskip
from specviz.frames.evidence.lookahead import lookahead
from specviz.frames.evidence.match import matches, ngram, suffix
from specviz.frames.scene import Scene, Step

Teller = Callable[[Scene, Step, Remark], Block | None]


Marker = Callable[[Scene, Step, Remark], dict[int, str]]


# By the keys that a remark has, then those that every guess's evidence has; the first that fits.
FAMILIES: Final[tuple[tuple[set[str], set[str], Teller, Marker | None], ...]] = (
    ({"min", "max"}, {"from"}, ngram, matches),
    ({"factor", "least"}, {"from", "count", "total"}, suffix, matches),
    ({"exit", "layers", "before"}, {"agree", "ran"}, layerskip, None),
    ({"pool", "window", "ngrams"}, {"ngram", "round", "column"}, lookahead, None),
    ({"weighed", "kept", "passes"}, {"path", "place"}, dynamic, None),
    ({"leap"}, {"head", "state", "back"}, leaps, states_read),
    ({"block", "passes"}, {"place"}, block, None),
    ({"modules"}, {"module", "state", "own"}, mtp, states_read),
    ({"heads"}, {"head", "state", "path"}, side_by_side, states_read),
    ({"block"}, {"head", "state", "path"}, side_by_side, states_read),
    ({"vocabulary"}, set(), uniform, None),
    ({"passes"}, {"rank", "guessed_features"}, eagle, None),
    ({"passes"}, set(), oracle, None),
)


def why(scene: Scene, step: Step) -> Block | None:
    """The section "Why these guesses" of a step; None where the drafter said nothing of it.

    say: a sentence, as a caption's parts. blocks: see parts.py. marks: see `marks`.
    """
    found = _family(scene)
    if found is None or step.kind not in ("propose", "score"):
        return None
    remark, tell, mark = found
    told = tell(scene, step, remark)
    if told is None:
        return None
    marked = marks(scene, mark(scene, step, remark)) if mark else {}
    return told | ({"marks": marked} if marked else {})


def _family(scene: Scene) -> tuple[Remark, Teller, Marker | None] | None:
    proposed = scene.round.proposed
    if proposed is None or not proposed.remark:
        return None
    said = [set(guess.evidence or {}) for guess in proposed.guesses]
    for remark, each, tell, mark in FAMILIES:
        if remark <= set(proposed.remark) and all(each <= keys for keys in said):
            return proposed.remark, tell, mark
    return None


def marks(scene: Scene, by_place: dict[int, str]) -> dict[str, Any]:
    """Places in the text as the strip knows them: [letters from, to, kind] of the prompt, and
    [which new token, kind] after it. None of the prompt where its tokens do not spell it.
    """
    if not scene.text:
        return {}
    first = len(scene.header.prompt_ids)
    spans = scene.prompt_spans
    prompt: list[list[Any]] = []
    for place, kind in sorted(by_place.items()):
        start, end = spans[place] if place < len(spans) else (0, 0)
        if prompt and prompt[-1][1:] == [start, kind]:
            prompt[-1][1] = end  # one mark for neighbours
        elif start < end:
            prompt.append([start, end, kind])
    past = [[place - first, kind] for place, kind in sorted(by_place.items()) if place >= first]
    return {name: found for name, found in (("prompt", prompt), ("past", past)) if found}
