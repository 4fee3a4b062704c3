"""What each position of a block knows of the guesses before it, method by method: an instrument.

One row per method: the same words, arrows for what a position reads, the work that has to wait for
other work, and how many guesses were accepted in a recorded race, if the method was in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

import gradio as gr
import plotly.graph_objects as go

from specviz.compare.storage import FOLDER, read
from specviz.figures.plot import Batch, Point, texts, width
from specviz.figures.theme import BOTH, COLOURS, INK, INK2, INK3, TEMPLATE
from specviz.frames.scene import flat, word
from specviz.texts import text
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.ui.compare.race import recorded
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown

GUESSES: Final = 5  # of a block in the picture
COMPARED: Final = 4  # the sentence compares how often so many guesses are accepted
ROW: Final = 104  # height of a row, in pixels; the width is 100 units
BOX: Final = (9.0, 52.0, 76.0)  # width, top and bottom
PITCH: Final = 10.4  # from box to box, and the same for bars
BARS: Final = (68.0, 6.3, 4.6, 76.0, 44.0)  # left edge, pitch, width, bottom, greatest height
APEX: Final = 10.0  # how much higher an arrow is for each position that it passes
CURVE: Final = 16  # points of an arrow
FONT: Final = 13


@dataclass(frozen=True)
class Method:
    """A way to guess a block.

    Attributes:
        family: Family of its drafters; "" if none is built here.
        reads: Which chosen tokens of the block a position reads.
        states: Whether it also reads the states of other positions, before any token is
            chosen: those of all others, or of earlier ones.
        work: The work that has to be done one after the other, for five guesses.
    """

    name: str
    family: str
    reads: Literal["none", "previous", "all"]
    states: Literal["none", "earlier", "both"]
    work: str
    tree: bool = False


KNOWS: Final = {"none": "nothing", "previous": "the one before", "all": "all before"}
METHODS: Final = (
    Method("DFlash", "dflash", "none", "both", "1 pass"),
    Method("JetSpec", "jetspec", "none", "earlier", "1 pass, grown to a tree", tree=True),
    Method("DSpark", "dspark", "previous", "both", "1 pass + 5 small steps"),
    Method("DFlash2", "dflash2", "previous", "both", "1 pass + 5 choices of 16"),
    Method("XPress", "", "all", "both", "1 pass + 6 small passes"),
    Method("EAGLE-3", "eagle3", "all", "none", "5 passes"),
)


def build(place: TabContext) -> None:
    """Build the instrument."""
    title, first = "What does a guess know of the one before it?", text("compare", "blocks_lead")
    with Instrument(place, "blocks", title, "measured", first, wide=True) as instrument:
        races = [(recorded.title(name), name) for name in recorded.names()]
        usual = max(recorded.names(), key=rows, default=None)
        race = gr.Dropdown(races, value=usual, label="Acceptance in the race")
        picture = figure("sv-blocks-picture", "blocks")
        gr.Markdown(text("compare", "blocks_legend"), elem_classes="sv-note")
    instrument.wire({"race": race}, {"picture": picture}, respond)


def rows(name: str) -> int:
    """Return how many of the methods were in a recorded race, from its recipe alone."""
    made = recorded.recipe(name)
    drafters = {lane.drafter for lane in made.race.lanes} if made else set[str]()
    return len(drafters & {each.family for each in METHODS})


@cache
def traces(name: str) -> Mapping[str, Trace]:
    """Return the runs of a recorded race by their drafter's family; the first of each."""
    found: dict[str, Trace] = {}
    for trace in read(FOLDER / name).traces.values():
        found.setdefault(trace.header.drafter.family, trace)
    return found


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    if values["race"] not in recorded.names():
        raise ValueError(text("compare", "blocks_no_race"))
    runs = traces(values["race"])
    measured = {each.name: accepted(runs[each.family]) for each in METHODS if each.family in runs}
    shares = [f"{name} {found[COMPARED - 1]:.0%}" for name, found in measured.items()]
    said = text("compare", "blocks_said", guesses=COMPARED, shares=shares)
    return {"answer": said, "picture": shown(drawing(words(runs), measured), said)}


def accepted(trace: Trace) -> list[float]:
    """Return the share of rounds with guesses that accept at least 1, 2, … of them."""
    rounds = [each for each in trace.rounds if each.proposed and each.proposed.guesses]
    counts = [len(metrics.accepted_path(each)) for each in rounds]
    return [
        sum(count >= least for count in counts) / max(1, len(counts))
        for least in range(1, GUESSES + 1)
    ]


def words(runs: Mapping[str, Trace]) -> list[str]:
    """Return the words of the picture: the shortest that follow each other in the race's text."""
    trace = next(iter(runs.values()))
    said = [trace.vocabulary[token] for token in metrics.token_ids(trace)]
    shown = [flat(word(each)).removeprefix("␣") for each in said]
    count = GUESSES + 1
    windows = [shown[at : at + count] for at in range(max(1, len(shown) - count + 1))]
    fit = [each for each in windows if all(map(str.isalnum, each)) and len({*each}) == len(each)]
    return min(fit or windows, key=lambda each: max(width(one, FONT) for one in each))


