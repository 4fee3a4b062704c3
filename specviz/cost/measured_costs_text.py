"""What measured costs of a shape say in words, and as rows.

Rule: every sentence follows from the numbers of the file it is about; what rests on an acceptance
that somebody chose is simulated, and said to be. Standard library only.
"""

from __future__ import annotations

from itertools import chain
from statistics import median
from typing import Any

from specviz.cost.measured_costs import (
    ContextCosts,
    CostFile,
    ModelCosts,
    RoundCost,
    RoundTimes,
    round_cost,
)
from specviz.cost.sweep_text import (
    NOISY_SPREAD,
    describe_peaks,
    format_milliseconds,
    middle_half,
)

BUSY_LOAD = 1.0  # processes beside the measurement: from there on it is said


def describe_machine(file: CostFile) -> str:
    """The machine and the day."""
    machine = f"{file.machine} ({file.processor})" if file.device == "cpu" else file.machine
    threads = f"{file.threads} thread{'' if file.threads == 1 else 's'}"
    parts = [machine, file.dtype, *([threads] if file.device == "cpu" else [])]
    return " · ".join([*parts, file.date])


def describe_method(file: CostFile, costs: ModelCosts, place: ContextCosts) -> str:
    """How it was measured."""
    counts = [len(format_passes) for format_passes in _all_times(place)]
    format_passes = (
        f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    )
    packing = "" if costs.packing == "usual" else f" ({costs.packing})"
    said = (
        f"Medians of {format_passes} turns in shuffled order, {place.context:,} tokens in the cache, "
        f"temperature 0, weights random: times are as with trained ones, texts are not. Weights "
        f"take {format_bytes(costs.bytes)}{packing}, the cache {format_bytes(place.cache_bytes)}"
    )
    peak = f", all together at most {format_bytes(place.peak_bytes)}" if place.peak_bytes else ""
    torch = f" With torch {file.versions['torch']}." if "torch" in file.versions else ""
    return f"{said}{peak}.{torch} {describe_peaks(file.sweep(costs, place))}".rstrip()


def caution(file: CostFile, place: ContextCosts) -> str:
    """What to hold against the numbers; empty where there is nothing."""
    found = []
    if is_noisy(place):
        found.append(
            "The machine was too busy: the same work took very different times. Hold these numbers "
            "for rough."
        )
    elif file.device == "cpu" and file.load is not None and file.load >= BUSY_LOAD:
        found.append(f"Other work went on: {file.load:.1f} processes wanted a core beforehand.")
    if not file.complete:
        found.append("It was stopped before its end, so some of this rests on few turns.")
    return " ".join(found)


def is_noisy(place: ContextCosts) -> bool:
    """Whether the same work took very different times: see `sweep_text.restless`."""
    spreads = [
        (high - low) / usual
        for format_passes in _all_times(place)
        if (usual := median(format_passes)) > 0.0
        for low, high in [middle_half(format_passes)]
    ]
    return bool(spreads) and median(spreads) > NOISY_SPREAD


def headline(file: CostFile, costs: ModelCosts, place: ContextCosts) -> tuple[str, str]:
    """What is said first, and what to hold against it; of a busy machine, that comes first."""
    said, against = summarize(file, costs, place), caution(file, place)
    if is_noisy(place):
        return against, f"What came out, for what it is worth: {said}"
    return said, against


def summarize(file: CostFile, costs: ModelCosts, place: ContextCosts) -> str:
    """What more tokens in a pass cost."""
    sweep = file.sweep(costs, place)
    plain, known = sweep.plain, [one.tokens for one in place.passes if one.tokens > 1]
    if plain is None or not known:
        return "Too little was measured to say what a longer pass takes."
    shown = [size for size in known if size in (8, 64)] or known[-1:]
    said = ", ".join(
        f"over {size} tokens {format_passes(sweep.passes(size) or 0.0)}" for size in shown
    )
    return (
        f"A plain pass of {costs.title} takes {format_milliseconds(plain)} ms there; a longer one takes, "
        f"in plain passes, {said}."
    )


def drafter_rows(costs: ModelCosts, place: ContextCosts, alpha: float) -> list[dict[str, Any]]:
    """By drafter, ready to be shown as text; `speedup` and `even` are simulated.

    alpha: the acceptance that somebody chose.
    """
    return [_row(costs, place, one, alpha) for one in place.rounds]


def _row(costs: ModelCosts, place: ContextCosts, one: RoundTimes, alpha: float) -> dict[str, Any]:
    drafter = next(each for each in costs.drafters if each.name == one.drafter)
    found = round_cost(costs, place, one)
    low, high = middle_half(one.draft)
    return {
        "title": drafter.title,
        "about": drafter.about,
        "draft": format_milliseconds(median(one.draft)),
        "middle": f"{format_milliseconds(low)} to {format_milliseconds(high)}",
        "share": format_passes(found.draft),
        "level": f"{found.level:.3f}",
        "check": format_passes(found.check),
        "rest": format_passes(found.rest),
        "whole": format_passes(found.whole),
        "even": format_break_even(found),
        "speedup": f"{format_passes(found.speedup(alpha))} ×",
        "gains": found.speedup(alpha) > 1.0,
    }


def format_break_even(found: RoundCost) -> str:
    """The α from which on drafting pays."""
    return "never" if found.even is None else f"{found.even:.2f}"


def format_passes(value: float) -> str:
    """In plain passes."""
    return f"{value:.2f}"


def format_bytes(size: float) -> str:
    """Bytes for a person."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def _all_times(place: ContextCosts) -> list[list[float]]:
    """The measurements of each kind of turn; of a round, the whole."""
    kinds = chain((p.seconds for p in place.passes), (one.whole for one in place.rounds))
    return [place.plain, *kinds]
