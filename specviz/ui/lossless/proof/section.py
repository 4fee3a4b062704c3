"""A recorded run's verdicts, and the same prompt many times with and without a draft.

Rule: the verdicts need no model; the repeats are one ticket in the line of all that computes, and
what was counted before they were stopped is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import gradio as gr

from specviz.catalog.entry import filled
from specviz.settings.settings import Settings
from specviz.shipped import Recipe
from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.live import Job, Start, Texts, wire
from specviz.ui.step.recorded import names, recipe, title
from specviz.ui.stream import line, paced
from specviz.ui.task import Desk, Task, lasting
from specviz.ui.time_slice import limit_text
from specviz.ui.worker import Worker

if TYPE_CHECKING:
    from specviz.engine.repeats import Tally

NAME: Final = "sv-proof"
OURS: Final = "window.specviz.proof"
LOOKED_AT: Final = 3  # tokens of each run
TIMES: Final = 200  # pairs of runs: under a minute on the house's models
RARE: Final = 0.001  # what luck brings less often than that is called no luck
OFTEN: Final = 5  # pairs between two lines of progress


def answered(text: Any) -> str:
    """See `answer.answer`; torch is brought in by the first question, not by the page."""
    from specviz.ui.lossless.proof.answer import answer

    return answer(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    known = {"runs": [[name, title(name)] for name in names()], "times": TIMES}
    words = {"bound": limit_text(place.runs.limit)}
    view = component(NAME, "lossless/proof/proof", known, words=words)
    told = component(f"{NAME}-told", "lossless/proof/told")
    chosen = gr.Textbox(visible=False)
    question.wire(view, "proof", f"{NAME}-ask", answered)
    go = gr.Button("Repeat the run", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    halt = gr.Button("Stop repeating", elem_id=f"{NAME}-stop", elem_classes="sv-hidden")
    number = gr.Number(visible=False)
    begin = Start(go, [chosen], partial(wanted, place.runs), f"[{OURS}.run]")
    wire(place.runs, Job("proof", OURS, halt, number), told, begin)


def wanted(runs: Worker, name: Any) -> Texts:
    """The story of a run's repeats. Raises ValueError with a sentence where there is no such."""
    made = recipe(name) if isinstance(name, str) and name in names() else None
    if made is None:
        raise ValueError("How this run was made is not known here, so it cannot be repeated.")
    return partial(runs.texts, live(made))


def live(made: Recipe) -> Task:
    """The repeats as the page hears them. Stopped, they end after a pair of runs."""
    return Task(partial(tell, made), lasting(made.target, 2 * TIMES * LOOKED_AT))


def tell(made: Recipe, desk: Desk) -> Iterator[str]:
    """Load, then repeat."""
    yield desk.says("loading")
    target, (drafter,) = desk.load(made.target, [made.drafter])
    from specviz.engine.repeats import repeat
    from specviz.models.prompt import read

    settings = Settings.from_json(filled(made.drafter, made.settings))
    ids = read(target, made.text, settings).ids
    yield desk.says("drafting")
    tallies = repeat(target, drafter, ids, settings, TIMES, desk.unwanted)
    yield from paced(lines(tallies, settings.sampling.greedy, desk.nonce))


def lines(tallies: Iterator[Tally], greedy: bool, nonce: str) -> Iterator[str]:
    """Progress now and then, and the result once, at the end: many looks find something.

    Empty texts between, where the job may be interrupted.
    """
    last = None
    for last in tallies:
        news = line("tally", {"done": last.done, "of": last.of, "id": nonce})
        yield news if last.done % OFTEN == 0 else ""
    if last is not None:
        yield line("tally", counted(last, greedy) | {"id": nonce})


def counted(tally: Tally, greedy: bool) -> dict[str, Any]:
    """What all pairs of runs together say."""
    beginnings = len(tally.speculative.keys() | tally.plain.keys())
    if greedy:
        same = "the same each time" if beginnings == 1 else f"{beginnings} in all"
        said = f"At temperature 0 there is nothing to draw: one beginning, {same}."
    else:
        chance = tally.test.p_value
        verdict = "no sign of another law" if chance >= RARE else "hardly one law"
        said = (
            f"{tally.done} runs with a draft and {tally.done} without began in {beginnings:,} "
            f"ways. Their distance is {tally.tv:.3f}; two samples of one law would show about "
            f"{tally.noise:.3f}. Luck alone would part them further "
            f"{100 * chance:.0f} % of the time (G-test): {verdict}."
        )
    return {"done": tally.done, "of": tally.of, "said": said}
