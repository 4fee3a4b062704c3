"""How the drafter found its guesses (its evidence), as plain data for the page.

In a trace, a drafter's data about each guess is called evidence, and that about a whole proposal is
called a remark. The remark contains the name of a form, which selects how the data is shown, so
drafters from outside can also be explained; for an unknown form, nothing is shown. Every number
comes from the trace. A guess is explained when it appears on screen, and a block that one pass
fills when its first guess appears. Only verdicts of earlier rounds are mentioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from specviz.frames.evidence.forms import Marks, Remark, Why, evidence
from specviz.frames.evidence.heads import (
    best_first,
    block,
    dynamic,
    features,
    leaps,
    masks,
    modules,
    parallel,
    side_by_side,
    spark,
    states_read,
    top_or_rank,
)
from specviz.frames.evidence.models import (
    intersection,
    layers,
    lower_bound,
    rewritten,
    unread,
    upper_bound,
)
from specviz.frames.evidence.ngrams import (
    copied,
    counted,
    counts,
    lookahead,
    match,
    matches,
    no_match,
    no_ngram,
    pooled,
)
from specviz.frames.scene import Scene, Step
from specviz.texts import Part


@dataclass(frozen=True, slots=True)
class Form:
    """A form of evidence: which data it needs, and how it is shown.

    Attributes:
        section: Builds the section that the page shows at a step.
        mark: Returns the kind of mark for each position of the text that is marked.
        guess: Returns the sentence about a step's only guess, given the remark and the
            guess's evidence, depth and token; [] if there is none.
        nothing: Returns the sentence that says why there is no guess; [] if there is none.
    """

    section: Callable[[Scene, Step, Remark], Why | None]
    remark: frozenset[str] = frozenset()
    each: frozenset[str] = frozenset()
    mark: Callable[[Scene, Step, Remark], dict[int, str]] | None = None
    guess: Callable[[Remark, Remark, int, Part], list[Part]] | None = None
    nothing: Callable[[Remark], list[Part]] | None = None


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
    "masks": Form(masks, remark=_keys("passes"), each=_keys("place")),
    "parallel": Form(parallel, remark=_keys("passes"), each=_keys("place")),
    "spark": Form(spark, remark=_keys("block passes"), each=_keys("place base top")),
    "selector": Form(spark, remark=_keys("block passes"), each=_keys("place base top")),
    "best-first": Form(best_first, remark=_keys("block passes"), each=_keys("path total")),
    "features": Form(features, remark=_keys("passes"), each=_keys("guessed_features")),
    "modules": Form(modules, _keys("modules"), _keys("module state own"), mark=states_read),
    "upper-bound": Form(upper_bound, remark=_keys("passes")),
    "lower-bound": Form(lower_bound, remark=_keys("vocabulary")),
    "rewritten": Form(rewritten, remark=_keys("own_tokens written"), nothing=unread),
    "intersection": Form(
        intersection, remark=_keys("own_tokens shared vocabulary"), nothing=unread
    ),
}


def evidence_section(scene: Scene, step: Step) -> Why | None:
    """Build the section "Why these guesses" of a step; None without evidence."""
    form, remark = _form(scene)
    if form is None or step.kind not in ("propose", "score"):
        return None
    section = form.section(scene, step, remark)
    if section is None:
        return None
    if form.mark and (marked := marks(scene, form.mark(scene, step, remark))):
        section["marks"] = marked
    return section


def guess_sentence(scene: Scene, node: int) -> list[Part]:
    """Return the sentence about a step's only guess; empty if there is none."""
    form, remark = _form(scene)
    if form is None or form.guess is None:
        return []
    guess = evidence(scene.guesses[node - 1])
    return form.guess(remark, guess, scene.depths[node], scene.chip(node))


def no_guess(scene: Scene) -> list[Part]:
    """Return the sentence that says why there is no guess; empty if no reason was given."""
    form, remark = _form(scene)
    return form.nothing(remark) if form is not None and form.nothing else []


def is_random_pick(scene: Scene) -> bool:
    """Return whether guesses that are not sampled from q were still picked at random."""
    return _form(scene)[1].get("form") == "lower-bound"


def _form(scene: Scene) -> tuple[Form | None, Remark]:
    # The form is None if it is unknown, or if required keys are missing from the evidence.
    proposed = scene.round.proposed
    remark = (proposed.remark if proposed else None) or {}
    name = remark.get("form")
    form = FORMS.get(name) if isinstance(name, str) else None
    if form is None or not form.remark <= remark.keys():
        return None, {}
    whole = all(form.each <= evidence(guess).keys() for guess in scene.guesses)
    return (form, remark) if whole else (None, {})


def marks(scene: Scene, by_position: dict[int, str]) -> Marks:
    """Convert marked positions to marks for the strip, without those in a prompt not located."""
    if not scene.text:
        return {}
    first = len(scene.header.prompt_ids)
    spans = scene.prompt_spans
    prompt: list[tuple[int, int, str]] = []
    for position, kind in sorted(by_position.items()):
        start, end = spans[position] if position < len(spans) else (0, 0)
        if prompt and prompt[-1][1:] == (start, kind):
            prompt[-1] = (prompt[-1][0], end, kind)  # extend the mark of the position before
        elif start < end:
            prompt.append((start, end, kind))
    past = [
        (position - first, kind)
        for position, kind in sorted(by_position.items())
        if position >= first
    ]
    found: Marks = {}
    if prompt:
        found["prompt"] = prompt
    if past:
        found["past"] = past
    return found
