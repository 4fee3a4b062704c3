"""The chart of what each guess of a draft tree adds and costs."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from specviz.figures.theme import BOTH, INK, INK2, chart

HEIGHT = 230


def payoff_figure(
    gains: Sequence[float], forecast: Sequence[float], prices: Sequence[float | None]
) -> go.Figure:
    """Draw a chart of each guess's gain and cost, the most probable guesses first.

    Args:
        gains: Tokens that each guess adds; drawn as bars.
        forecast: The same, predicted from acceptance by rank; drawn as diamonds.
        prices: Tokens that plain decoding would add in the time that verifying this guess takes;
            drawn as a line.
    """
    numbers = list(range(1, len(gains) + 1))
    traces: list[go.Bar | go.Scatter] = [
        go.Bar(
            x=numbers, y=list(gains), marker={"color": BOTH},
            hovertemplate="guess %{x}: adds %{y:.3f} tokens<extra></extra>",
        )
    ]  # fmt: skip
    if any(forecast):
        traces.append(
            go.Scatter(
                x=numbers, y=list(forecast), mode="markers",
                marker={"size": 6, "color": INK2, "symbol": "diamond"},
                hovertemplate="guess %{x}: %{y:.3f}, predicted from its rank<extra></extra>",
            )
        )  # fmt: skip
    known = [(at, price) for at, price in zip(numbers, prices, strict=True) if price is not None]
    if known:
        x, y = zip(*known, strict=True)
        line = {"color": INK, "width": 2}
        traces.append(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip"))
    made = chart(traces, x="guesses, in the order kept", height=HEIGHT)
    made.update_layout(showlegend=False)
    return made.update_yaxes(rangemode="tozero")
