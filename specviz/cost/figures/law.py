"""The speed law as plotly figures: speed-up over γ, and time beside arithmetic over γ.

Nothing here is a p or a q, so all is in ink; a measured point is a diamond, and what the law says
of that run is a hollow one. Across and down, a chart counts in its own units, so it may be drawn
narrower than WIDTH. The page takes plotly's clips away: what a chart cannot hold is cut here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, log2, log10
from typing import Any, Final

from specviz.cost.point import MeasuredPoint
from specviz.cost.terms import Terms
from specviz.figures.plot import FONT, Figure, Point, Trace, layout, texts

WIDTH: Final = 832
HEIGHT: Final = 264
MARGIN: Final = {"l": 44, "r": 54, "t": 20, "b": 40, "pad": 0}
SHORTEST: Final = 16  # guesses; a chart of γ shows at least so many
LONGEST: Final = 64
BESIDE: Final = (-0.2, -0.1, 0.1, 0.2)  # α of the faint curves, from the chosen one
OVER: Final = 2.2  # how far above the chosen curve a chart reaches for the faint ones
GAP: Final = "\u00a0\u00a0"  # between a mark and its words; plotly trims plain spaces


Tick = tuple[float, str]


def speed_figure(
    terms: Terms, gamma: float, end: int, point: MeasuredPoint | None = None
) -> Figure:
    """Speed-up over γ: the chosen α's curve, its neighbours faint, the best γ, and a run's point.

    gamma: the chosen one. end: the longest draft shown.
    """
    chosen = _curve(terms, end)
    beside = [_curve(near, end) for near in _beside(terms)]
    top = _top(chosen, beside, point)
    best = terms.best()
    data: dict[str, Trace] = {
        "00-plain": _line([(0, 1), (end, 1)], "--ink2", 1.5, "dash"),
        "10-beside": many([part for curve in beside for part in _under(curve, top)], "--dead", 1),
        "20-chosen": dots(chosen, 6, "--ink")
        | {"mode": "lines+markers", "line": {"width": 2.5, "color": "--ink"}}
        | hover([f"γ {place}: {value:.2f} ×" for place, value in chosen]),
        "30-here": dots([(gamma, terms.speedup(gamma))], 13, "--ink"),
        "31-drop": _line([(gamma, 0), (gamma, terms.speedup(gamma))], "--ink", 1, "dot"),
        "50-names": words(_names(terms, top, end), 12, "middle right"),
    }
    if best.gamma is not None and 0 < best.gamma <= end:
        data["40-best"] = rings([(best.gamma, best.speedup)])
    if point is not None:
        side = "right" if point.gamma < 0.6 * end else "left"
        data |= run_marks(point, (point.gamma, point.speedup), side, point.predicted)
    ticks = _ticks(top, " ×")
    return chart(data, guesses_axis(end), axis(0, top, ticks), HEIGHT)


def time_figure(terms: Terms, gamma: float, end: int) -> Figure:
    """Time and arithmetic per token over plain decoding's, by γ: one falls, the other rises."""
    places = range(end + 1)
    time = [1.0 / terms.speedup(place) for place in places]
    work = [terms.arithmetic(place) for place in places]
    low = max(-5, min(-1, floor(log2(min(time)) - 0.1)))
    high = max(1, ceil(log2(max(*work, *time))))
    here = [(gamma, 1.0 / terms.speedup(gamma)), (gamma, terms.arithmetic(gamma))]
    ends = _apart([log2(time[-1]), log2(work[-1])], 0.07 * (high - low))
    names = [
        (end, 2.0**y, GAP + word, "--ink")
        for y, word in zip(ends, ("time", "arithmetic"), strict=True)
    ]
    data: dict[str, Trace] = {
        "00-plain": _line([(0, 1), (end, 1)], "--ink2", 1.5, "dash"),
        "10-drop": _line([(gamma, 2.0**low), max(here, key=lambda at: at[1])], "--ink", 1, "dot"),
        "20-work": _line(list(zip(places, work, strict=True)), "--ink", 2.5, "dash")
        | hover([f"γ {place}: {value:.2f} × the arithmetic" for place, value in enumerate(work)]),
        "30-time": _line(list(zip(places, time, strict=True)), "--ink", 2.5)
        | hover([f"γ {place}: {value:.2f} × the time" for place, value in enumerate(time)]),
        "40-here": dots(here, 13, "--ink"),
        "50-names": words(names, 12, "middle right"),
    }
    ticks = [(2.0**power, _power(power)) for power in _some(range(low, high + 1), 7)]
    made = axis(log10(2.0**low), log10(2.0**high), ticks) | {"type": "log"}
    figure = chart(data, guesses_axis(end), made, HEIGHT)
    figure["layout"]["margin"] = MARGIN | {"r": 76}
    return figure


