"""Measured costs of a model's shape as sentences; their wording is in texts/cost.jinja."""

from __future__ import annotations

from itertools import chain
from typing import Final

from specviz.cost.formatting import (
    describe_counts,
    format_bytes,
    format_milliseconds,
    format_passes,
)
from specviz.cost.measured_costs import (
    ContextCosts,
    CostFile,
    ModelCosts,
    RoundCost,
)
from specviz.cost.sweep import Sweep
from specviz.cost.sweep_text import describe_peaks, vary
from specviz.texts import text
from specviz.trace.metrics import MEMORY_BOUND

BUSY_LOAD: Final = 1.0  # load average above which the page says that the machine was busy
SHOWN_SIZES: Final = (8, 64)  # numbers of tokens of the passes in the headline


def describe_machine(file: CostFile) -> str:
    """Return the machine, the dtype and the day as text."""
    machine = f"{file.machine} ({file.processor})" if file.device == "cpu" else file.machine
    threads = f"{file.threads} thread{'' if file.threads == 1 else 's'}"
    parts = [machine, file.dtype, *([threads] if file.device == "cpu" else [])]
    return " · ".join([*parts, file.date])


def describe_method(file: CostFile, costs: ModelCosts, context: ContextCosts) -> str:
    """Return how it was measured, with memory use and the peaks that the roofline uses."""
    return text(
        "cost",
        "costs_method",
        times=describe_counts([len(times) for times in _all_times(context)]),
        context=context.context,
        weights=format_bytes(costs.bytes),
        packing="" if costs.packing == "usual" else costs.packing,
        cache=format_bytes(context.cache_bytes),
        peak=format_bytes(context.peak_bytes) if context.peak_bytes else "",
        torch=file.versions.get("torch", ""),
        peaks=describe_peaks(file.sweep(costs, context)),
    )


def caution(file: CostFile, context: ContextCosts) -> str:
    """Return why the numbers may be unreliable; empty if there is no reason."""
    found = []
    if is_noisy(context):
        found.append(text("cost", "costs_noisy"))
    elif file.device == "cpu" and file.load is not None and file.load >= BUSY_LOAD:
        found.append(text("cost", "costs_busy", load=f"{file.load:.1f}"))
    if not file.complete:
        found.append(text("cost", "costs_stopped_early"))
    return " ".join(found)


def is_noisy(context: ContextCosts) -> bool:
    """Return whether the same work took very different times."""
    return vary(_all_times(context))


def headline(file: CostFile, costs: ModelCosts, context: ContextCosts) -> tuple[str, str]:
    """Return the headline and the caution; on a noisy machine the caution is the headline."""
    summary, warning = summarize(file, costs, context), caution(file, context)
    if is_noisy(context):
        return warning, text("cost", "unreliable", answer=summary)
    return summary, warning


def summarize(file: CostFile, costs: ModelCosts, context: ContextCosts) -> str:
    """Return how long larger passes take, in plain passes."""
    sweep = file.sweep(costs, context)
    plain, known = sweep.plain, [one.tokens for one in context.passes if one.tokens > 1]
    if plain is None or not known:
        return text("cost", "sweep_too_little")
    shown = [size for size in known if size in SHOWN_SIZES] or known[-1:]
    longer = [
        text("cost", "costs_longer", tokens=size, passes=format_passes(sweep.passes(size) or 0.0))
        for size in shown
    ]
    answer = text(
        "cost",
        "costs_answer",
        model=costs.title,
        milliseconds=format_milliseconds(plain),
        machine=file.machine,
        longer=", one ".join(longer),
    )
    return " ".join(filter(None, [answer, knee_sentence(sweep)]))


def knee_sentence(sweep: Sweep) -> str:
    """Return up to how many tokens checking is free, measured and by the roofline.

    If something other than memory limits a plain pass, that is said instead: then larger passes
    seem free for another reason.
    """
    line, share = sweep.predicted(1), sweep.share_of_memory_speed
    if line is None or share is None:
        return ""
    if share < MEMORY_BOUND:
        limit = format_milliseconds(line.memory)
        return text("cost", "costs_not_memory", milliseconds=limit, flat=sweep.flat)
    known = {"flat": sweep.flat, "most": max(sweep.by_tokens), "free": sweep.free or 0}
    return text("cost", "costs_knee", **known)


def format_break_even(found: RoundCost) -> str:
    """Format the smallest α at which drafting is not slower than plain decoding."""
    alpha = found.break_even_alpha
    return "never" if alpha is None else f"{alpha:.2f}"


def _all_times(context: ContextCosts) -> list[list[float]]:
    kinds = chain((p.seconds for p in context.passes), (one.total for one in context.rounds))
    return [context.plain, *kinds]
