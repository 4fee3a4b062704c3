"""Why a guess was made, as its drafter said it: plain data for the inspector and the text strip.

A drafter's remark names the form of its evidence, so a trace needs no name of a drafter that this
program knows; of a form that is not known nothing is said. Its one rule: every number is the
trace's, and a guess is explained once it is on screen (a block that one pass filled, at its first
guess); of verdicts nothing is said but of the rounds before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from specviz.frames.evidence.bounds import lower_bound, upper_bound
from specviz.frames.evidence.dynamic import dynamic
from specviz.frames.evidence.features import features, modules
from specviz.frames.evidence.forms import Block, Part, Remark, evidence
from specviz.frames.evidence.heads import block, leaps, side_by_side, states_read, top_or_rank
from specviz.frames.evidence.layers import layers
from specviz.frames.evidence.lookahead import lookahead, no_ngram, pooled
from specviz.frames.evidence.match import copied, counted, counts, match, matches, no_match
from specviz.frames.evidence.vocabularies import intersection, rewritten, unread
from specviz.frames.scene import Scene, Step


@dataclass(frozen=True, slots=True)
class Form:
    """A form of evidence: what it must have, and who puts it into words.

    remark, each: the keys that the remark and every guess's evidence must have; what more they may
    have is the teller's to know. tell: the section of a step. mark: places in the text, by token.
    guess: the sentence of a step with one guess, [] where there is none, from the remark, the
    guess's evidence, its depth and its word. nothing: why there is no guess.
    """

    tell: Callable[[Scene, Step, Remark], Block | None]
    remark: frozenset[str] = frozenset()
    each: frozenset[str] = frozenset()
    mark: Callable[[Scene, Step, Remark], dict[int, str]] | None = None
    guess: Callable[[Remark, Remark, int, Sequence[Part]], list[Part]] | None = None
    nothing: Callable[[Remark], str | None] | None = None


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


FORMS: Final[Mapping[str, Form]] = {
    "match": Form(match, each=_keys("from"), mark=matches, guess=copied, nothing=no_match),
    "counts": Form(
        counts, each=_keys("from count total"), mark=matches, guess=counted, nothing=no_match
    ),
    "lookahead": Form(
        lookahead,
        remark=_keys("pool window ngrams rows_verified rows_window"),
        each=_keys("ngram round column"),
        guess=pooled,
        nothing=no_ngram,
    ),
    "layers": Form(layers, remark=_keys("exit layers"), each=_keys("agree ran")),
    "dynamic": Form(dynamic, remark=_keys("weighed kept passes"), each=_keys("path place")),
    "heads": Form(side_by_side, each=_keys("head state path"), mark=states_read, guess=top_or_rank),
    "leaps": Form(
        leaps, _keys("leap"), _keys("head state back path"), mark=states_read, guess=top_or_rank
    ),
    "block": Form(block, remark=_keys("block passes"), each=_keys("place")),
    "features": Form(features, remark=_keys("passes"), each=_keys("guessed_features")),
    "modules": Form(modules, _keys("modules"), _keys("module state own"), mark=states_read),
    "upper-bound": Form(upper_bound, remark=_keys("passes")),
    "lower-bound": Form(lower_bound, remark=_keys("vocabulary")),
    "rewritten": Form(rewritten, remark=_keys("own_tokens written"), nothing=unread),
    "intersection": Form(
        intersection, remark=_keys("own_tokens shared vocabulary"), nothing=unread
    ),
}


def why(scene: Scene, step: Step) -> Block | None:
    """The section "Why these guesses" of a step; None where the drafter said nothing of it.

    say: a sentence, as a caption's parts. blocks: see forms.py. marks: see `marks`.
    """
    form, remark = _form(scene)
    if form is None or step.kind not in ("propose", "score"):
        return None
    section = form.tell(scene, step, remark)
    if section is None:
        return None
    marked = marks(scene, form.mark(scene, step, remark)) if form.mark else {}
    return section | ({"marks": marked} if marked else {})


def guess_sentence(scene: Scene, node: int, words: Sequence[Part]) -> list[Part]:
    """The sentence of a step's only guess, `words` being the guess; [] where its form has none."""
    form, remark = _form(scene)
    if form is None or form.guess is None:
        return []
    return form.guess(remark, evidence(scene.guesses[node - 1]), scene.depths[node], words)


def no_guess(scene: Scene) -> str | None:
    """Why there is no guess, as far as the drafter has said."""
    form, remark = _form(scene)
    return form.nothing(remark) if form is not None and form.nothing else None


def thrown(scene: Scene) -> bool:
    """Whether guesses that count as fixed were picked by a die, and so by chance after all."""
    return _form(scene)[1].get("form") == "lower-bound"


def _form(scene: Scene) -> tuple[Form | None, Remark]:
    """The form that a round's remark names, and the remark; None where it is not known, or where
    the evidence is not what the form promises."""
    proposed = scene.round.proposed
    remark = (proposed.remark if proposed else None) or {}
    name = remark.get("form")
    form = FORMS.get(name) if isinstance(name, str) else None
    if form is None or not form.remark <= remark.keys():
        return None, {}
    whole = all(form.each <= evidence(guess).keys() for guess in scene.guesses)
    return (form, remark) if whole else (None, {})


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
