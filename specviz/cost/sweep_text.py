"""What a sweep says in words: how many plain passes a pass takes, and where the time goes.

Rule: every sentence follows from the numbers of the sweep it is about. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any, Final

from specviz.catalog.entry import title_of
from specviz.cost.sweep import SIZES, Sweep

DRAFTS: Final = ((5, "a draft of 4 guesses"), (17, "a tree of 16"))
TOO_LITTLE: Final = "Too little was measured to say what a longer pass takes."
NOTHING: Final = "Nothing has been measured yet."
LARGEST_PASS: Final = SIZES[-1]
NOISY_SPREAD: Final = 0.3  # a middle half wider than this share of the median is no quiet machine
ABOUT_THE_SAME: Final = 1.5  # gaps within this factor of each other are "about the same"


def sweep_facts(sweep: Sweep, here: bool = True) -> dict[str, Any]:
    """Sentences and rows for the page. Rows: by size, ready to be shown as text.

    here: whether it was measured on this machine just now. Times that vary too much make no
    headline and are given no reason: that they vary is the headline.
    """
    quiet = not is_noisy(sweep)
    head, after = summarize(sweep, here), caution(sweep)
    if not quiet:
        head, after = after, f"What came out, for what it is worth: {head}"
    return {
        "where": describe_machine(sweep),
        "how": describe_method(sweep),
        "caution": after,
        "answer": head,
        "restless": not quiet,
        "must": required_tokens(sweep) if quiet else "",
        "memory": memory_sentence(sweep, here) if quiet else "",
        "gap": overhead_sentence(sweep) if quiet else "",
        "grows": overhead_growth_sentence(sweep) if quiet else "",
        "rows": [_row(sweep, point.tokens) for point in sweep.points],
        "complete": sweep.complete,
    }


def describe_machine(sweep: Sweep) -> str:
    """The model and the machine."""
    machine = f"{sweep.machine} ({sweep.processor})" if sweep.processor else sweep.machine
    threads = f"{sweep.threads} thread{'' if sweep.threads == 1 else 's'}"
    return f"{title_of(sweep.target)} · {machine} · {sweep.dtype} · {threads}"


def describe_method(sweep: Sweep) -> str:
    """How it was measured, and the peaks that the roofline is made from."""
    counts = [len(point.seconds) for point in sweep.points]
    if not counts:
        return ""
    times = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    said = (
        f"Median of {times} {'pass' if times == '1' else 'passes'} for each size, "
        f"in shuffled order, with {sweep.context} tokens in the cache."
    )
    return f"{said} {describe_peaks(sweep)}".rstrip()


def describe_peaks(sweep: Sweep) -> str:
    """What the roofline is made from; empty where the machine's peaks were not measured."""
    if sweep.peaks is None:
        return ""
    flops, bandwidth = sweep.peaks
    return (
        f"The roofline is made from this machine's own best: {_with_prefix(flops)}FLOP/s "
        f"in a product of large matrices, {_with_prefix(bandwidth)}B/s where as many bytes as "
        "the weights have are read once."
    )


def caution(sweep: Sweep) -> str:
    """What to hold against the numbers; empty where there is nothing."""
    if is_noisy(sweep):
        return (
            "The machine was too busy to measure: passes of one size took very different times. "
            "Measure again when nothing else runs on it."
        )
    if sweep.points and not sweep.complete:
        return "It was stopped before its end, so some of this rests on few passes."
    return ""


def is_noisy(sweep: Sweep) -> bool:
    """Whether passes of one size took very different times."""
    halves = [(middle_half(point.seconds), point.usual) for point in sweep.points]
    spreads = [(high - low) / usual for (low, high), usual in halves]
    return bool(spreads) and median(spreads) > NOISY_SPREAD


def summarize(sweep: Sweep, here: bool = True) -> str:
    """Passes over more tokens, in plain passes."""
    known = [(size, cost) for size, _ in DRAFTS if (cost := sweep.passes(size)) is not None]
    if not known:
        return TOO_LITTLE if sweep.points else NOTHING
    (size, cost), *others = known
    more = "".join(f", with {n} tokens {format_passes(c)}" for n, c in others)
    plain = "plain pass" if format_passes(cost) == "1.00" else "plain passes"
    place = "this machine" if here else sweep.machine
    return f"On {place} a pass with {size} tokens takes {format_passes(cost)} {plain}{more}."


