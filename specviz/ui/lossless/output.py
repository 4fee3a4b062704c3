"""The figure of an output distribution: columns of parts, and the outline of p."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from specviz.figures.plot import escaped
from specviz.figures.theme import BG, BOTH, DEAD, INK, RESIDUAL, P, chart

OUTPUT: Final[Mapping[str, Any]] = {"color": DEAD}
KEPT: Final[Mapping[str, Any]] = {"color": BOTH}
FILLED: Final[Mapping[str, Any]] = {
    "color": BG, "line": {"color": RESIDUAL, "width": 1},
    "pattern": {"shape": "/", "fgcolor": RESIDUAL, "bgcolor": BG, "size": 6},
}  # fmt: skip


def output_figure(
    names: Sequence[str],
    parts: Mapping[str, tuple[Mapping[str, Any], Sequence[float]]],
    p: Sequence[float],
    q: Sequence[float],
    intervals: Sequence[tuple[float, float]] = (),
) -> go.Figure:
    """Draw an output distribution with the differences from p, or with intervals.

    Args:
        names: The words.
        parts: The style and the shares of each part of the columns, the lowest first, by name.
        p: The target's distribution, drawn as an outline.
        q: The drafter's distribution, named below the words.
        intervals: The interval of each column, if it was counted.
    """
    places, out, bars = list(range(len(p))), [0.0] * len(p), []
    for name, (marker, shares) in parts.items():
        bars.append(go.Bar(x=places, y=shares, base=out, name=name, marker=marker))
        out = [below + share for below, share in zip(out, shares, strict=True)]
    outline = {"color": "rgba(0,0,0,0)", "line": {"color": P, "width": 2}}
    bars.append(go.Bar(x=places, y=p, name="p", marker=outline))
    drawing = chart(
        [*bars, _intervals(out, intervals) if intervals else _differences(out, p)], height=270,
        xaxis={
            "tickvals": places, "showgrid": False,
            "ticktext": [f"{escaped(name)}<br>p {right:.2f}<br>q {draft:.2f}"
                         for name, right, draft in zip(names, p, q, strict=True)],
        },
        yaxis={"range": [0, 1.3 * max(*out, *p)], "tickformat": ".1f"},
    )  # fmt: skip
    return drawing.update_layout(barmode="overlay", bargap=0.35)


def _intervals(out: Sequence[float], intervals: Sequence[tuple[float, float]]) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(out))), y=out, mode="markers", marker={"color": INK, "size": 1},
        showlegend=False, hoverinfo="skip",
        error_y={
            "symmetric": False, "color": INK, "thickness": 1.5, "width": 4,
            "array": [high - share for share, (_, high) in zip(out, intervals, strict=True)],
            "arrayminus": [share - low for share, (low, _) in zip(out, intervals, strict=True)],
        },
    )  # fmt: skip


def _differences(out: Sequence[float], p: Sequence[float]) -> go.Scatter:
    return go.Scatter(
        x=list(range(len(out))), y=[max(pair) for pair in zip(out, p, strict=True)], mode="text",
        text=[f"<b>{share:.3f}</b><br>{_off(share - right)}"
              for share, right in zip(out, p, strict=True)],
        textposition="top center", showlegend=False, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip


def _off(difference: float) -> str:
    return f"{difference:+.3f}".replace("-", "−") if abs(difference) > 5e-4 else ""
