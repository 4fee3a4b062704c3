"""Published speed-ups with their sources; the House models' own numbers are separate, on request.

Published and own numbers never share a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from specviz.catalog.entry import entries
from specviz.cost.sources import (
    EVIDENCE,
    NOT_STATED,
    Board,
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

FULL: Final[Mapping[str, str]] = {  # Spec-Bench's abbreviations
    "SpS": "a draft model",
    "PLD": "prompt lookup, n-gram",
    "REST": "retrieval from a data store",
    "Recycling": "candidates from earlier passes",
}


def build(place: TabContext) -> None:
    """Build the section. It sends no questions to the server."""
    component(NAME, "cost/published/published", config())


def config() -> dict[str, Any]:
    """Return all data that the script shows."""
    return {
        "rows": [row(each) | {"place": f"row-{at}"} for at, each in enumerate(published_numbers())],
        "boards": [board(each, at) for at, each in enumerate(boards())],
        "secondhand": secondhand(),
        "brief": [brief(), boards_brief()],
        "evidence": [list(pair) for pair in EVIDENCE.items()],
        "full": dict(FULL),
        "ours": ours(_card(), published_numbers()),
    }


def row(each: Published) -> dict[str, Any]:
    """Return one published number. `gain` is the sort key, inverted for slow-downs."""
    return {
        "method": each.method,
        "says": each.says,
        "number": each.number,
        "kind": {"×": "speed-up", "× slower": "slower", "%": "accepted"}[each.unit],
        "gain": 1 / each.high if each.unit == "× slower" else each.high,
        "model": _said(each.model),
        "task": _said(each.task),
        "hardware": _said(each.hardware),
        "conditions": _said(each.conditions),
        "source": source(each.source),
    }


def secondhand() -> str:
    """Say how many of the numbers are quoted from other sources."""
    known = published_numbers()
    number = sum(each.source.evidence == "2" for each in known)
    return (
        f"{number} of these {len(known)} numbers are second-hand, since the original could not be "
        "read: check the original before you cite one."
    )


def brief() -> str:
    """Say how far the published speed-ups range."""
    known = [each for each in published_numbers() if each.unit != "%"]
    return text("cost", "published_brief", count=len(known), span=_range(known))


def boards_brief() -> str:
    """Name the highest overall speed-up of Spec-Bench, and where it was measured."""
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


def source(each: Source) -> dict[str, str]:
    """Return the source of a number."""
    return {name: getattr(each, name) for name in ("title", "url", "evidence", "note")}


def board(each: Board, at: int = 0) -> dict[str, Any]:
    """Return one table of Spec-Bench, the fastest method first.

    Args:
        each: The table.
        at: Its index.
    """
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
    """Map the name of a published method to the drafter of its family here."""
    return {entry.published_as: entry.name for entry in entries() if entry.published_as}


def ours(facts: Mapping[str, Any] | None, known: Sequence[Published]) -> dict[str, Any] | None:
    """Return the published range and the House models' numbers by family; None without a card."""
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


def _families(facts: Mapping[str, Any], known: Sequence[Published]) -> Iterator[dict[str, Any]]:
    here = drafters()
    for method in dict.fromkeys(each.method for each in known):
        drafter = here.get(method, "")
        mine = [r for r in facts["rows"] if r["name"] == drafter and r["temperature"] == 0.0]
        yield {
            "method": method,
            "published": _range([each for each in known if each.method == method]),
            **_mine(mine),
        }


def _mine(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return our mean over the same amount of text per domain, and the extremes."""
    if not rows:
        return {"speedup": "", "apart": "not measured", "passes": "", "alpha": ""}
    ordered = sorted(rows, key=lambda found: found["ratio_to_plain"])
    low, high = ordered[0], ordered[-1]
    chances = [found["alpha"] for found in rows if found["alpha"] is not None]
    return {
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