def required_tokens(sweep: Sweep) -> str:
    """What a draft must bring before it can pay."""
    known = [(what, cost) for n, what in DRAFTS if (cost := sweep.passes(n)) is not None]
    if not known:
        return ""
    costly = [(what, cost) for what, cost in known if cost > 1.0]
    if not costly:
        return "Guesses are checked for nothing here: what they cost is drafting them."
    (what, cost), *others = costly
    more = "".join(f", {name} more than {format_passes(c)}" for name, c in others)
    return (
        f"So {what} must bring more than {format_passes(cost)} tokens a round to pay{more}: "
        "that is the price of checking alone, before any drafting."
    )


def memory_sentence(sweep: Sweep, here: bool = True) -> str:
    """How much of the speed that its memory allows a plain pass reaches, and on which machine."""
    share = sweep.share_of_memory_speed
    if share is None:
        return ""
    chip = f"{sweep.processor}, " if sweep.processor else ""
    place = "this machine (measured just now)" if here else f"{sweep.machine} ({chip}recorded)"
    return (
        f"On {place} a plain pass reaches {share:.2f} of its memory's speed: "
        f"reading all weights, keys and values once takes {share:.2f} of its time."
    )


def overhead_sentence(sweep: Sweep) -> str:
    """Where a plain pass spends what the roofline does not know of."""
    seconds, line, over = sweep.plain, sweep.predicted(1), sweep.overhead
    if seconds is None or line is None or over is None:
        return ""
    begin = (
        f"A plain pass takes {format_milliseconds(seconds)} ms, "
        f"the roofline says {format_milliseconds(line.seconds)} ms (simulated)."
    )
    share = over / seconds
    if share <= 0.0:
        return f"{begin} It is no slower than its bytes and sums demand: overhead does not show."
    why = f"Python, and the start of every small operation in {sweep.shape.layers} layers"
    rank = "most of the pass" if share > 0.5 else f"{100 * share:.0f} % of the pass"
    return f"{begin} The other {format_milliseconds(over)} ms are overhead, {rank}: {why}."


def overhead_growth_sentence(sweep: Sweep) -> str:
    """How the gap changes up to the largest pass."""
    small, large = sweep.overhead, sweep.over(LARGEST_PASS)
    if small is None or large is None or small <= 0.0:
        return ""
    if large <= 0.0:
        return f"With {LARGEST_PASS} tokens the pass is as fast as the roofline: the overhead is hidden."
    begin = f"With {LARGEST_PASS} tokens the gap is {format_milliseconds(large)} ms"
    if large > small * ABOUT_THE_SAME:
        return (
            f"{begin}: beyond the overhead, products with so few rows stay below the speed of "
            "a large one."
        )
    if large < small / ABOUT_THE_SAME:
        return f"{begin}: part of the overhead passes while the arithmetic is done."
    return f"{begin}, about the same: it is a price by the pass, not by the token."


def middle_half(seconds: Sequence[float]) -> tuple[float, float]:
    """The bounds of the middle half of some measurements."""
    if len(seconds) == 1:
        return seconds[0], seconds[0]
    low, _, high = quantiles(seconds, n=4, method="inclusive")
    return low, high


def _row(sweep: Sweep, tokens: int) -> dict[str, Any]:
    point = next(point for point in sweep.points if point.tokens == tokens)
    line, cost = sweep.predicted(tokens), sweep.passes(tokens)
    low, high = middle_half(point.seconds)
    return {
        "tokens": tokens,
        "guesses": tokens - 1,
        "measured": format_milliseconds(point.usual),
        "middle": f"{format_milliseconds(low)} to {format_milliseconds(high)}",
        "passes": "" if cost is None else format_passes(cost),
        "roofline": "" if line is None else format_milliseconds(line.seconds),
        "bound": "" if line is None else line.bound,
    }


def format_milliseconds(seconds: float) -> str:
    """Milliseconds in three figures, as far as that helps: 0.213, 2.13, 21.3, 213."""
    value = 1000.0 * seconds
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"


def format_passes(value: float) -> str:
    return f"{value:.2f}"


def _with_prefix(value: float) -> str:
    """A rate with its unit's prefix: 92 G, 1.8 T."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g} "
