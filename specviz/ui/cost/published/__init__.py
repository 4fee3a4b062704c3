"""Published speed-ups with their sources, and on request speed-ups of the shipped models.

The shipped models are called House. Their numbers are never in the same column as published ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, Literal, TypedDict

from specviz.catalog.entry import entries
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
from specviz.shipped import measured
from specviz.texts import text
from specviz.trace.metrics import mean_over_equal_text
from specviz.ui.component import TabContext, component

NAME: Final = "sv-headline"
Kind = Literal["speed-up", "slower", "accepted"]
KINDS: Final[Mapping[str, Kind]] = {"×": "speed-up", "× slower": "slower", "%": "accepted"}

FULL: Final[Mapping[str, str]] = {  # Spec-Bench's abbreviations
    "SpS": "a draft model",
    "PLD": "prompt lookup, n-gram",
    "REST": "retrieval from a data store",
    "Recycling": "candidates from earlier passes",
}


class SourceData(TypedDict):
    """A Source as sent to the page."""

    title: str
    url: str
    evidence: Evidence
    note: str


class PublishedData(TypedDict):
    """A Published number as sent to the page; a fact that its source does not state is empty.

    Attributes:
        gain: The sort key, inverted for slow-downs.
        place: Id of its row on the page.
    """

    method: str
    says: str
    number: str
    kind: Kind
    gain: float
    model: str
    task: str
    hardware: str
    conditions: str
    source: SourceData
    place: str


class BoardRowData(TypedDict):
    """A method on Spec-Bench.

    Attributes:
        place: Id of its row on the page.
    """

    place: str
    method: str
    speedups: list[str]
    passes: str
    overall: str


class BoardData(TypedDict):
    """One table of Spec-Bench, the fastest method first."""

    device: str
    model: str
    conditions: str
    tasks: list[str]
    source: SourceData
    rows: list[BoardRowData]


class OwnRow(TypedDict):
    """A family: the published range, and the House models' numbers if they were measured.

    Attributes:
        apart: The slowest and the fastest domain.
    """

    method: str
    published: str
    speedup: str
    apart: str
    passes: str
    alpha: str


class Own(TypedDict):
    """The House models' numbers with the published ranges.

    Attributes:
        how: How they were measured.
    """

    heading: str
    how: str
    rows: list[OwnRow]


class Config(TypedDict):
    """Everything that the section shows.

    Attributes:
        secondhand: How many numbers are quoted from other sources.
        brief: One sentence on the numbers, and one on the tables.
        evidence: The kinds of evidence by letter, with their meaning.
        full: Full names of methods, by Spec-Bench's abbreviations.
    """

    rows: list[PublishedData]
    boards: list[BoardData]
    secondhand: str
    brief: tuple[str, str]
    evidence: list[tuple[Evidence, str]]
    full: Mapping[str, str]
    ours: Own | None


def build(place: TabContext) -> None:
    """Build the section, which sends no questions to the server."""
    component(NAME, "cost/published/published", config())


def config() -> Config:
    """Return all data that the script shows."""
    return {
        "rows": [row(each, at) for at, each in enumerate(published_numbers())],
        "boards": [board(each, at) for at, each in enumerate(boards())],
        "secondhand": secondhand(),
        "brief": (brief(), boards_brief()),
        "evidence": list(EVIDENCE.items()),
        "full": FULL,
        "ours": ours(_card(), published_numbers()),
    }


def row(each: Published, at: int = 0) -> PublishedData:
    """Return one published number; `at` is its index."""
    return {
        "method": each.method,
        "says": each.says,
        "number": each.number,
        "kind": KINDS[each.unit],
        "gain": 1 / each.high if each.unit == "× slower" else each.high,
        "model": _said(each.model),
        "task": _said(each.task),
        "hardware": _said(each.hardware),
        "conditions": _said(each.conditions),
        "source": source(each.source),
        "place": f"row-{at}",
    }


def secondhand() -> str:
    """Return in words how many of the numbers are quoted from other sources."""
    known = published_numbers()
    number = sum(each.source.evidence == "2" for each in known)
    return (
        f"{number} of these {len(known)} numbers are second-hand, since the original could not be "
        "read: check the original before you cite one."
    )


def brief() -> str:
    """Return the range of the published speed-ups."""
    known = [each for each in published_numbers() if each.unit != "%"]
    return text("cost", "published_brief", count=len(known), span=_range(known))


def boards_brief() -> str:
    """Return the highest overall speed-up on Spec-Bench, and where it was measured."""
    every = [(row.overall, row.method, each) for each in boards() for row in each.rows]
    speedup, method, found = max(every, key=lambda row: row[0])
    device = found.device.removeprefix("a single ").partition(" (")[0]
    return text(
        "cost",
        "boards_brief",
        count=len(boards()),
        speedup=f"{speedup:.2f} ×",
        method=method,
        model=found.model,
        device=device,
    )


def source(each: Source) -> SourceData:
    """Return the source of a number."""
    return {
        "title": each.title, "url": each.url, "evidence": each.evidence, "note": each.note,
    }  # fmt: skip


def board(each: Board, at: int) -> BoardData:
    """Return one table of Spec-Bench, the fastest method first; `at` is its index."""
    rows = sorted(each.rows, key=lambda found: -found.overall)
    return {
        "device": each.device.removeprefix("a single "),
        "model": each.model,
        "conditions": each.conditions,
        "tasks": each.tasks,
        "source": source(each.source),
        "rows": [
            {
                "place": f"board-{at}-{found.method}",
                "method": found.method,
                "speedups": [f"{value:.2f}" for value in found.speedups],
                "passes": f"{found.tokens_per_pass:.2f}",
                "overall": f"{found.overall:.2f}",
            }
            for found in rows
        ],
    }


def _card() -> dict[str, Any] | None:
    """Return the numbers behind the House models' card; None if they cannot be read."""
    try:
        return measured()
    except ValueError:
        return None


