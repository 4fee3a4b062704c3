"""Axes, lines, marks and labels of the Cost tab's charts, and the chart of adaptive verification.

Coordinates are in data units, not pixels, so a chart may be drawn narrower than WIDTH.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.figures.plot import FONT, Point, Trace, layout, texts
from specviz.frames.scene import Figure

WIDTH: Final = 832
MARGIN: Final = {"l": 44, "r": 54, "t": 20, "b": 40, "pad": 0}
GAP: Final = "\u00a0\u00a0"  # between a mark and its label; plotly removes ordinary spaces

Tick = tuple[float, str]


def chart(data: dict[str, Trace], x: dict[str, Any], y: dict[str, Any], height: int) -> Figure:
    """Combine traces and axes into a figure."""
    made = layout(WIDTH, height)
    return {"data": data, "layout": made | {"margin": MARGIN, "xaxis": x, "yaxis": y}}


def axis(low: float, high: float, ticks: Sequence[Tick], title: str = "") -> dict[str, Any]:
    """Return an axis with grid lines at its ticks."""
    return {
        "visible": True, "fixedrange": True, "automargin": False, "range": [low, high],
        "tickvals": [value for value, _ in ticks], "ticktext": [text for _, text in ticks],
        "tickfont": {"family": FONT, "size": 12, "color": "--ink2"},
        "gridcolor": "--edge", "zeroline": False, "showline": True, "linecolor": "--line2",
        "title": {"text": title, "standoff": 6, "font": {"size": 12, "color": "--ink2"}},
    }  # fmt: skip


def guesses_axis(end: int) -> dict[str, Any]:
    """Return the axis of γ from 0 to `end`, with some space at both ends."""
    step = 2 if end <= 16 else 4 if end <= 32 else 8
    ticks = [(float(at), str(at)) for at in range(0, end + 1, step)]
    return axis(-0.4, end + 0.2, ticks, "γ, draft tokens in a chain")


def dots(points: Sequence[Point], size: float, colour: str, symbol: str = "circle") -> Trace:
    """Return marks with an outline in the background colour, to be visible on lines."""
    edge = {"color": "--bg", "width": 2 if size > 8 else 0}
    mark = {"size": size, "color": colour, "symbol": symbol, "line": edge}
    return _at(points) | {"mode": "markers", "marker": mark}


def hollow_marks(points: Sequence[Point], symbol: str = "circle-open", size: float = 19) -> Trace:
    """Return marks without a fill."""
    mark = {"size": size, "color": "--ink", "symbol": symbol, "line": {"width": 2}}
    return _at(points) | {"mode": "markers", "marker": mark}


def hover(labels: Sequence[str]) -> Trace:
    """Return the hover texts of a trace, one per point."""
    return {"hoverinfo": "text", "hovertext": list(labels)}


def words(rows: Sequence[tuple[float, float, str, str]], size: int, anchor: str) -> Trace:
    """Return labels at data coordinates, which are not rounded as pixels would be."""
    return texts(rows, size, anchor) | _at([(x, y) for x, y, _, _ in rows])


def _at(points: Sequence[Point]) -> Trace:
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def polyline(points: Sequence[Point], colour: str, width: float, dash: str = "solid") -> Trace:
    """Return a line through points."""
    return _at(points) | {"line": {"width": width, "color": colour, "dash": dash}}


def curves(curves: Sequence[Sequence[Point]], colour: str, width: float) -> Trace:
    """Return several curves as one trace, with gaps between them."""
    x: list[float | None] = []
    y: list[float | None] = []
    for curve in curves:
        x += [*(at for at, _ in curve), None]
        y += [*(value for _, value in curve), None]
    return {"x": x, "y": y, "line": {"width": width, "color": colour}}


HEIGHT: Final = 270
LINES: Final = {  # colour, width and dash of each plan
    "whole": ("--dead", 2.0, "dot"),
    "static": ("--ink2", 2.0, "dash"),
    "adaptive": ("--p", 3.0, "solid"),
}


def load_figure(
    loads: Sequence[int], gains: Mapping[str, Sequence[float]], here: tuple[int, float]
) -> Figure:
    """Chart the speed-up of each plan over the number of requests, and mark the chosen load.

    Args:
        loads: Numbers of requests, each twice the previous one.
        gains: For each plan, the speed-up over plain decoding at each load.
        here: The chosen number of requests, and the speed-up there.
    """
    places = range(len(loads))
    top = 1.12 * max(max(row) for row in gains.values())
    data: dict[str, Trace] = {"00-plain": polyline([(0, 1), (places[-1], 1)], "--ink3", 1, "solid")}
    for rank, (name, (colour, width, dash)) in enumerate(LINES.items()):
        points = list(zip(map(float, places), gains[name], strict=True))
        labels = [
            f"{load} requests: {gain:.2f} ×" for load, (_, gain) in zip(loads, points, strict=True)
        ]
        data[f"1{rank}-{name}"] = polyline(points, colour, width, dash) | hover(labels)
    data["30-here"] = dots([(float(loads.index(here[0])), here[1])], 11, "--p")
    across = axis(
        -0.2,
        places[-1] + 0.2,
        [(p, str(n)) for p, n in zip(places, loads, strict=True)],
        "requests",
    )
    step = 0.5 if top < 3 else 1.0
    ticks = [(step * n, f"{step * n:g} ×") for n in range(int(top / step) + 1)]
    return chart(data, across, axis(0, top, ticks), HEIGHT)
