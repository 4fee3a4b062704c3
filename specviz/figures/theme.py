"""Colours and axes of plotly figures in the light theme; the page translates them for the dark one.

A hue says whose number is drawn: p blue, q orange, both green, the residual pink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import plotly.graph_objects as go

# The light values of the custom properties in `ui/shared/10-colours.css` of the same names.
COLOURS: Final = {
    "bg": "#ffffff", "panel": "#f6f7f9", "line": "#e0e4ea", "line2": "#b9c1cd",
    "ink": "#14181f", "ink2": "#474f5d", "ink3": "#646c7a", "dead": "#858e9d", "edge": "#e3e7ed",
    "p": "#0072b2", "p-ink": "#00639c", "p-soft": "#dcebf6",
    "q": "#e69f00", "q-line": "#a86a00", "q-ink": "#8a5a00", "q-soft": "#fdf0d3",
    "b": "#009e73", "b-ink": "#00714f", "b-soft": "#daf2e9",
    "r": "#cc79a7", "r-line": "#9c3f77", "r-soft": "#f9e6f1",
}  # fmt: skip
BG, INK, INK2, INK3, DEAD, EDGE = (
    COLOURS[n] for n in ("bg", "ink", "ink2", "ink3", "dead", "edge")
)
P, Q, BOTH, RESIDUAL = (COLOURS[name] for name in ("p", "q", "b", "r"))
FONT: Final = "Arial, Helvetica, 'Liberation Sans', sans-serif"

_AXIS: Final = {
    "automargin": True,
    "fixedrange": True,
    "gridcolor": EDGE,
    "linecolor": COLOURS["line2"],
    "showline": True,
    "tickfont": {"color": INK2},
    "title": {"font": {"color": INK2, "size": 13}, "standoff": 8},
    "zeroline": False,
}
TEMPLATE: Final = go.layout.Template(
    layout={
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "legend": {
            "orientation": "h",
            "yanchor": "bottom",
            "y": 1.02,
            "x": 0,
            "traceorder": "normal",
        },
        "hoverlabel": {"bgcolor": COLOURS["panel"], "font": {"color": INK}},
        "xaxis": _AXIS,
        "yaxis": _AXIS,
    }
)


def chart(
    traces: Sequence[Any],
    *,
    x: str = "",
    y: str = "",
    height: int = 300,
    xaxis: dict[str, Any] | None = None,
    yaxis: dict[str, Any] | None = None,
) -> go.Figure:
    """Return a figure in this project's look; it is as wide as its place."""
    figure = go.Figure(list(traces))
    figure.update_layout(template=TEMPLATE, height=height)
    figure.update_xaxes(title_text=x, **(xaxis or {}))
    figure.update_yaxes(title_text=y, **(yaxis or {}))
    return figure
