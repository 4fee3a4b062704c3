"""The Models tab: all models in one table, details of one of them, downloads, and use on Step.

Models are downloaded only if the app allows visitors to use any model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final

import gradio as gr
import plotly.graph_objects as go

from specviz.catalog import public
from specviz.catalog.entry import entries
from specviz.figures.theme import INK2, Q, chart
from specviz.models.files import FetchMonitor
from specviz.settings.settings import require
from specviz.settings.suggestion import did_you_mean
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.instrument import DIRECT, Instrument, figure, shown, verbatim
from specviz.ui.live import job_view
from specviz.ui.models.rows import (
    Reliability,
    Row,
    every_model,
    fetchable,
    free_bytes,
    offered,
    size,
    where,
)
from specviz.ui.step.drawer import suit
from specviz.ui.stream import progress
from specviz.ui.table import Cell, data_table, filled
from specviz.ui.task import JobContext, Machine, Task

OFTEN: Final = 0.5  # seconds between two lines of a download; all lines are kept
COLUMNS: Final = {
    "name": 200, "kind": 76, "made for": 140, "state here": 120, "size": 110,
    "memory in float32": 100, "layout": 190, "licence": 120, "tested here": 130,
}  # fmt: skip
FACTS: Final = {
    "layout": "layout", "size": "size", "memory in float32": "memory", "licence": "licence",
    "access": "gated", "tested here": "tried",
}  # fmt: skip
SEARCHED: Final = (
    "name", "title", "kind", "layout", "made_for", "size", "memory", "licence", "gated", "tried",
    "about",
)  # fmt: skip
KINDS: Final = (("All", "all"), ("Targets", "target"), ("Drafters", "drafter"))
FIRST: Final = "House"
START: Final = {"find": "", "fit": "all", "kind": "all", "model": FIRST}
SHOW_DETAILS: Final = (
    "() => document.querySelector('#sv-models-details')?.scrollIntoView({ block: 'nearest' })"
)
OPEN_STEP: Final = "() => window.specviz.openTab('Step').then(() => window.scrollTo(0, 0))"


def build(place: TabContext, fields: Mapping[str, Any], tab: gr.Tab) -> None:
    """Build the tab and connect its events.

    Args:
        place: The page.
        fields: Components of Step's form by name; empty if the form could not be built.
        tab: The tab, whose list is refreshed whenever it is opened.
    """
    fetchable()  # raises an exception if a list of models is broken; the tab then shows which
    with Instrument(place, "models", "Models", "this machine", "", wide=True) as instrument:
        gr.Markdown(text("models", "lead", any=place.any_model))
        with gr.Row():
            find = gr.Textbox("", label="Find", placeholder="eagle3 qwen", max_length=100)
            fit = gr.Radio(
                [("All", "all"), ("Those that fit in memory", "fitting")], value="all",
                label="Models",
            )  # fmt: skip
            kind = gr.Radio(KINDS, value="all", label="Kind")
        table = data_table("sv-models", "Models, and what is known of them", search=False)
        model = gr.Dropdown(
            [row.title for row in sorted(every_model(), key=lambda row: not row.here)],
            value=FIRST,
            label="Details of",
            info=text("models", "choose"),
            elem_id="sv-models-model",
        )
        details = gr.Markdown(elem_id="sv-models-details")
        with gr.Row():
            use = gr.Button("Use on Step", visible=False)
            job = (
                job_view(
                    place, "sv-models-job", ("Download", "Cancel"), wanted, [model], place.fetches
                )
                if place.any_model
                else gr.HTML(visible=False)
            )  # fmt: skip
        diagram = figure("sv-models-reliability", "reliability")
        memory = gr.Markdown(elem_id="sv-models-loaded")
        with gr.Accordion("How to add a model", open=False):
            gr.Markdown(text("models", "add"))
    outputs = {
        "table": table, "model": model, "details": details, "use": use, "diagram": diagram,
        "memory": memory, "download": job,
    }  # fmt: skip
    instrument.events.append(tab.select)
    found = partial(respond, place.any_model, place.runs.machine)
    instrument.wire(
        {"find": find, "fit": fit, "kind": kind}, outputs, found, keys={"models": "fit"},
        shared={"model": model},
    )  # fmt: skip
    table.select(_picked, None, model, **DIRECT).then(None, None, None, js=SHOW_DETAILS, **DIRECT)
    if fields:
        _wire_use(dict(fields), use, model)
    if place.any_model:
        instrument.hear(job.result, lambda *_: {})


def _picked(event: gr.SelectData) -> str:
    return str(event.row_value[0])


def _wire_use(fields: dict[str, Any], use: gr.Button, model: gr.Dropdown) -> None:
    # A drafter that does not fit is replaced.
    chosen = use.click(_name, model, fields["target"], **DIRECT)
    suit(fields, chosen.then, prefer_own=True)
    chosen.then(None, None, None, js=OPEN_STEP, **DIRECT)


def _name(title: Any) -> str:
    return _row(every_model(), title).name


def _row(rows: Sequence[Row], title: Any) -> Row:
    row = next((each for each in rows if each.title == title), None)
    require(row is not None, "There is no such model.")
    assert row
    return row


def respond(any_model: bool, machine: Machine, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    rows = sorted(offered(any_model, machine), key=state)
    chosen = _row(rows, values["model"])
    listed = [
        row
        for row in rows
        if values["kind"] in ("all", row.kind)
        and (values["fit"] == "all" or row.fits is not False)
        and matches(row, values["find"])
    ]
    said = reliability_sentence(chosen)
    return {
        "answer": summary(listed, free_bytes(machine)),
        "table": filled(COLUMNS, [cells(row) for row in listed]),
        "model": gr.Dropdown(choices=[row.title for row in rows]),
        "details": details_of(chosen),
        "use": gr.Button(visible=chosen.use),
        "download": "" if chosen.fetch else "hidden",
        "diagram": diagram(chosen.reliability, said),
        "memory": loaded(),
    }


def matches(row: Row, searched: str) -> bool:
    """Return whether a model's facts contain all words searched for, however they are spelled."""
    whole = " ".join(squeezed(getattr(row, name)) for name in SEARCHED)
    return all(squeezed(part) in whole for part in searched.split())


