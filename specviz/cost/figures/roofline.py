"""Charts of the roofline: pass time by tokens, speed-up and best γ by batch size.

All numbers come from `specviz.cost`. A chart may be drawn narrower than WIDTH. Labels do not
overlap curves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from math import log2, log10
from typing import Any, Final

from specviz.cost.roofline import (
    BATCHES,
    DraftPlan,
    Serving,
    best_gamma,
    free_tokens,
    pass_time,
    predict,
)
from specviz.cost.sources import speedup_range
from specviz.figures.plot import FONT, Trace, layout
from specviz.frames.scene import Figure

WIDTH: Final = 1216
HEIGHT: Final = 270
MAX_BATCH: Final = 512  # maximum tokens per sequence in a pass, and sequences per batch
MAX_GAMMA: Final = 16  # length of the longest chain evaluated
# Batch sizes for which the curve is computed.
BATCH_STOPS: Final = tuple(sorted({round(2 ** (step / 8)) for step in range(73)}))
UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
FAINT: Final = "--dead"


def pass_figure(serving: Serving, batch: int, checked: int) -> Figure:
    """Draw a chart of target pass time over tokens per sequence; mark the round's tokens."""
    free = free_tokens(serving, batch)
    across = next(n for n in (16, 32, 64, 128, 256, MAX_BATCH) if n >= need(free, checked))
    steps = range(1, across + 1, max(1, across // 64))
    counts = sorted(
        {1, across, checked, *(n for n in (free, free + 1) if 1 <= n <= across), *steps}
    )
    times = [pass_time(serving, batch, n) for n in counts]
    top = max(time.seconds for time in times)
    unit, name = next((u for u in UNITS if top >= u[0]), UNITS[-1])
    high = 1.18 * top / unit
    here = pass_time(serving, batch, checked).seconds / unit
    hover_texts = [
        f"{tokens(n)}: {t.seconds / unit:.3g} {name}" for n, t in zip(counts, times, strict=True)
    ]
    data = {
        "10-memory": line(counts, [t.memory / unit for t in times], FAINT, 1.5, "dash"),
        "11-compute": line(counts, [t.compute / unit for t in times], FAINT, 1.5, "dot"),
        "20-pass": line(counts, [t.seconds / unit for t in times], "--p", 3) | hover(hover_texts),
        "40-round": point(checked, here, "--p"),
        "50-words": round_label(checked, here, free, across, high),
        **ridge(free, across, high),
    }
    made = axes("tokens per sequence in the pass", f" {name}", high)
    made["xaxis"] |= {"range": [0, across * 1.02], "nticks": 7}
    return {"data": data, "layout": made}


def round_label(checked: int, here: float, free: int, across: int, high: float) -> Trace:
    """Return the round's label: above the curve if it is flat there, otherwise below it."""
    long = 0.28  # approximate width of the label, as a share of the chart's width
    late = checked >= long * across
    above = late or checked + long * across < free
    rise = 0.07 if above and checked != free else -0.07
    return beside(checked, here, f"this round: {checked}", rise * high, late and checked != free)


def need(free: int, checked: int) -> float:
    """Return how many tokens the chart must cover to include the ridge and the round."""
    return min(MAX_BATCH, max(2 * free, 1.25 * checked, 16))


def ridge(free: int, across: int, high: float) -> dict[str, Trace]:
    """Mark the ridge, the number of tokens up to which verification is almost free."""
    if not 1 <= free < across:
        label = (
            "compute-bound from the start" if free < 1 else f"memory-bound beyond {across} tokens"
        )
        return {"51-ridge": words([(across * 0.02, high * 0.96, label)], "middle right")}
    side = "middle left" if free > across / 2 else "middle right"
    label = f"\u00a0free up to {tokens(free)}\u00a0"
    return {
        "12-ridge": line([free, free], [0, high], "--ink2", 1, "dot"),
        "51-ridge": words([(free, high * 0.96, label)], side),
    }


def speed_figure(serving: Serving, guessing: DraftPlan, batch: int, loss: int | None) -> Figure:
    """Draw a chart of speed-up over batch size; from `loss` on, the speed-up is below 1."""
    largest_fit = bisect_left(
        range(1, MAX_BATCH + 1), True, key=lambda b: not predict(serving, guessing, b).fits
    )
    sizes = sorted(
        {
            *BATCH_STOPS,
            batch,
            *(b for b in (loss, largest_fit, largest_fit + 1) if b and b <= MAX_BATCH),
        }
    )
    gains = [predict(serving, guessing, b).speedup for b in sizes]
    free = replace(guessing, draft=None)
    costless = [predict(serving, free, b).speedup for b in sizes] if guessing.draft else gains
    span = [speedup_range(serving, guessing, b) for b in sizes]
    high = 1.2 * max(1.0, *gains, *costless, *(most for _, most in span))
    fit = bisect_left(sizes, largest_fit + 1)  # number of batch sizes that fit in memory
    here, soon = (predict(serving, guessing, b).speedup for b in (batch, 2 * batch))
    right = log2(batch) > log2(MAX_BATCH) / 2
    rise = 0.07 if soon < 0.93 * here and not right else -0.07  # at a distance from the curve
    data = {
        "10-one": line([1, MAX_BATCH], [1, 1], "--ink2", 1),
        "20-fits": line(sizes[:fit], gains[:fit], "--ink", 3)
        | hover(_gains(sizes[:fit], gains[:fit])),
        "21-not": line(sizes[max(fit - 1, 0) :], gains[max(fit - 1, 0) :], "--ink", 2, "dash"),
        "40-here": point(batch, here, "--ink"),
        "50-here": beside(batch, here, f"batch {batch}: {here:.2f} ×", rise * high, right),
    }
    if guessing.draft:
        data["11-costless"] = line(sizes, costless, FAINT, 1.5, "dash")
    made = axes("batch size (sequences)", " ×", high)
    made["xaxis"] |= {
        "type": "log",
        "range": [-0.05, log10(MAX_BATCH) + 0.05],
        "tickvals": list(BATCHES),
    }
    marks = _unfit(largest_fit, high) | _loss(loss, high)
    return {"data": data | _span(sizes, span) | marks, "layout": made}


def _span(sizes: Sequence[int], span: Sequence[tuple[float, float]]) -> dict[str, Trace]:
    """Shade the speed-ups for all efficiencies that sources report, unless there is only one."""
    if all(high - low < 0.005 for low, high in span):
        return {}
    lows, highs = zip(*span, strict=True)
    area: Trace = {"x": [*sizes, *reversed(sizes)], "y": [*lows, *reversed(highs)]}
    area |= {"fill": "toself", "fillcolor": "--edge", "hoverinfo": "skip"}
    return {"02-efficiencies": area | {"line": {"width": 0, "color": "--edge"}}}


def _gains(sizes: Sequence[int], gains: Sequence[float]) -> list[str]:
    return [f"batch {b}: {gain:.2f} ×" for b, gain in zip(sizes, gains, strict=True)]


def _unfit(largest_fit: int, high: float) -> dict[str, Trace]:
    """Shade batch sizes above `largest_fit`, which do not fit in memory."""
    if largest_fit >= MAX_BATCH:
        return {}
    left, right = max(largest_fit + 0.5, 0.9), MAX_BATCH * 1.12
    area: Trace = {
        "x": [left, right, right, left, left],
        "y": [0, 0, high, high, 0],
        "fill": "toself",
    }
    area |= {"fillcolor": "--edge", "line": {"width": 0, "color": "--edge"}}
    return {
        "00-unfit": area,
        "52-unfit": words(
            [(MAX_BATCH, high * 0.96, f"out of memory from batch {largest_fit + 1}")], "middle left"
        ),
    }


def _loss(loss: int | None, high: float) -> dict[str, Trace]:
    """Mark where speculative decoding becomes slower, with a label below the curve."""
    if loss is None:
        return {}
    side = "middle left" if log2(loss) > log2(MAX_BATCH) / 2 else "middle right"
    return {
        "12-loss": line([loss, loss], [0, 1], "--ink2", 1, "dot"),
        "41-loss": point(loss, 1, "--bg") | {"marker": _marker("--bg", "--ink")},
        "51-loss": words([(loss, high * 0.06, f"\u00a0slower from batch {loss}\u00a0")], side),
    }


def gamma_figure(serving: Serving, guessing: DraftPlan, alpha: float, batch: int) -> Figure:
    """Draw a chart of the fastest chain length over batch size; mark the chosen one."""
    best = [best_gamma(serving, alpha, b, guessing.draft, MAX_GAMMA) for b in BATCHES]
    gamma = len(guessing.widths)
    high = max(*best, gamma, 3) * 1.3
    bars = list(range(len(BATCHES)))
    # Labels are at the bottom of the bars, where no line crosses them.
    feet = [(at, 0, f"{n}+" if n == MAX_GAMMA else str(n)) for at, n in enumerate(best)]
    data = {
        "10-best": {
            "type": "bar",
            "x": bars,
            "y": best,
            "width": 0.62,
            "hoverinfo": "skip",
            "marker": {"color": "--q-soft", "line": {"color": "--q-line", "width": 1}},
        },
        "05-chosen": line([-0.6, len(BATCHES) - 0.4], [gamma, gamma], "--ink", 1.5, "dash"),
        # Lines are drawn over bars, so this one starts at the top of the nearest bar.
        "06-here": line([log2(batch)] * 2, [best[round(log2(batch))], high], "--ink2", 1, "dot"),
        "50-best": words(feet, "top center"),
    }
    made = axes("batch size (sequences)", "", high)
    made["xaxis"] |= {
        "range": [-0.6, len(BATCHES) - 0.4],
        "tickvals": bars,
        "ticktext": [str(b) for b in BATCHES],
    }
    return {"data": data, "layout": made}


def tokens(number: int) -> str:
    """Format a number of tokens: 1 token, 5 tokens."""
    return f"{number} token{'' if number == 1 else 's'}"


def line(
    x: Sequence[float], y: Sequence[float], color: str, width: float, dash: str = "solid"
) -> Trace:
    """Return a line through points."""
    return {"x": list(x), "y": list(y), "line": {"color": color, "width": width, "dash": dash}}


def hover(texts: Sequence[str]) -> Trace:
    """Return the hover texts of a trace, one per point."""
    return {"hoverinfo": "text", "hovertext": list(texts)}


def point(x: float, y: float, color: str) -> Trace:
    """Return one mark."""
    return {"mode": "markers", "x": [x], "y": [y], "marker": _marker(color, "--bg")}


def _marker(fill: str, edge: str) -> dict[str, Any]:
    return {"size": 11, "color": fill, "line": {"color": edge, "width": 2}}


def words(rows: Sequence[tuple[float, float, str]], side: str) -> Trace:
    """Return labels; they are not escaped, so they must not contain a visitor's text."""
    return {
        "mode": "text",
        "x": [row[0] for row in rows],
        "y": [row[1] for row in rows],
        "text": [row[2] for row in rows],
        "textposition": side,
        "textfont": {"family": FONT, "size": 12, "color": "--ink"},
    }


def beside(x: float, y: float, text: str, rise: float, left: bool) -> Trace:
    """Return a label beside a point, raised so that no line crosses it."""
    gap = "\u00a0\u00a0"  # plotly removes ordinary spaces
    padded, side = (text + gap, "middle left") if left else (gap + text, "middle right")
    return words([(x, y + rise, padded)], side)


def axes(across: str, suffix: str, high: float) -> dict[str, Any]:
    """Return two axes; the vertical one runs from 0 to `high`."""
    figure = layout(WIDTH, HEIGHT)
    style = {
        "visible": True,
        "zeroline": False,
        "tickfont": {"size": 12, "color": "--ink2"},
        "showline": True,
    }
    style |= {"linecolor": "--line2", "gridcolor": "--line", "ticks": ""}
    title = {"text": across, "standoff": 6, "font": {"size": 12, "color": "--ink2"}}
    figure["xaxis"] = figure["xaxis"] | style | {"title": title, "showgrid": False}
    figure["yaxis"] = (
        figure["yaxis"] | style | {"range": [0, high], "nticks": 6, "ticksuffix": suffix}
    )
    figure["yaxis"] |= {"showline": False}
    return figure | {"margin": {"l": 56, "r": 10, "t": 6, "b": 44, "pad": 0}}