def shown_to(terms: Terms, *gammas: float) -> int:
    """The longest draft that a chart of these should show."""
    best = terms.best().gamma or 0
    longest = max(SHORTEST, ceil(max(gammas, default=0)), best + 2)
    return longest if longest <= LONGEST else LONGEST


def chart(data: dict[str, Trace], x: dict[str, Any], y: dict[str, Any], height: int) -> Figure:
    """Traces on axes that count in their own units."""
    made = layout(WIDTH, height)
    return {"data": data, "layout": made | {"margin": MARGIN, "xaxis": x, "yaxis": y}}


def axis(low: float, high: float, ticks: Sequence[Tick], title: str = "") -> dict[str, Any]:
    """An axis with lines at its ticks."""
    return {
        "visible": True, "fixedrange": True, "automargin": False, "range": [low, high],
        "tickvals": [value for value, _ in ticks], "ticktext": [text for _, text in ticks],
        "tickfont": {"family": FONT, "size": 12, "color": "--ink2"},
        "gridcolor": "--edge", "zeroline": False, "showline": True, "linecolor": "--line2",
        "title": {"text": title, "standoff": 6, "font": {"size": 12, "color": "--ink2"}},
    }  # fmt: skip


def guesses_axis(end: int) -> dict[str, Any]:
    """The axis of γ, a little wider than its numbers."""
    step = 2 if end <= 16 else 4 if end <= 32 else 8
    ticks = [(float(place), str(place)) for place in range(0, end + 1, step)]
    return axis(-0.4, end + 0.2, ticks, "γ, guesses in a row")


def dots(points: Sequence[Point], size: float, colour: str, symbol: str = "circle") -> Trace:
    """Marks with an edge of the page's own colour, so that they stand clear of lines."""
    edge = {"color": "--bg", "width": 2 if size > 8 else 0}
    mark = {"size": size, "color": colour, "symbol": symbol, "line": edge}
    return _at(points) | {"mode": "markers", "marker": mark}


def rings(points: Sequence[Point], symbol: str = "circle-open", size: float = 19) -> Trace:
    """Hollow marks."""
    mark = {"size": size, "color": "--ink", "symbol": symbol, "line": {"width": 2}}
    return _at(points) | {"mode": "markers", "marker": mark}


def run_marks(
    run: MeasuredPoint, at: Point, side: str, predicted: float | None = None
) -> dict[str, Trace]:
    """A run's diamond where it was measured and, on a chart of speed-ups, the law's hollow one.

    side: of the diamond on which its words stand.
    """
    made = {"80-run": dots([at], 15, "--ink", "diamond")}
    if predicted is not None:
        law = (at[0], predicted)
        made["70-gap"] = _line([at, law], "--ink", 1.5)
        told = hover([f"the law, on this run's terms: {predicted:.2f} ×"])
        made["71-law"] = rings([law], "diamond-open", 12) | told
    return made | {"81-run": run_words(run, at, side)}


def run_words(run: MeasuredPoint, at: Point, side: str) -> Trace:
    """What the diamond is."""
    said = f"measured {run.speedup:.2f} ×"
    told = 2 * GAP + said if side == "right" else said + 2 * GAP
    return words([(*at, told, "--ink")], 12, f"middle {side}")