def squeezed(text: str) -> str:
    """Return the letters and digits of a text: "EAGLE-3" and "eagle3" have the same ones."""
    return re.sub(r"[\W_]+", "", text.casefold())


def state(row: Row) -> tuple[int, str]:
    """Return whether a model is here, by which the list is sorted, and in words."""
    if row.here:
        return 0, "ready"
    if row.runs is False:
        return 2, "not supported"
    return 1, "can be downloaded" if row.fetch else "not here"


def cells(row: Row) -> list[Cell]:
    """Return the cells of a model."""
    return [
        (row.title, f"**{verbatim(row.title)}**"), row.kind, row.made_for,
        state(row)[1], sized(row.size), sized(row.memory), row.layout, row.licence,
        row.tried,
    ]  # fmt: skip


def sized(text: str) -> Cell:
    """Return the cell of a size, sorted by its bytes."""
    found = re.match(r"([\d.]+) (MB|GB)", text)
    return (float(found[1]) * {"MB": 1.0, "GB": 1e3}[found[2]] if found else -1.0, verbatim(text))


def summary(listed: Sequence[Row], free: int | None) -> str:
    """Return how many models are listed, how many are here, and the memory for weights."""
    bare = [e.title for e in entries() if e.kind == "drafter" and e.folder is None]
    return text(
        "models", "summary", count=len(listed), here=sum(row.here for row in listed),
        other=sum(state(row)[1] == "can be downloaded" for row in listed),
        free=size(free) if free else "", bare=", ".join(map(verbatim, bare)),
    )  # fmt: skip


def details_of(row: Row) -> str:
    """Return what is known of a model."""
    facts = [
        f"**{name}** {verbatim(fact)}" for name, key in FACTS.items() if (fact := getattr(row, key))
    ]
    whose = f" for {verbatim(row.made_for)}" if row.made_for else ""
    links = " ".join(f"[source {at}]({url})" for at, url in enumerate(row.sources, 1))
    head = f"### {verbatim(row.title)} <small>{row.kind}{whose}, {state(row)[1]}</small>"
    said = [verbatim(row.about), links, reliability_sentence(row)]
    return "\n\n".join([head, " ".join(filter(None, said[:2])), " · ".join(facts), said[2]])


def loaded() -> str:
    """Return the models in memory."""
    from specviz.catalog.loading import loaded_models

    lines = []
    for each in loaded_models():
        packed = f"{size(each.packed)} of packed copies; " if each.packed else ""
        lines.append(
            f"- **{verbatim(each.title)}** {size(each.bytes)} "
            f"({size(each.file)} in its file; {packed}{verbatim(where(each))})"
        )
    return "\n".join([text("models", "memory"), "", *(lines or [text("models", "none_loaded")])])


