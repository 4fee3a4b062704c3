"""What measured costs of a shape say in words, and as rows.

Rule: every sentence follows from the numbers of the file it is about; what rests on an acceptance
that somebody chose is simulated, and said to be. Standard library only.
"""

from __future__ import annotations

from itertools import chain
from statistics import median
from typing import Any

from specviz.cost.shape_file import Costs, Place, Price, Round, ShapeFile, price
from specviz.cost.sweep_text import RESTLESS, middle, milliseconds, peaks_said

BUSY = 1.0  # processes beside the measurement: from there on it is said


def where(file: ShapeFile) -> str:
    """The machine and the day."""
    machine = f"{file.machine} ({file.processor})" if file.device == "cpu" else file.machine
    threads = f"{file.threads} thread{'' if file.threads == 1 else 's'}"
    parts = [machine, file.dtype, *([threads] if file.device == "cpu" else [])]
    return " · ".join([*parts, file.date])


def how(file: ShapeFile, costs: Costs, place: Place) -> str:
    """How it was measured."""
    counts = [len(times) for times in _all_times(place)]
    times = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    packing = "" if costs.packing == "usual" else f" ({costs.packing})"
    said = (
        f"Medians of {times} turns in shuffled order, {place.context:,} tokens in the cache, "
        f"temperature 0, weights random: times are as with trained ones, texts are not. Weights "
        f"take {gigabytes(costs.bytes)}{packing}, the cache {gigabytes(place.cache_bytes)}"
    )
    peak = f", all together at most {gigabytes(place.peak_bytes)}" if place.peak_bytes else ""
    torch = f" With torch {file.versions['torch']}." if "torch" in file.versions else ""
    return f"{said}{peak}.{torch} {peaks_said(file.sweep(costs, place))}".rstrip()


def caution(file: ShapeFile, place: Place) -> str:
    """What to hold against the numbers; empty where there is nothing."""
    found = []
    if restless(place):
        found.append(
            "The machine was too busy: the same work took very different times. Hold these numbers "
            "for rough."
        )
    elif file.device == "cpu" and file.load is not None and file.load >= BUSY:
        found.append(f"Other work went on: {file.load:.1f} processes wanted a core beforehand.")
    if not file.complete:
        found.append("It was stopped before its end, so some of this rests on few turns.")
    return " ".join(found)


def restless(place: Place) -> bool:
    """Whether the same work took very different times: see `sweep_text.restless`."""
    spreads = [
        (high - low) / usual
        for times in _all_times(place)
        if (usual := median(times)) > 0.0
        for low, high in [middle(times)]
    ]
    return bool(spreads) and median(spreads) > RESTLESS


def headline(file: ShapeFile, costs: Costs, place: Place) -> tuple[str, str]:
    """What is said first, and what to hold against it; of a busy machine, that comes first."""
    said, against = answer(file, costs, place), caution(file, place)
    if restless(place):
        return against, f"What came out, for what it is worth: {said}"
    return said, against


def answer(file: ShapeFile, costs: Costs, place: Place) -> str:
    """What more tokens in a pass cost."""
    sweep = file.sweep(costs, place)
    plain, known = sweep.plain, [one.tokens for one in place.passes if one.tokens > 1]
    if plain is None or not known:
        return "Too little was measured to say what a longer pass takes."
    shown = [size for size in known if size in (8, 64)] or known[-1:]
    said = ", ".join(f"over {size} tokens {times(sweep.passes(size) or 0.0)}" for size in shown)
    return (
        f"A plain pass of {costs.title} takes {milliseconds(plain)} ms there; a longer one takes, "
        f"in plain passes, {said}."
    )


def rows(costs: Costs, place: Place, alpha: float) -> list[dict[str, Any]]:
    """By drafter, ready to be shown as text; `speedup` and `even` are simulated.

    alpha: the acceptance that somebody chose.
    """
    return [_row(costs, place, one, alpha) for one in place.rounds]


def _row(costs: Costs, place: Place, one: Round, alpha: float) -> dict[str, Any]:
    drafter = next(each for each in costs.drafters if each.name == one.drafter)
    found = price(costs, place, one)
    low, high = middle(one.draft)
    return {
        "title": drafter.title,
        "about": drafter.about,
        "draft": milliseconds(median(one.draft)),
        "middle": f"{milliseconds(low)} to {milliseconds(high)}",
        "share": times(found.draft),
        "level": f"{found.level:.3f}",
        "check": times(found.check),
        "rest": times(found.rest),
        "whole": times(found.whole),
        "even": even(found),
        "speedup": f"{times(found.speedup(alpha))} ×",
        "gains": found.speedup(alpha) > 1.0,
    }


def even(found: Price) -> str:
    """The α from which on drafting pays."""
    return "never" if found.even is None else f"{found.even:.2f}"


def times(value: float) -> str:
    """In plain passes."""
    return f"{value:.2f}"


def gigabytes(size: float) -> str:
    """Bytes for a person."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _all_times(place: Place) -> list[list[float]]:
    """The measurements of each kind of turn; of a round, the whole."""
    kinds = chain((p.seconds for p in place.passes), (one.whole for one in place.rounds))
    return [place.plain, *kinds]
