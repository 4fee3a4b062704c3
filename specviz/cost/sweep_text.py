"""A sweep as sentences and table rows: the cost of larger passes, and what takes the time.

The sentences are computed from the sweep; their wording is in texts/cost.jinja.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

from specviz.catalog.entry import title_of
from specviz.cost.formatting import (
    describe_counts,
    format_milliseconds,
    format_passes,
    format_quantity,
    format_short_figures,
)
from specviz.cost.sweep import SIZES, PassSamples, Sweep, middle_half
from specviz.texts import text

DRAFTS: Final = ((5, "a draft of 4 tokens"), (17, "a tree of 16"))  # tokens of the pass, and name
LARGEST_PASS: Final = SIZES[-1]
NOISY_SPREAD: Final = 0.3  # maximum (quartile 3 − quartile 1) / median on an idle machine
ABOUT_THE_SAME: Final = 1.5  # gaps whose ratio is below this count as equal


class PassRow(NamedTuple):
    """A pass as it is shown; times are in ms. middle: first and third quartile of the times."""

    tokens: int
    measured: str
    middle: str
    passes: str
    roofline: str


def pass_rows(sweep: Sweep) -> list[PassRow]:
    """Return the passes as table rows."""
    return [_row(sweep, point) for point in sweep.points]


def _row(sweep: Sweep, point: PassSamples) -> PassRow:
    line, cost = sweep.predicted(point.tokens), sweep.passes(point.tokens)
    return PassRow(
        point.tokens,
        format_milliseconds(point.median),
        format_middle_half(point.seconds),
        "" if cost is None else format_passes(cost),
        "" if line is None else format_milliseconds(line.seconds),
    )


def format_middle_half(seconds: Sequence[float]) -> str:
    """Format the first and third quartile of measurements, in ms."""
    low, high = middle_half(seconds)
    return f"{format_milliseconds(low)} to {format_milliseconds(high)}"


def sweep_sentences(sweep: Sweep, here: bool = True) -> dict[str, str]:
    """Return the sentences for the page by name; those that do not apply are empty.

    If the times vary too much, the headline says so, the caution gives the results, and sentences
    that explain them are empty. here: whether the sweep was just measured on this machine.
    """
    quiet = not is_noisy(sweep)
    head, after = summarize(sweep, here), caution(sweep)
    if not quiet:
        head, after = after, text("cost", "unreliable", answer=head)
    return {
        "where": describe_machine(sweep),
        "how": describe_method(sweep),
        "caution": after,
        "answer": head,
        "must": required_tokens(sweep) if quiet else "",
        "memory": memory_sentence(sweep, here) if quiet else "",
        "gap": overhead_sentence(sweep) if quiet else "",
        "grows": overhead_growth_sentence(sweep) if quiet else "",
    }


def describe_machine(sweep: Sweep) -> str:
    """Return the model, the machine, the dtype and the threads as text."""
    machine = f"{sweep.machine} ({sweep.processor})" if sweep.processor else sweep.machine
    threads = f"{sweep.threads} thread{'' if sweep.threads == 1 else 's'}"
    return f"{title_of(sweep.target)} · {machine} · {sweep.dtype} · {threads}"


def describe_method(sweep: Sweep) -> str:
    """Return how it was measured, with the peaks that the roofline uses."""
    counts = [len(point.seconds) for point in sweep.points]
    if not counts:
        return ""
    return text(
        "cost",
        "sweep_method",
        times=describe_counts(counts),
        one=max(counts) == 1,
        context=sweep.context,
        peaks=describe_peaks(sweep),
    )


def describe_peaks(sweep: Sweep) -> str:
    """Return the peaks that the roofline uses as text; empty if they were not measured."""
    if sweep.peaks is None:
        return ""
    flops, bandwidth = (
        format_quantity(peak, unit, format_short_figures)
        for peak, unit in zip(sweep.peaks, ("FLOP/s", "B/s"), strict=True)
    )
    return text("cost", "peaks", flops=flops, bandwidth=bandwidth)


def caution(sweep: Sweep) -> str:
    """Return why the numbers may be unreliable; empty if there is no reason."""
    if is_noisy(sweep):
        return text("cost", "sweep_noisy")
    if sweep.points and not sweep.complete:
        return text("cost", "sweep_stopped_early")
    return ""


def is_noisy(sweep: Sweep) -> bool:
    """Return whether passes of the same size took very different times."""
    return vary(point.seconds for point in sweep.points)


def vary(times: Iterable[Sequence[float]]) -> bool:
    """Return whether the same work took very different times, given the times of each work."""
    spreads = []
    for seconds in times:
        low, high = middle_half(seconds)
        if (middle := median(seconds)) > 0.0:
            spreads.append((high - low) / middle)
    return bool(spreads) and median(spreads) > NOISY_SPREAD


def summarize(sweep: Sweep, here: bool = True) -> str:
    """Return how long larger passes take, in plain passes."""
    known = [(size, cost) for size, _ in DRAFTS if (cost := sweep.passes(size)) is not None]
    if not known:
        return text("cost", "sweep_too_little" if sweep.points else "sweep_nothing")
    values = {"tokens": known[0][0], "passes": format_passes(known[0][1])}
    if len(known) > 1:
        values |= {"tokens_2": known[1][0], "passes_2": format_passes(known[1][1])}
    machine = "this machine" if here else sweep.machine
    return text("cost", "sweep_answer", machine=machine, **values)


def required_tokens(sweep: Sweep) -> str:
    """Return a sentence on how many tokens a draft must add to pay for its verification."""
    known = [(name, cost) for n, name in DRAFTS if (cost := sweep.passes(n)) is not None]
    costly = [(name, format_passes(cost)) for name, cost in known if cost > 1.0]
    if not known:
        return ""
    if not costly:
        return text("cost", "sweep_verification_free")
    values = {"draft": costly[0][0], "tokens": costly[0][1]}
    if len(costly) > 1:
        values |= {"draft_2": costly[1][0], "tokens_2": costly[1][1]}
    return text("cost", "sweep_required", **values)


def memory_sentence(sweep: Sweep, here: bool = True) -> str:
    """Return which share of the memory bandwidth a plain pass reaches, and on which machine."""
    share = sweep.share_of_memory_speed
    if share is None:
        return ""
    chip = f"{sweep.processor}, " if sweep.processor else ""
    machine = "this machine (measured just now)" if here else f"{sweep.machine} ({chip}recorded)"
    return text("cost", "sweep_memory", machine=machine, share=f"{share:.2f}")


def overhead_sentence(sweep: Sweep) -> str:
    """Return a sentence on how much longer a plain pass takes than the roofline predicts."""
    seconds, line, overhead = sweep.plain, sweep.predicted(1), sweep.overhead
    if seconds is None or line is None or overhead is None:
        return ""
    times = {
        "measured": format_milliseconds(seconds),
        "roofline": format_milliseconds(line.seconds),
    }
    share = overhead / seconds
    if share <= 0.0:
        return text("cost", "sweep_no_overhead", **times)
    return text(
        "cost",
        "sweep_overhead",
        **times,
        overhead=format_milliseconds(overhead),
        share="most" if share > 0.5 else f"{100 * share:.0f}%",
        layers=sweep.shape.layers,
    )


def overhead_growth_sentence(sweep: Sweep) -> str:
    """Return how the difference from the roofline changes up to the largest pass."""
    small, large = sweep.overhead, sweep.excess(LARGEST_PASS)
    if small is None or large is None or small <= 0.0:
        return ""
    if large <= 0.0:
        return text("cost", "sweep_overhead_hidden", tokens=LARGEST_PASS)
    gap = format_milliseconds(large)
    if large > small * ABOUT_THE_SAME:
        return text("cost", "sweep_overhead_grows", tokens=LARGEST_PASS, gap=gap)
    if large < small / ABOUT_THE_SAME:
        return text("cost", "sweep_overhead_shrinks", tokens=LARGEST_PASS, gap=gap)
    return text("cost", "sweep_overhead_constant", tokens=LARGEST_PASS, gap=gap)