def drafters() -> dict[str, str]:
    """Map the names of published methods to the drafters of the same family here."""
    return {entry.published_as: entry.name for entry in entries() if entry.published_as}


def ours(facts: Mapping[str, Any] | None, known: Sequence[Published]) -> Own | None:
    """Return, for each family, the published range and the House models' numbers.

    None if the card cannot be read.
    """
    if facts is None:
        return None
    device, threads = facts["machine"]["device"], facts["threads"]
    return {
        "heading": f"House models, measured on {device}",
        "how": (
            f"Temperature 0, {facts['dtype']}, {threads} threads, {facts['new_tokens']} new "
            f"tokens, {facts['prompts']} prompts in each of {len(domains(facts))} domains: "
            f"{', '.join(domains(facts))}. The speed-up is for the same amount of text from each "
            "domain, followed by the slowest and the fastest; α is averaged over the domains."
        ),
        "rows": list(_families(facts, known)),
    }


def domains(facts: Mapping[str, Any]) -> list[str]:
    """Return the domains of the card, in its order."""
    return list(dict.fromkeys(found["domain"] for found in facts["rows"]))


def _families(facts: Mapping[str, Any], known: Sequence[Published]) -> Iterator[OwnRow]:
    here = drafters()
    for method in dict.fromkeys(each.method for each in known):
        drafter = here.get(method, "")
        mine = [r for r in facts["rows"] if r["name"] == drafter and r["temperature"] == 0.0]
        yield _own_row(method, _range([each for each in known if each.method == method]), mine)


def _own_row(method: str, published: str, rows: Sequence[Mapping[str, Any]]) -> OwnRow:
    """Return our mean over equal amounts of text per domain, and the extremes."""
    shown: OwnRow = {
        "method": method, "published": published,
        "speedup": "", "apart": "not measured", "passes": "", "alpha": "",
    }  # fmt: skip
    if not rows:
        return shown
    ordered = sorted(rows, key=lambda found: found["ratio_to_plain"])
    low, high = ordered[0], ordered[-1]
    chances = [found["alpha"] for found in rows if found["alpha"] is not None]
    return {
        **shown,
        "speedup": f"{mean_over_equal_text(found['ratio_to_plain'] for found in rows):.2f} ×",
        "apart": (
            f"{low['ratio_to_plain']:.2f} × ({low['domain']}) to "
            f"{high['ratio_to_plain']:.2f} × ({high['domain']})"
        ),
        "passes": f"{mean_over_equal_text(found['tokens_per_pass'] for found in rows):.2f}",
        "alpha": f"{fmean(chances):.2f}" if chances else "",
    }


def _range(known: Sequence[Published]) -> str:
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


def _said(fact: str) -> str:
    """Return the fact, or an empty text if the source does not state it."""
    return "" if fact == NOT_STATED else fact
