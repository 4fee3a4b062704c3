"""EAGLE, Medusa and MTP side by side: an instrument of the catalogue's facts and measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

import gradio as gr

from specviz.catalog.entry import Entry, find
from specviz.settings.settings import require
from specviz.shipped import measured
from specviz.texts import text
from specviz.trace.metrics import mean_over_equal_text
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, verbatim

NAMES: Final = ("eagle", "eagle2", "eagle3", "medusa", "mtp")
TARGET: Final = "house"
TEMPERATURES: Final = (0, 1)


def build(place: TabContext) -> None:
    """Build the instrument; nothing without measurements."""
    if measured() is None:
        return
    first = respond({"temperature": TEMPERATURES[0]})
    title = "EAGLE, Medusa and MTP side by side"
    with Instrument(place, "heads", title, "measured", first["answer"]) as instrument:
        gr.Markdown(text("models", "heads_lead"))
        temperature = gr.Radio(TEMPERATURES, value=TEMPERATURES[0], label="Temperature")
        table = gr.Markdown(first["table"], elem_classes="sv-listing")
    instrument.wire({"temperature": temperature}, {"table": table}, respond)


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    temperature, found = values["temperature"], measured() or {}
    require(temperature in TEMPERATURES, "There is no measurement at this temperature.")
    columns = [Column(name, temperature, found) for name in NAMES]
    best = sorted(columns, key=lambda each: -each.tokens)
    tokens = [f"{each.entry.title} {each.tokens:.2f}" for each in best]
    return {
        "answer": text(
            "models", "heads_answer", tokens=", ".join(tokens), temperature=f"{temperature}",
            device=verbatim(found["machine"]["device"]),
        ),
        "table": table_of(columns),
    }  # fmt: skip


class Column:
    """The facts of one drafter.

    Attributes:
        tokens: Its mean tokens per pass.
        cells: What is shown, by the names of the table's rows.
    """

    def __init__(self, name: str, temperature: int, found: Mapping[str, Any]) -> None:
        self.entry = entry_of(name)
        facts = found["drafters"][name]
        rows = [
            row
            for row in found["rows"]
            if row["name"] == name and row["temperature"] == temperature
        ]
        self.tokens = mean_over_equal_text(row["tokens_per_pass"] for row in rows)
        speedup = mean_over_equal_text(row["ratio_to_plain"] for row in rows)
        target = find(TARGET, "target")
        share = facts["parameters"] / target.parameters if target else 0.0
        sampled = facts["settings"].get("candidates") == "sampled"
        self.cells = {
            "How it drafts": verbatim(self.entry.how),
            "What it reads": verbatim(self.entry.knows),
            "What a draft costs": verbatim(self.entry.costs),
            "Shape of a draft": shape_of(facts["settings"]),
            "Guesses at temperature 1": text("models", "heads_guesses", sampled=sampled),
            "Extra weights": text(
                "models", "heads_weights", millions=f"{facts['parameters'] / 1e6:.2f}",
                share=f"{100 * share:.0f}",
            ),
            "Guesses per round": f"{fmean(row['guesses_per_round'] for row in rows):.1f}",
            "Drafting, in plain passes": f"{fmean(row['round_draft_cost'] for row in rows):.2f}",
            "Checking, in plain passes": f"{fmean(row['round_check_cost'] for row in rows):.2f}",
            "Tokens per pass": f"**{self.tokens:.2f}**",
            "Speed-up": f"**{speedup:.2f} ×**",
        }  # fmt: skip

    @property
    def head(self) -> str:
        """Its title as a link to its paper."""
        paper = self.entry.papers[0]
        return f"[{self.entry.title}](https://arxiv.org/abs/{paper['arxiv']}), {paper['year']}"


def entry_of(name: str) -> Entry:
    """Return a drafter's row of the catalogue. Raises ValueError if there is none."""
    entry = find(name, "drafter")
    if entry is None:
        raise ValueError(f"The catalogue has no drafter {name!r}.")
    return entry


def shape_of(settings: Mapping[str, Any]) -> str:
    """Return the shape of a draft with these settings in words."""
    grown = bool(settings.get("budget"))
    tree = grown or bool(settings.get("rank_paths") or settings.get("siblings"))
    return text("models", "heads_shape", tree=tree, grown=grown, gamma=settings["gamma"])


def table_of(columns: Sequence[Column]) -> str:
    """Return the facts as a table in Markdown: a column for each drafter."""
    heads = ["", *(each.head for each in columns)]
    rows = [[f"**{name}**", *(each.cells[name] for each in columns)] for name in columns[0].cells]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
