"""Charts of the roofline: pass time by tokens, speed-up and best γ by batch size, and a round.

All numbers come from `specviz.cost`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from math import log2, log10
from typing import Any, Final

import plotly.graph_objects as go

from specviz.cost.roofline import (
    BATCHES,
    DraftPlan,
    Prediction,
    Serving,
    best_gamma,
    free_tokens,
    largest_fitting_batch,
    pass_time,
    predict,
)
from specviz.cost.sources import speedup_range
from specviz.figures.theme import BG, COLOURS, DEAD, EDGE, INK, INK2, INK3, P, Q, chart
from specviz.settings.specs import MAX_GAMMA

MAX_BATCH: Final = 512  # maximum tokens per sequence in a pass, and sequences per batch
# Batch sizes for which the curve is computed.
BATCH_STOPS: Final = tuple(sorted({round(2 ** (step / 8)) for step in range(73)}))
UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
HEIGHT: Final = 320
BATCH_AXIS: Final[dict[str, Any]] = {
    "type": "log", "range": [-0.05, log10(MAX_BATCH) + 0.05], "showgrid": False,
    "tickvals": list(BATCHES), "ticktext": [str(batch) for batch in BATCHES],
}  # fmt: skip


def pass_figure(serving: Serving, batch: int, checked: int) -> go.Figure:
    """Draw target pass time over tokens per sequence; mark the round's tokens and the ridge."""
    free = free_tokens(serving, batch)
    least = min(MAX_BATCH, max(2 * free, 1.25 * checked, 16))
    across = next(n for n in (16, 32, 64, 128, 256, MAX_BATCH) if n >= least)
    steps = range(1, across + 1, max(1, across // 64))
    ridge = [n for n in (free, free + 1) if 1 <= n <= across]
    counts = sorted({1, across, checked, *ridge, *steps})
    times = [pass_time(serving, batch, n) for n in counts]
    top = max(time.seconds for time in times)
    unit, name = next((u for u in UNITS if top >= u[0]), UNITS[-1])
    here = pass_time(serving, batch, checked).seconds / unit
    reads, sums = [t.memory / unit for t in times], [t.compute / unit for t in times]
    drawing = chart(
        [
            _line(counts, reads, "memory reads alone", DEAD, 1.5, "dash"),
            _line(counts, sums, "arithmetic alone", DEAD, 1.5, "dot"),
            _line(counts, [t.seconds / unit for t in times], "the pass", P, 3),
            _mark([checked], [here], f"this round: {_tokens(checked)}", P),
        ],
        x="tokens per sequence in the pass", height=HEIGHT,
        xaxis={"range": [0, across * 1.02], "showgrid": False},
        yaxis={"rangemode": "tozero", "range": [0, 1.18 * top / unit], "ticksuffix": f" {name}"},
    )  # fmt: skip
    drawing.update_traces(hovertemplate=f"%{{x}} tokens: %{{y:.3g}} {name}<extra></extra>")
    if 1 <= free < across:
        side = "top left" if free > across / 2 else "top right"
        drawing.add_vline(
            free, line={"color": INK2, "width": 1, "dash": "dot"},
            annotation={"text": f"free up to {_tokens(free)}"}, annotation_position=side,
        )  # fmt: skip
    return drawing


def speed_figure(serving: Serving, plan: DraftPlan, batch: int, loss: int | None) -> go.Figure:
    """Draw the speed-up over batch size, with its range; from `loss` on, it is below 1."""
    largest_fit = largest_fitting_batch(serving, plan, MAX_BATCH)
    known = (loss, largest_fit, largest_fit + 1)
    stops = sorted({*BATCH_STOPS, batch, *(b for b in known if b and b <= MAX_BATCH)})
    gains = [predict(serving, plan, b).speedup for b in stops]
    lows, highs = zip(*(speedup_range(serving, plan, b) for b in stops), strict=True)
    traces = [] if _equal(lows, highs) else _area(stops, lows, highs)
    top = max(1.0, *gains, *highs)
    if plan.draft:
        costless = [predict(serving, replace(plan, draft=None), b).speedup for b in stops]
        traces.append(_line(stops, costless, "drafting free", DEAD, 1.5, "dash"))
        top = max(top, *costless)
    fit = bisect_left(stops, largest_fit + 1)  # number of batch sizes that fit in memory
    drawn = [
        _line(stops[:fit], gains[:fit], "this drafter", INK, 3),
        _line(stops[max(fit - 1, 0) :], gains[max(fit - 1, 0) :], "out of memory", INK, 2, "dash"),
    ]
    traces += [line for line in drawn if len(line.x) > 1]
    here = predict(serving, plan, batch).speedup
    traces.append(_mark([batch], [here], f"batch size {batch}: {here:.2f} ×", INK))
    if loss is not None:
        first = predict(serving, plan, loss).speedup
        traces.append(_mark([loss], [first], f"slower from batch size {loss}", BG))
    drawing = chart(
        traces, x="batch size (sequences)", height=HEIGHT, xaxis=BATCH_AXIS,
        yaxis={"range": [0, 1.12 * top], "ticksuffix": " ×"},
    )  # fmt: skip
    if largest_fit < MAX_BATCH:
        left, right = max(largest_fit + 0.5, 0.9), MAX_BATCH * 1.12
        drawing.add_vrect(left, right, fillcolor=EDGE, line_width=0, layer="below")
    return drawing.add_hline(1, line={"color": INK2, "width": 1})


def gamma_figure(serving: Serving, plan: DraftPlan, alpha: float, batch: int) -> go.Figure:
    """Draw the fastest chain length by batch size; mark the chosen length and batch size."""
    best = [best_gamma(serving, alpha, b, plan.draft, MAX_GAMMA) for b in BATCHES]
    here = round(log2(batch))
    fills = [Q if at == here else COLOURS["q-soft"] for at in range(len(BATCHES))]
    bars = go.Bar(
        x=[str(b) for b in BATCHES], y=best, width=0.62, name="best γ",
        text=[f"{n}+" if n == MAX_GAMMA else str(n) for n in best],
        textposition="outside", textfont={"color": INK},
        marker={"color": fills, "line": {"color": COLOURS["q-line"], "width": 1}},
        hovertemplate="batch size %{x}: γ = %{y}<extra></extra>",
    )  # fmt: skip
    gamma = len(plan.widths)
    drawing = chart(
        [bars], x="batch size (sequences)", y="draft tokens", height=HEIGHT,
        xaxis={"type": "category", "showgrid": False},
        yaxis={"range": [0, 1.3 * max(*best, gamma, 3)]},
    )  # fmt: skip
    return drawing.add_hline(
        gamma, line={"color": INK, "width": 1.5, "dash": "dash"},
        annotation={"text": f"your γ: {gamma}"}, annotation_position="top right",
    )  # fmt: skip


def round_figure(found: Prediction) -> go.Figure:
    """Draw what a round adds in tokens above what it costs in plain passes, on one scale."""
    draft, verify = found.draft / found.plain, found.verify / found.plain
    parts = (
        ("adds", found.tokens, f"{found.tokens:.2f} tokens", INK),
        ("costs", draft, f"drafting {draft:.2f}", Q),
        ("costs", verify, f"verification {verify:.2f} plain passes", P),
    )
    bars = [_bar(*part) for part in parts if part[1] > 0]
    drawing = chart(
        bars, x="tokens, or plain passes", height=220, xaxis={"rangemode": "tozero"},
        yaxis={"autorange": "reversed", "showgrid": False},
    )  # fmt: skip
    return drawing.update_layout(barmode="stack")


def _bar(row: str, value: float, name: str, colour: str) -> go.Bar:
    return go.Bar(
        x=[value], y=[row], orientation="h", name=name, width=0.5, marker={"color": colour},
        hovertemplate=name + "<extra></extra>",
    )  # fmt: skip


def _equal(lows: Sequence[float], highs: Sequence[float]) -> bool:
    return all(high - low < 0.005 for low, high in zip(lows, highs, strict=True))


def _area(x: Sequence[int], lows: Sequence[float], highs: Sequence[float]) -> list[go.Scatter]:
    bare: dict[str, Any] = {"x": x, "mode": "lines", "line": {"width": 0, "color": INK3}}
    name = "reported efficiencies"
    fill = {"fill": "tonexty", "fillcolor": EDGE, "name": name}
    hover = "batch size %{x}: at most %{y:.2f} ×<extra></extra>"
    return [
        go.Scatter(y=lows, showlegend=False, hoverinfo="skip", **bare),
        go.Scatter(y=highs, hovertemplate=hover, **fill, **bare),
    ]


def _line(
    x: Sequence[int], y: Sequence[float], name: str, colour: str, width: float, dash: str = "solid"
) -> go.Scatter:
    line = {"color": colour, "width": width, "dash": dash}
    hover = "batch size %{x}: %{y:.2f} ×<extra></extra>"
    return go.Scatter(x=x, y=y, name=name, mode="lines", line=line, hovertemplate=hover)


def _mark(x: Sequence[int], y: Sequence[float], name: str, colour: str) -> go.Scatter:
    edge = INK if colour == BG else BG
    marker = {"size": 12, "color": colour, "line": {"color": edge, "width": 2}}
    hover = f"{name}<extra></extra>"
    return go.Scatter(x=x, y=y, name=name, mode="markers", marker=marker, hovertemplate=hover)


def _tokens(number: int) -> str:
    return f"{number} token{'' if number == 1 else 's'}"
