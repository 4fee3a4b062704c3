"""Format speed-ups, times, sizes and machine names for the page and the command line."""

from __future__ import annotations

from collections.abc import Callable


def format_speedup(gain: float) -> str:
    """Format a speed-up with enough digits to show whether it is above 1: 1.98 ×, 1.0004 ×."""
    for digits in range(2, 7):
        text = f"{gain:.{digits}f}"
        if float(text) != 1 or gain == 1:
            return f"{text} ×"
    return "1 ×"


def format_decimals(value: float, fewest: int = 2, most: int = 4) -> str:
    """Format a number with its own decimals: at least `fewest`, at most `most`."""
    whole, _, decimals = f"{value:.{most}f}".rstrip("0").partition(".")
    return f"{whole}.{decimals.ljust(fewest, '0')}" if decimals or fewest else whole


def format_passes(value: float) -> str:
    """Format a duration in plain passes with two decimals."""
    return f"{value:.2f}"


def format_milliseconds(seconds: float) -> str:
    """Format seconds as milliseconds with about three figures: 0.213, 2.13, 21.3, 213."""
    value = 1000.0 * seconds
    digits = 3 if value < 1 else 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f}"


def format_bytes(size: float) -> str:
    """Format bytes in MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def describe_machines(title: str, cards: int) -> str:
    """Return machines as words for a sentence, without their memory: one H100, a laptop."""
    name = title.partition(",")[0].partition(" (")[0]
    thing = name.removeprefix("A ")
    if cards > 1:
        return f"{cards} × {thing}"
    return f"one {name}" if thing == name else f"a {thing}"


def describe_counts(counts: list[int]) -> str:
    """Format how often things were measured: "15", or "12 to 15"."""
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"


def format_figures(value: float) -> str:
    """Format three significant figures, or all digits before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:#.3g}"


def format_short_figures(value: float) -> str:
    """Format three significant figures without trailing zeros, as data sheets do."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def format_duration(seconds: float) -> str:
    """Format a time in s, ms or µs with three significant figures."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{format_figures(seconds / unit)} {name}"
    return f"{format_figures(seconds * 1e6)} µs"


def format_quantity(value: float, unit: str, form: Callable[[float], str] = format_figures) -> str:
    """Format a large number with its SI prefix: 20.4 GB, 3.35 TB/s."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{form(value / size)} {prefix}{unit}"
    return f"{form(value)} {unit}"


def format_memory(size: float) -> str:
    """Format memory as data sheets do: 80 GB."""
    return format_quantity(size, "B", format_short_figures)
