"""What papers and notes report; the house models' own numbers apart from it, and on request.

Rule: a published number stands with its source and how that was read; ours stand in a table of
their own, and no row holds both without saying whose each is.
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
from specviz.trace.metrics import mean_over_equal_text
from specviz.ui.component import TabContext, component

NAME: Final = "sv-headline"

FULL: Final[Mapping[str, str]] = {  # what the board shortens
    "SpS": "a draft model",
    "PLD": "prompt lookup, n-gram",
    "REST": "looks up in a data store",
    "Recycling": "guesses kept from earlier passes",
}


def build(place: TabContext) -> None:
    """Lay the section out; it asks the server nothing."""
    component(NAME, "cost/published/published", config())


def config() -> dict[str, Any]:
    """All that the script shows, as plain data."""
    return {
        "rows": [row(each) | {"place": f"row-{at}"} for at, each in enumerate(published_numbers())],
        "boards": [board(each, at) for at, each in enumerate(boards())],
        "secondhand": secondhand(),
        "evidence": [list(pair) for pair in EVIDENCE.items()],
        "full": dict(FULL),
        "ours": ours(_card(), published_numbers()),
    }


def row(each: Published) -> dict[str, Any]:
    """One published number. gain: what sorting goes by, 1 / the number where it is slower."""
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
    """How many of the numbers were read where others quote them."""
    known = published_numbers()
    number = sum(each.source.evidence == "2" for each in known)
    return (
        f"{number} of these {len(known)} numbers are second-hand: the original could not be read. "
        "Look one up before you cite it."
    )


def source(each: Source) -> dict[str, str]:
    """Where a number was read."""
    return {name: getattr(each, name) for name in ("title", "url", "evidence", "note")}


def board(each: Board, at: int = 0) -> dict[str, Any]:
    """One table of Spec-Bench, the fastest first. at: which of them it is."""
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
    """The numbers behind the card of the house models; None where there are none to read."""
    try:
        return measured()
    except ValueError:
        return None


def drafters() -> dict[str, str]:
    """By the name of a published method, the drafter here that is of its family."""
    return {entry.published_as: entry.name for entry in entries() if entry.published_as}


def ours(facts: Mapping[str, Any] | None, known: Sequence[Published]) -> dict[str, Any] | None:
    """By family what was published, and what the house models measured; None without a card."""
    if facts is None:
        return None
    device, threads = facts["machine"]["device"], facts["threads"]
    return {
        "heading": f"house models, this repository's card: measured, {device}",
        "how": (
            f"Temperature 0, {facts['dtype']}, {threads} threads, {facts['new_tokens']} new "
            f"tokens, {facts['prompts']} prompts in each of {len(domains(facts))} domains: "
            f"{', '.join(domains(facts))}. Over as much text of each, "
            "and the slowest and fastest; α is averaged over the domains."
        ),
        "rows": list(_families(facts, known)),
    }


def domains(facts: Mapping[str, Any]) -> list[str]:
    """The domains of the card, in its order."""
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
    """Ours over as much text of each domain, and how far they lie apart."""
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
    """All speed-ups of a family, from the worst to the best."""
    slower = [each.high for each in known if each.unit == "× slower"]
    faster = [bound for each in known if each.unit == "×" for bound in (each.low, each.high)]
    if slower:
        best = f" to {max(faster):g} ×" if faster else ""
        return f"{max(slower):g} × slower{best}"
    if not faster:
        return ""
    low, high = min(faster), max(faster)
    return f"{low:g} ×" if low == high else f"{low:g} to {high:g} ×"


def _said(text: str) -> str:
    """Empty where the source does not say it."""
    return "" if text == NOT_STATED else text
