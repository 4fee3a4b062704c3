"""The verdicts of a recorded run, and its prompt run many times with and without a draft.

The first part needs no model. The repeated runs are one job in the queue; if it is stopped, the
runs counted so far are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

import gradio as gr

from specviz import texts
from specviz.catalog.entry import with_defaults
from specviz.settings.settings import Settings
from specviz.shipped import Recipe
from specviz.ui.component import TabContext, component
from specviz.ui.live import Start, wire
from specviz.ui.step.recorded import names, recipe, title
from specviz.ui.stream import ErrorLine, StateLine, Stream, line, paced
from specviz.ui.task import JobContext, Task, gpu_seconds, limit_text

if TYPE_CHECKING:
    from specviz.engine.decode import Tally


NAME: Final = "sv-proof"
OURS: Final = "window.specviz.proof"
LOOKED_AT: Final = 3  # how many tokens of each run are compared
TIMES: Final = 200  # number of pairs of runs, which take less than a minute with House
RARE: Final = 0.001  # a smaller p-value counts as a proven difference
OFTEN: Final = 5  # pairs of runs between two lines of progress


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        runs: Name and title of each recorded run.
        times: Number of pairs of runs.
    """

    runs: list[tuple[str, str]]
    times: int


class TallyLine(TypedDict):
    """Number of pairs of runs so far; the last line has the result as a sentence."""

    kind: Literal["tally"]
    id: str
    done: int
    of: int
    sentence: NotRequired[str]


Line = TallyLine | StateLine | ErrorLine


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {"runs": [(name, title(name)) for name in names()], "times": TIMES}
    words = {"bound": limit_text(place.runs.limit)}
    view = component(NAME, "lossless/proof/proof", config, words=words)
    place.questions.add("proof", "specviz.ui.lossless.proof.answer")
    go = gr.Button("Repeat the run", elem_id=f"{NAME}-go", elem_classes="sv-hidden")
    wire(place.jobs, place.runs, view, OURS, Start(go, [], wanted, f"{OURS}.run"))


def wanted(_: Stream, name: Any) -> Task:
    """Return the task of repeating a recorded run. Raises ValueError if it is unknown."""
    made = recipe(name) if isinstance(name, str) and name in names() else None
    if made is None:
        raise ValueError(
            "This run cannot be repeated, because its settings were not recorded with it."
        )
    return live(made)


def live(made: Recipe) -> Task:
    """Create the task of the repeated runs; it can be stopped after each pair of runs."""
    return Task(partial(stream_repeats, made), gpu_seconds(made.target, 2 * TIMES * LOOKED_AT))


def stream_repeats(made: Recipe, context: JobContext) -> Iterator[str]:
    """Load the models, then run the pairs."""
    yield context.says("loading")
    target, (drafter,) = context.load(made.target, [made.drafter])
    from specviz.engine.decode import repeat
    from specviz.models.prompt import encode_prompt

    settings = Settings.from_json(with_defaults(made.drafter, made.settings))
    ids = encode_prompt(target, made.text, settings).ids
    yield context.says("drafting")
    tallies = repeat(target, drafter, ids, settings, TIMES, context.unwanted)
    yield from paced(lines(tallies, settings.sampling.greedy, context.nonce))


def lines(tallies: Iterator[Tally], greedy: bool, nonce: str) -> Iterator[str]:
    """Yield progress, and the result only at the end, since repeated tests give false alarms.

    Yields empty texts in between, where the job may be interrupted.
    """
    last = None
    for last in tallies:
        news: TallyLine = {"kind": "tally", "id": nonce, "done": last.done, "of": last.of}
        yield line(news["kind"], news) if last.done % OFTEN == 0 else ""
    if last is not None:
        yield line(news["kind"], {**news, "sentence": counted(last, greedy)})


def counted(tally: Tally, greedy: bool) -> str:
    """Return what all pairs of runs show together."""
    beginnings = len(tally.speculative.keys() | tally.plain.keys())
    if greedy:
        return texts.text("lossless", "repeats_greedy", beginnings=beginnings)
    from specviz.ui.lossless.coins.answer import often, seldom  # this imports torch

    test = tally.test
    if test.degrees < 1:
        found = texts.text("lossless", "repeats_untested", beginnings=beginnings)
    elif test.p_value < RARE:
        found = texts.text("lossless", "repeats_differ", odds=seldom(test.p_value))
    else:
        found = texts.text("lossless", "repeats_alike", often=often(test.p_value))
    return texts.text(
        "lossless",
        "repeats_sampled",
        pairs=tally.done,
        beginnings=beginnings,
        tv=f"{tally.tv:.3f}",
        noise=f"{tally.noise:.3f}",
        found=found,
    )