def hover(said: Sequence[str]) -> Trace:
    """Words that come up under the pointer; the page sets them as they are."""
    return {"hoverinfo": "text", "hovertext": list(said)}


def words(rows: Sequence[tuple[float, float, str, str]], size: int, anchor: str) -> Trace:
    """Words as one trace, at places in a chart's own units: not rounded to tenths of a pixel."""
    return texts(rows, size, anchor) | _at([(x, y) for x, y, _, _ in rows])


def _at(points: Sequence[Point]) -> Trace:
    return {"x": [x for x, _ in points], "y": [y for _, y in points]}


def _line(points: Sequence[Point], colour: str, width: float, dash: str = "solid") -> Trace:
    return _at(points) | {"line": {"width": width, "color": colour, "dash": dash}}


def many(curves: Sequence[Sequence[Point]], colour: str, width: float) -> Trace:
    """Curves as one trace, with gaps between them."""
    x: list[float | None] = []
    y: list[float | None] = []
    for curve in curves:
        x += [*(place for place, _ in curve), None]
        y += [*(value for _, value in curve), None]
    return {"x": x, "y": y, "line": {"width": width, "color": colour}}


def _curve(terms: Terms, end: int) -> list[Point]:
    return [(place, terms.speedup(place)) for place in range(end + 1)]


def _beside(terms: Terms) -> list[Terms]:
    """The same terms at the α of the faint curves."""
    found = [round(terms.alpha + step, 9) for step in BESIDE]
    return [replace(terms, alpha=alpha) for alpha in found if 0.0 < alpha < 1.0]


def _top(
    chosen: Sequence[Point], beside: Sequence[Sequence[Point]], run: MeasuredPoint | None
) -> float:
    """How high the chart reaches: run and chosen curve whole, the others as far as fits."""
    highest = max(y for _, y in chosen)
    others = max((y for curve in beside for _, y in curve), default=0.0)
    least = 1.5 if run is None else max(1.5, run.speedup, run.predicted)
    return 1.12 * max(least, highest, min(others, OVER * highest))


def _under(curve: Sequence[Point], top: float) -> list[list[Point]]:
    """The parts of a curve that a chart can hold, cut where they leave it."""
    parts: list[list[Point]] = [[curve[0]]]
    for (x, y), (to_x, to_y) in pairwise(curve):
        inside, stays = y <= top, to_y <= top
        if inside != stays:
            edge = (x + (to_x - x) * (top - y) / (to_y - y), top)
            parts[-1:] = [[*parts[-1], edge]] if inside else [parts[-1], [edge]]
        if stays:
            parts[-1].append((to_x, to_y))
    return parts


def _names(terms: Terms, top: float, end: int) -> list[tuple[float, float, str, str]]:
    """What each curve's α is, at its right end where there is room; the chosen one first."""
    told: list[tuple[float, float, str, str]] = []
    for curve in (terms, *_beside(terms)):
        y, ink = curve.speedup(end), "--ink" if curve is terms else "--ink3"
        if y <= top and all(abs(y - other) > 0.065 * top for _, other, _, _ in told):
            told.append((end, y, f"{GAP}α {curve.alpha:.2f}", ink))
    return told


def _ticks(top: float, unit: str) -> list[Tick]:
    """Numbers from 0 up to `top`, at most seven."""
    steps = (digit * 10.0**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in (0.25, 0.5, *steps) if top / step <= 6.5)
    return [(at * step, f"{at * step:g}{unit}") for at in range(floor(top / step) + 1)]


def _power(power: int) -> str:
    """2 to the power, as people write it."""
    return f"{2**power} ×" if power >= 0 else f"1/{2**-power} ×"


def _some(values: Sequence[int], most: int) -> Sequence[int]:
    """At most so many of them, evenly, 0 always among them."""
    step = ceil(len(values) / most)
    return [value for value in values if value % step == 0]


def _apart(values: Sequence[float], least: float) -> list[float]:
    """Two values, moved from each other to be `least` apart."""
    low, high = sorted(values)
    push = max(0.0, least - (high - low)) / 2
    return [value - push if value == low else value + push for value in values]
