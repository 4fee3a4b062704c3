"""Published speed-ups and Spec-Bench: one table with sources, and the House models' numbers.

The House models' numbers are in a table of their own, never in the same column as published ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

import gradio as gr

from specviz.catalog.entry import entries
from specviz.cost.published import board_numbers, device_of, family_of, titled
from specviz.cost.sources import (
    EVIDENCE,
    NOT_STATED,
    Board,
    Evidence,
    Published,
    Source,
    boards,
    published_numbers,
)
from specviz.settings.settings import require
from specviz.shipped import measured
from specviz.texts import text
from specviz.trace.metrics import mean_over_equal_text
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, verbatim
from specviz.ui.table import Cell, data_table, filled

ALL: Final = "all"
PAPERS: Final = "papers"  # everything but Spec-Bench
START: Final[dict[str, Any]] = {"family": ALL, "place": ALL}
COLUMNS: Final = {
    "family": 120, "reported": 112, "what it is": 290, "measured on": 330, "source": 210,
    "read": 110,
}  # fmt: skip
READ: Final[Mapping[Evidence, str]] = {
    "S": "whole", "R": "README, blog", "A": "abstract", "2": "second-hand",
}  # fmt: skip
MISSING: Final = {"A": "in the abstract", "2": "in the quotation"}  # by how a source was read


def build(place: TabContext) -> None:
    """Build the instrument."""
    first = respond(START)["answer"]
    names = "published boards"
    with Instrument(place, names, "Published speed-ups", "published", first) as instrument:
        gr.Markdown(text("cost", "published_lead", secondhand=secondhand()))
        with gr.Row():
            family = gr.Dropdown(
                [("All", ALL), *((name, name) for name in families())], value=ALL,
                label="Drafter family",
            )  # fmt: skip
            where = gr.Dropdown(
                [("All", ALL), ("Papers, blogs and READMEs", PAPERS), *board_titles()], value=ALL,
                label="Measured in",
            )  # fmt: skip
        table = data_table("sv-published", "Published numbers with their sources")
        gr.Markdown(text("cost", "published_evidence", kinds=evidence()), elem_classes="sv-note")
        if mine := ours(published_numbers()):
            with gr.Accordion("Ours beside them", open=False):
                gr.Markdown(mine, elem_classes="sv-listing", elem_id="sv-published-ours")
    instrument.wire(
        {"family": family, "place": where}, {"table": table}, respond,
        keys={"family": "family", "board": "place"},
    )  # fmt: skip


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    family, place = values["family"], values["place"]
    require(family in (ALL, *families()), "There is no such family.")
    require(place in (ALL, PAPERS, *map(str, range(len(boards())))), "There is no such table.")
    if place not in (ALL, PAPERS):
        return board_outputs(boards()[int(place)], family)
    known = [*published_numbers(), *(board_numbers() if place == ALL else ())]
    known = [each for each in known if family in (ALL, each.method)]
    return {"answer": brief(known, family), "table": filled(COLUMNS, [row(each) for each in known])}


def board_outputs(board: Board, family: str) -> dict[str, Any]:
    """Return the outputs for one table of Spec-Bench, the fastest method first."""
    rows = sorted(board.rows, key=lambda found: -found.overall)
    columns = {"method": 250, "overall": 90, "tokens per pass": 110}
    columns |= dict.fromkeys(board.tasks, 120)
    cells: list[list[Cell]] = [
        [
            titled(each),
            factor(each.overall),
            (each.tokens_per_pass, f"{each.tokens_per_pass:.2f}"),
            *map(factor, each.speedups),
        ]
        for each in rows
        if family in (ALL, family_of(each))
    ]
    said = text(
        "cost", "board_answer", title=board_title(board), method=rows[0].method,
        speedup=f"{rows[0].overall:.2f} ×", conditions=board.conditions, count=len(cells),
    )  # fmt: skip
    return {"answer": f"{said} {link(board.source)}", "table": filled(columns, cells)}


def factor(speedup: float) -> Cell:
    """Return the cell of a speed-up."""
    return speedup, f"{speedup:.2f} ×"


def row(each: Published) -> list[Cell]:
    """Return the cells of a number; numbers are sorted as factors, acceptance last."""
    return [
        each.method,
        (0.0, f"{each.number} accepted") if each.unit == "%" else (each.gain, each.number),
        each.says,
        measured_on(each),
        (each.source.title, link(each.source)),
        READ[each.source.evidence],
    ]


def measured_on(each: Published) -> str:
    """Return model, task, hardware and conditions, and which of them the source does not state."""
    facts = {name: getattr(each, name) for name in ("model", "task", "hardware", "conditions")}
    stated = [fact for fact in facts.values() if fact != NOT_STATED]
    missing = [name for name, fact in facts.items() if fact == NOT_STATED]
    if missing:
        where = MISSING.get(each.source.evidence, "in the source")
        stated.append(f"no {' or '.join(missing)} {where}")
    return "; ".join(stated)


def link(source: Source) -> str:
    """Return a source as a link, followed by its note."""
    title = verbatim(source.title)
    linked = f"[{title}]({source.url})" if source.url.startswith("https://") else title
    return f"{linked} ({verbatim(source.note)})" if source.note else linked


def families() -> list[str]:
    """Return all families: first those of papers, then others of Spec-Bench."""
    names = [each.method for each in published_numbers()]
    return list(dict.fromkeys([*names, *(each.method for each in board_numbers())]))


def board_title(board: Board) -> str:
    """Return the title of a table of Spec-Bench."""
    return f"Spec-Bench, {board.model} on {device_of(board)}"


def board_titles() -> list[tuple[str, str]]:
    """Return the tables of Spec-Bench as choices."""
    return [(board_title(each), str(at)) for at, each in enumerate(boards())]


def secondhand() -> str:
    """Return in words how many of the numbers are quoted from other sources."""
    known = [each for each in published_numbers() if each.unit != "%"]
    number = sum(each.source.evidence == "2" for each in known)
    return text("cost", "published_secondhand", number=number, count=len(known))


def evidence() -> str:
    """Return what the words of the last column mean."""
    return "; ".join(f"**{READ[letter]}**: {EVIDENCE[letter]}" for letter in READ)


def brief(known: Sequence[Published], family: str) -> str:
    """Return the range of the speed-ups."""
    gains = [each for each in known if each.unit != "%"]
    if not gains:
        return text("cost", "published_none")
    whose = "" if family == ALL else verbatim(family)
    papers = [each for each in published_numbers() if each in gains]
    return text(
        "cost", "published_brief", count=len(gains), whose=whose, span=span(gains),
        boards=len(gains) - len(papers),
    )  # fmt: skip


def span(known: Sequence[Published]) -> str:
    """Format all speed-ups of a family, from the worst to the best."""
    slower = [each.high for each in known if each.unit == "× slower"]
    faster = [bound for each in known if each.unit == "×" for bound in (each.low, each.high)]
    if slower:
        best = f" to {max(faster):g} ×" if faster else ""
        return f"{max(slower):g} × slower{best}"
    if not faster:
        return ""
    low, high = min(faster), max(faster)
    return f"{low:g} ×" if low == high else f"{low:g} to {high:g} ×"


def drafters() -> dict[str, str]:
    """Map the names of published methods to the drafters of the same family here."""
    return {entry.published_as: entry.name for entry in entries() if entry.published_as}


def ours(known: Sequence[Published]) -> str:
    """Return each family's published range and, if they can be read, the House models' numbers."""
    try:
        facts = measured()
    except ValueError:
        facts = None
    if facts is None:
        return ""
    domains = list(dict.fromkeys(found["domain"] for found in facts["rows"]))
    device = verbatim(facts["machine"]["device"])
    how = text(
        "cost", "published_ours", device=device, dtype=facts["dtype"], threads=facts["threads"],
        tokens=facts["new_tokens"], prompts=facts["prompts"], count=len(domains),
        domains=", ".join(domains),
    )  # fmt: skip
    head = (
        "| family | published, on other models and hardware | House, measured here "
        "| slowest and fastest domain | tokens per pass | α |\n|---|---|--:|---|--:|--:|"
    )
    return "\n".join([how, "", head, *_families(facts, known)])


def _families(facts: Mapping[str, Any], known: Sequence[Published]) -> Iterator[str]:
    here = drafters()
    for method in dict.fromkeys(each.method for each in known):
        drafter = here.get(method, "")
        mine = [r for r in facts["rows"] if r["name"] == drafter and r["temperature"] == 0.0]
        published = span([each for each in known if each.method == method])
        yield f"| {method} | {published} | {' | '.join(_own_cells(mine))} |"


def _own_cells(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    if not rows:
        return ["–", "not measured", "–", "–"]
    ordered = sorted(rows, key=lambda found: found["ratio_to_plain"])
    low, high = (f"{r['ratio_to_plain']:.2f} × ({r['domain']})" for r in (ordered[0], ordered[-1]))
    chances = [found["alpha"] for found in rows if found["alpha"] is not None]
    return [
        f"**{mean_over_equal_text(found['ratio_to_plain'] for found in rows):.2f} ×**",
        f"{low} to {high}",
        f"{mean_over_equal_text(found['tokens_per_pass'] for found in rows):.2f}",
        f"{fmean(chances):.2f}" if chances else "–",
    ]