def drawing(block: Sequence[str], measured: Mapping[str, Sequence[float]]) -> go.Figure:
    """Draw all methods. measured: `accepted` of each method that was measured, by its name."""
    found = [
        go.Scatter({"mode": "lines", "hoverinfo": "skip"} | trace)
        for trace in (*_boxes(block), *_reading(), *_names(block))
    ]
    found += [each for at, one in enumerate(METHODS) for each in _bars(at, measured.get(one.name))]
    return go.Figure(
        found,
        {
            "template": TEMPLATE,
            "height": ROW * len(METHODS) + 24,
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "showlegend": False,
            "xaxis": {"visible": False, "range": [0, 100], "fixedrange": True},
            "yaxis": {
                "visible": False, "range": [ROW * len(METHODS), -24], "fixedrange": True,
            },
        },
    )  # fmt: skip


def _boxes(block: Sequence[str]) -> Iterator[dict[str, Any]]:
    newest, guesses, others = Batch(), Batch(), Batch()
    for row, method in enumerate(METHODS):
        for at in range(len(block)):
            if at and method.tree:
                for shift in (8, 4):
                    others.add(_box(row, at, shift))
            (guesses if at else newest).add(_box(row, at))
    yield others.filled(COLOURS["bg"], COLOURS["q-line"], 1)
    yield newest.filled(COLOURS["edge"], COLOURS["line2"], 1)
    yield guesses.filled(COLOURS["q-soft"], COLOURS["q-line"], 1)


def _box(row: int, at: int, shift: float = 0) -> list[Point]:
    wide, top, bottom = BOX
    left, top, bottom = PITCH * at + shift / 10, row * ROW + top + shift, row * ROW + bottom + shift
    right = left + wide
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def _middle(at: int) -> float:
    return PITCH * at + BOX[0] / 2


def _reading() -> Iterator[dict[str, Any]]:
    arcs, lines = Batch(), Batch()
    heads: dict[str, list[Point]] = {"triangle-down": [], "triangle-left": [], "triangle-right": []}
    for row, method in enumerate(METHODS):
        top, below = row * ROW + BOX[1], row * ROW + BOX[2] + 9 + 8 * method.tree
        for source, place in _pairs(method.reads):
            arcs.add(_arc(_middle(source), _middle(place), top - 3, APEX * (place - source + 1)))
            heads["triangle-down"].append((_middle(place), top - 4))
        if method.states != "none":
            ends = _middle(1), _middle(GUESSES)
            lines.add([(x, below) for x in ends])
            heads["triangle-right"].append((ends[1], below))
            if method.states == "both":
                heads["triangle-left"].append((ends[0], below))
    yield arcs.lines(INK, 1.6)
    yield lines.lines(INK3, 1.6, "dot")
    for symbol, points in heads.items():
        marker = {"symbol": symbol, "size": 8, "color": INK if "down" in symbol else INK3}
        yield {"mode": "markers", "x": [x for x, _ in points], "y": [y for _, y in points],
               "marker": marker}  # fmt: skip


def _pairs(reads: str) -> list[tuple[int, int]]:
    numbers = range(1, GUESSES + 1)
    if reads == "previous":
        return list(pairwise(numbers))
    return [(one, other) for other in numbers for one in range(1, other) if reads == "all"]


def _arc(start: float, end: float, base: float, height: float) -> list[Point]:
    steps = [step / CURVE for step in range(CURVE + 1)]
    return [(start + (end - start) * t, base - 2 * height * t * (1 - t)) for t in steps]


def _names(block: Sequence[str]) -> Iterator[dict[str, Any]]:
    middle = (BOX[1] + BOX[2]) / 2
    inside = [
        (_middle(at), row * ROW + middle, each, INK)
        for row in range(len(METHODS))
        for at, each in enumerate(block)
    ]
    yield texts(inside, FONT, "middle center")
    names = [(0.0, row * ROW + 10, each.name, INK) for row, each in enumerate(METHODS)]
    said = texts(names, FONT + 1, "middle right")
    yield said | {"text": [f"<b>{m.name}</b>  {KNOWS[m.reads]} · {m.work}" for m in METHODS]}
    heads = [(0.0, -12.0, "what it knows of the guesses before · its work", INK2)]
    heads.append((BARS[0], 6.0, "accepted, in %", INK2))
    yield texts(heads, 12, "middle right")


def _bars(row: int, shares: Sequence[float] | None) -> Iterator[go.Scatter]:
    left, pitch, wide, bottom, height = BARS
    base = row * ROW + bottom
    if shares is None:
        yield go.Scatter(
            {"mode": "lines", "hoverinfo": "skip"}
            | texts([(left, base - 12, "not measured", INK3)], 12, "middle right")
        )
        return
    bars = Batch()
    for at, share in enumerate(shares):
        x, top = left + pitch * at, base - height * share
        bars.add([(x, base), (x, top), (x + wide, top), (x + wide, base), (x, base)])
    yield go.Scatter({"mode": "lines", "hoverinfo": "skip"} | bars.filled(BOTH))
    numbers = [
        (left + pitch * at + wide / 2, base - height * share - 8, f"{100 * share:.0f}", INK)
        for at, share in enumerate(shares)
    ]
    depths = [
        (left + pitch * at + wide / 2, base + 9, str(at + 1), INK2) for at in range(len(shares))
    ]
    for rows in (numbers, depths):
        yield go.Scatter({"hoverinfo": "skip"} | texts(rows, 12, "middle center"))