def reliability_sentence(row: Row) -> str:
    """Return the errors of a drafter's predictions; empty if it makes none."""
    if not row.reliability:
        return ""
    errors = [
        text(
            "models", "calibration", error=f"{each['error']:.3f}", guesses=each["guesses"],
            temperature=f"{each['temperature']:g}",
        )
        for each in row.reliability
    ]  # fmt: skip
    return text("models", "reliability", errors=" and ".join(errors))


def diagram(several: Sequence[Reliability], sentence: str) -> dict[str, Any]:
    """Return the update of the figure, which is hidden for drafters that predict nothing."""
    if not several:
        return gr.update(visible=False)
    return gr.update(value=shown(reliability_figure(several), sentence), visible=True)


def reliability_figure(several: Sequence[Reliability]) -> go.Figure:
    """Chart the share of accepted guesses by the prediction, in intervals of 10%."""
    most = max(count for each in several for count, _, _ in each["bins"])
    ideal = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="as predicted",
        line={"color": INK2, "dash": "dash", "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    marks = [
        go.Scatter(
            x=[mean for _, mean, _ in each["bins"]], y=[kept for _, _, kept in each["bins"]],
            customdata=[count for count, _, _ in each["bins"]], mode="markers",
            name=f"temperature {each['temperature']:g}",
            marker={
                "color": Q, "symbol": symbol, "line": {"color": INK2, "width": 1},
                "size": [max(6, 24 * (count / most) ** 0.5) for count, _, _ in each["bins"]],
            },
            hovertemplate="predicted %{x:.0%}, accepted %{y:.0%} of %{customdata}<extra></extra>",
        )
        for each, symbol in zip(several, ("circle", "diamond-open", "square-open"), strict=False)
    ]  # fmt: skip
    axis = {"range": [-0.04, 1.04], "tickformat": ".0%", "dtick": 0.25}
    made = chart([ideal, *marks], x="predicted", y="accepted", height=440, xaxis=axis, yaxis=axis)
    return made.update_layout(width=460, legend={"itemsizing": "constant"})


def wanted(title: Any) -> Task:
    """Return the task of a download. Raises BadSettings for a model that cannot be downloaded."""
    name, known = _name(title), fetchable()
    hint = did_you_mean(name, known)
    require(name in known, f"There is no model {name!r:.100} to download.{hint}")
    return Task(partial(download, name, title), 0.0)


def download(name: str, title: str, context: JobContext) -> Iterator[str]:
    """Download a model in a thread of its own, and yield its progress. Raises NotAvailable."""
    yield context.says("fetching")
    if context.unwanted():
        return
    shown = DownloadProgress(context.nonce)
    watch = FetchMonitor(shown.update, context.unwanted)
    with ThreadPoolExecutor(1, "fetch") as thread:
        fetching = thread.submit(public.fetch, name, shown.say, watch)
        fetching.add_done_callback(lambda _: shown.lines.put(""))
        while each := shown.lines.get():
            yield each
        fetching.result()
    shown.end(text("models", "downloaded", title=title))
    yield shown.lines.get()


class DownloadProgress:
    """Progress lines of a download: bytes at most every OFTEN seconds, and sentences at once."""

    def __init__(self, nonce: str) -> None:
        self.lines = SimpleQueue[str]()
        self._nonce = nonce
        self._sent = -OFTEN

    def update(self, done: int, whole: int) -> None:
        """Add the number of bytes, if enough time has passed. whole: total bytes; 0 if unknown."""
        now, last = monotonic(), whole > 0 and done >= whole
        if now - self._sent < OFTEN and not last:
            return
        self._sent = now
        megabytes = f"{done / 1e6:.1f}", f"{whole / 1e6:.1f}" if whole else ""
        self._put(done, whole, text("models", "progress", done=megabytes[0], whole=megabytes[1]))

    def say(self, sentence: str) -> None:
        """Add a line about a step, such as a source that is tried."""
        self._put(0, 0, sentence)

    def end(self, sentence: str) -> None:
        """Add the last line, with a sentence that stays."""
        self._put(0, 0, "", {}, sentence)

    def _put(self, *facts: Any) -> None:
        self.lines.put(progress(self._nonce, *facts))
