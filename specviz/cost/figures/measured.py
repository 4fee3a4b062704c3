"""Charts of a server's acceptance by position, and of the speed-up by γ.

Counted values are marks. Simulated values are lines, dashed where acceptance is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any, Final

from specviz.cost.figures.charts import (
    MARGIN,
    axis,
    chart,
    dots,
    guesses_axis,
    hollow_marks,
    hover,
    words,
)
from specviz.cost.formatting import format_speedup
from specviz.cost.server.outlook import MAX_GAMMA, GammaOption, Outlook
from specviz.cost.server.report import format_rate
from specviz.cost.server.stats import PositionAcceptance, Rate
from specviz.figures.plot import Trace
from specviz.frames.scene import Figure

SERVER_HEIGHT: Final = 264
APART: Final = 0.14  # how far the two marks of a position are moved to the left and right
FEWEST: Final = 4  # minimum number of positions on the axis


def positions_figure(positions: Sequence[PositionAcceptance]) -> Figure:
    """Draw a chart of acceptance by position.

    One mark counts all drafts; the other counts only drafts whose earlier tokens were all accepted.
    """
    reached = [(one.number, one.cumulative) for one in positions]
    given = [(one.number, one.conditional) for one in positions if one.conditional]
    data: dict[str, Trace] = {
        "10-reached": _rates(reached, -APART, "circle", "all drafts"),
        "20-given": _rates(given, APART, "diamond-open", "the drafts that reached it"),
    }
    end = max(FEWEST, len(positions))
    step = 1 if end <= 12 else 4
    across = [(float(at), f"{at}") for at in range(1, end + 1, step)]
    up = [(at / 4, f"{25 * at}%") for at in range(5)]
    x = axis(0.5, end + 0.5, across, "position in the draft")
    figure = chart(data, x, axis(0, 1.04, up), SERVER_HEIGHT)
    figure["layout"]["margin"] = MARGIN | {"r": 12}
    return figure


def _rates(rows: Sequence[tuple[int, Rate]], shift: float, symbol: str, of: str) -> Trace:
    """Return marks with error bars."""
    shares = [(number + shift, found.share) for number, found in rows]
    texts = [f"position {number}: {format_rate(found)} of {of}" for number, found in rows]
    made = dots(shares, 9, "--ink", symbol) | hover(texts)
    spans: dict[str, Any] = {
        "type": "data",
        "symmetric": False,
        "array": [found.high - found.share for _, found in rows],
        "arrayminus": [found.share - found.low for _, found in rows],
        "color": "--ink2",
        "thickness": 1.5,
        "width": 3,
    }
    return made | {"error_y": spans}


def outlook_figure(found: Outlook) -> Figure:
    """Draw a chart of speed-up over γ: solid where acceptance was counted, dashed beyond."""
    counted = [choice for choice in found.options if choice.counted or choice.gamma == 0]
    beyond = [choice for choice in found.options if not choice.counted]
    joint = counted[-1:] if counted and beyond else []
    top = 1.15 * max(1.3, found.best.speedup)
    step = next(step for step in (0.25, 0.5, 1, 2, 5, 10) if top / step <= 6.5)
    ticks = [(at * step, f"{at * step:g} ×") for at in range(floor(top / step) + 1)]
    data: dict[str, Trace] = {
        "00-plain": _polyline([(0.0, 1.0), (float(MAX_GAMMA), 1.0)], 1.5, "dash", "--ink2"),
        "10-beyond": _curve([*joint, *[c for c in beyond if c.gamma]], "dot"),
        "20-counted": _curve(counted, "solid"),
        "40-best": hollow_marks([(found.best.gamma, found.best.speedup)]),
    }
    if found.current is not None:
        here = (float(found.current.gamma), found.current.speedup)
        data["30-now"] = dots([here], 13, "--ink")
        label = (here[0], 0.86 * here[1], "your γ", "--ink")
        data["50-names"] = words([label], 12, "bottom center")
    return chart(data, guesses_axis(MAX_GAMMA), axis(0, top, ticks), SERVER_HEIGHT)


def _curve(choices: Sequence[GammaOption], dash: str) -> Trace:
    points = [(float(choice.gamma), choice.speedup) for choice in choices]
    texts = [
        f"γ {c.gamma}: {format_speedup(c.speedup)} plain, {c.tokens:.2f} tokens per pass"
        f"{'' if c.counted or not c.gamma else ', assumed'}"
        for c in choices
    ]
    marks = {"mode": "lines+markers", "marker": {"size": 5, "color": "--ink"}}
    return _polyline(points, 2.5, dash, "--ink") | marks | hover(texts)


def _polyline(points: Sequence[tuple[float, float]], width: float, dash: str, colour: str) -> Trace:
    x, y = [at for at, _ in points], [value for _, value in points]
    return {"x": x, "y": y, "line": {"width": width, "color": colour, "dash": dash}}
