"""The chart of measured pass times by the number of tokens, with the roofline.

Measured values are marks; simulated ones are dashed lines. Milliseconds start at zero, so that
heights can be compared.
"""

from __future__ import annotations

from math import ceil, log2, log10
from typing import Any, Final

import plotly.graph_objects as go

from specviz.cost.sweep import SIZES, WIDEST, Sweep, middle_half
from specviz.figures.theme import BG, COLOURS, INK2, INK3, P, chart

MARGIN: Final = 1.14  # by which factor the chart is wider than its first and last size
ROOFLINE, OVERHEAD = "roofline: simulated", "roofline + overhead of a plain pass: simulated"


def sweep_figure(sweep: Sweep) -> go.Figure:
    """Draw medians with their quartiles, and the roofline with and without overhead."""
    traces, ticks = [_marks(sweep)], _sizes(sweep)
    if sweep.peaks is not None:
        traces.append(_line(sweep, ROOFLINE, 0.0, {"color": INK2, "width": 2, "dash": "dash"}))
        if sweep.overhead is not None and sweep.overhead > 0.0:
            dotted = {"color": INK3, "width": 2, "dash": "dot"}
            traces.append(_line(sweep, OVERHEAD, sweep.overhead, dotted))
    made = chart(
        traces, x="tokens in the pass", y="ms", height=360,
        xaxis={
            "type": "log", "range": [log10(1 / MARGIN), log10(ticks[-1] * MARGIN)],
            "tickvals": ticks, "ticktext": [f"{size:,}" for size in ticks], "showgrid": False,
        },
        yaxis={"rangemode": "tozero"},
    )  # fmt: skip
    if sweep.plain is not None:
        plain = {"color": COLOURS["line2"], "width": 1}
        made.add_hline(
            1000.0 * sweep.plain, line=plain, annotation_text="one plain pass",
            annotation_position="top right", annotation_font_color=INK2,
        )  # fmt: skip
    if sweep.free and sweep.free <= ticks[-1]:
        made.add_vline(
            sweep.free, line={"color": COLOURS["line2"], "width": 1, "dash": "dash"},
            annotation_text="arithmetic is full: simulated", annotation_position="top left",
            annotation_font_color=INK2,
        )  # fmt: skip
    return made


def _sizes(sweep: Sweep) -> list[int]:
    measured = max((point.tokens for point in sweep.points), default=1)
    last = min(WIDEST, max(SIZES[-1], measured, 2 * (sweep.free or 1)))
    return [1 << power for power in range(ceil(log2(last)) + 1)]


def _marks(sweep: Sweep) -> go.Scatter:
    medians = [1000.0 * point.median for point in sweep.points]
    spans = [middle_half(point.seconds) for point in sweep.points]
    pairs = list(zip(medians, spans, strict=True))
    return go.Scatter(
        x=[point.tokens for point in sweep.points], y=medians, mode="markers",
        name="measured: median and middle 50%",
        marker={"color": P, "size": 9, "line": {"color": BG, "width": 1}},
        error_y={
            "type": "data", "symmetric": False, "color": P, "thickness": 1.5, "width": 3,
            "array": [1000.0 * high - at for at, (_, high) in pairs],
            "arrayminus": [at - 1000.0 * low for at, (low, _) in pairs],
        },
        text=[_hover_text(sweep, point.tokens, len(point.seconds)) for point in sweep.points],
        hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _hover_text(sweep: Sweep, tokens: int, count: int) -> str:
    # It contains no text from a file.
    line, cost = sweep.predicted(tokens), sweep.passes(tokens)
    words = [f"{tokens} token{'' if tokens == 1 else 's'} in the pass"]
    words.append(f"measured {1000.0 * sweep.by_tokens[tokens]:.2f} ms, median of {count}")
    if cost is not None:
        words.append(f"{cost:.2f} plain passes")
    if line is not None:
        words.append(f"roofline {1000.0 * line.seconds:.2f} ms ({line.bound}-bound): simulated")
    return "<br>".join(words)


def _line(sweep: Sweep, name: str, overhead: float, style: dict[str, Any]) -> go.Scatter:
    tokens = _line_sizes(_sizes(sweep)[-1])
    passes = [sweep.predicted(n, overhead) for n in tokens]
    y = [1000.0 * each.seconds for each in passes if each is not None]
    return go.Scatter(x=tokens, y=y, mode="lines", line=style, name=name, hoverinfo="skip")


def _line_sizes(last: int) -> list[int]:
    # All small ones, then steps of two percent.
    steps = (round(64 * 1.02**number) for number in range(180))
    return sorted({*range(1, min(64, last)), *(size for size in steps if size < last), last})
