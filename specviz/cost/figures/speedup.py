"""Charts of the speed-up formula: speed-up, time and arithmetic over γ, and expected trees.

Everything is drawn in the colour of text, since the other colours mean p and q. A diamond is a
measured run, and a hollow diamond is the formula's prediction for it. The page removes plotly's
clip paths, so curves are cut off here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, floor, log2, log10
from statistics import fmean
from typing import Final, TypedDict

from specviz.cost import tree_formula
from specviz.cost.figures.charts import (
    GAP,
    MARGIN,
    Tick,
    axis,
    chart,
    curves,
    dots,
    guesses_axis,
    hollow_marks,
    hover,
    polyline,
    words,
)
from specviz.cost.formula import (
    MeasuredPoint,
    SpeedupModel,
)
from specviz.figures.layout import BARS_HEIGHT, LayoutData
from specviz.figures.plot import Point, Trace
from specviz.figures.tree import Label, label, whole_tree
from specviz.frames.scene import Figure, Word

HEIGHT: Final = 264
MIN_GAMMA: Final = 16  # a chart of γ shows at least this many values
MAX_GAMMA: Final = 64
ALPHA_OFFSETS: Final = (-0.2, -0.1, 0.1, 0.2)  # α of the faint curves, relative to the chosen α
LABEL_WIDTH: Final = 0.4  # of a run's label, as a share of the chart's width
LABEL_HEIGHT: Final = 0.06  # half of its height, as a share of the chart's height
HEADROOM: Final = 2.2  # maximum height of the chart, relative to the chosen curve


def speed_figure(
    terms: SpeedupModel, gamma: float, end: int, point: MeasuredPoint | None = None
) -> Figure:
    """Draw a chart of speed-up over γ: chosen α, similar α, the best γ, and a run's point.

    Args:
        terms: The values of the formula.
        gamma: The chosen γ.
        end: The largest γ shown.
        point: A measured run.
    """
    chosen = _curve(terms, end)
    beside = [_curve(near, end) for near in _neighbours(terms)]
    top = _chart_top(chosen, beside, point)
    best = terms.best()
    data: dict[str, Trace] = {
        "00-plain": polyline([(0, 1), (end, 1)], "--ink2", 1.5, "dash"),
        "10-beside": curves([part for curve in beside for part in _clip(curve, top)], "--dead", 1),
        "20-chosen": dots(chosen, 6, "--ink")
        | {"mode": "lines+markers", "line": {"width": 2.5, "color": "--ink"}}
        | hover([f"γ {g}: {value:.2f} ×" for g, value in chosen]),
        "30-here": dots([(gamma, terms.speedup(gamma))], 13, "--ink"),
        "31-drop": polyline([(gamma, 0), (gamma, terms.speedup(gamma))], "--ink", 1, "dot"),
        "50-names": words(_curve_labels(terms, top, end), 12, "middle right"),
    }
    if best.gamma is not None and 0 < best.gamma <= end:
        data["40-best"] = hollow_marks([(best.gamma, best.speedup)])
    if point is not None:
        side = "right" if point.gamma < 0.6 * end else "left"
        place = f"{_label_height(chosen, point, side, top)} {side}"
        data |= run_marks(point, (point.gamma, point.speedup), place, point.predicted)
    ticks = _ticks(top, " ×")
    return chart(data, guesses_axis(end), axis(0, top, ticks), HEIGHT)


def time_figure(terms: SpeedupModel, gamma: float, end: int) -> Figure:
    """Draw a chart of time and operations per token over γ, relative to plain decoding."""
    gammas = range(end + 1)
    time = [1.0 / terms.speedup(g) for g in gammas]
    work = [terms.arithmetic(g) for g in gammas]
    low = max(-5, min(-1, floor(log2(min(time)) - 0.1)))
    high = max(1, ceil(log2(max(*work, *time))))
    here = [(gamma, 1.0 / terms.speedup(gamma)), (gamma, terms.arithmetic(gamma))]
    ends = _push_apart([log2(time[-1]), log2(work[-1])], 0.07 * (high - low))
    names = [
        (end, 2.0**y, GAP + word, "--ink")
        for y, word in zip(ends, ("time", "arithmetic"), strict=True)
    ]
    data: dict[str, Trace] = {
        "00-plain": polyline([(0, 1), (end, 1)], "--ink2", 1.5, "dash"),
        "10-drop": polyline(
            [(gamma, 2.0**low), max(here, key=lambda at: at[1])], "--ink", 1, "dot"
        ),
        "20-work": polyline(list(zip(gammas, work, strict=True)), "--ink", 2.5, "dash")
        | hover([f"γ {g}: {value:.2f} × the arithmetic" for g, value in enumerate(work)]),
        "30-time": polyline(list(zip(gammas, time, strict=True)), "--ink", 2.5)
        | hover([f"γ {g}: {value:.2f} × the time" for g, value in enumerate(time)]),
        "40-here": dots(here, 13, "--ink"),
        "50-names": words(names, 12, "middle right"),
    }
    ticks = [(2.0**power, _power(power)) for power in _thin_out(range(low, high + 1), 7)]
    made = axis(log10(2.0**low), log10(2.0**high), ticks) | {"type": "log"}
    figure = chart(data, guesses_axis(end), made, HEIGHT)
    figure["layout"]["margin"] = MARGIN | {"r": 76}
    return figure


def shown_to(terms: SpeedupModel, *gammas: float) -> int:
    """Return the largest γ that a chart of these values should show."""
    best = terms.best().gamma or 0
    longest = max(MIN_GAMMA, ceil(max(gammas, default=0)), best + 2)
    return longest if longest <= MAX_GAMMA else MAX_GAMMA


def run_marks(
    run: MeasuredPoint, at: Point, place: str, predicted: float | None = None
) -> dict[str, Trace]:
    """Return the diamond of a run and, on speed-up charts, a hollow diamond of the prediction.

    Args:
        run: The measured run.
        at: Where the diamond is drawn.
        place: Where its label is drawn, as plotly's `textposition`.
        predicted: The formula's speed-up; None on other charts.
    """
    traces = {"80-run": dots([at], 15, "--ink", "diamond")}
    if predicted is not None:
        predicted_at = (at[0], predicted)
        traces["70-gap"] = polyline([at, predicted_at], "--ink", 1.5)
        tooltip = hover([f"formula at this run's values: {predicted:.2f} ×"])
        traces["71-law"] = hollow_marks([predicted_at], "diamond-open", 12) | tooltip
    return traces | {"81-run": run_words(run, at, place)}


def run_words(run: MeasuredPoint, at: Point, place: str) -> Trace:
    """Return the label of a run's diamond at a plotly `textposition`."""
    label = f"measured {run.speedup:.2f} ×"
    padded = 2 * GAP + label if place.endswith("right") else label + 2 * GAP
    return words([(*at, padded, "--ink")], 12, place)


def _label_height(curve: Sequence[Point], run: MeasuredPoint, side: str, top: float) -> str:
    """Return "middle", or "top" or "bottom" if a label beside the run would be on the curve."""
    end = curve[-1][0]
    ahead = 1 if side == "right" else -1
    beside = [y for x, y in curve if 0 <= ahead * (x - run.gamma) <= LABEL_WIDTH * end]
    if all(abs(y - run.speedup) > LABEL_HEIGHT * top for y in beside):
        return "middle"
    return "bottom" if fmean(beside) > run.speedup else "top"


def _curve(terms: SpeedupModel, end: int) -> list[Point]:
    return [(g, terms.speedup(g)) for g in range(end + 1)]


def _neighbours(terms: SpeedupModel) -> list[SpeedupModel]:
    """Return the formula's parameters with the α of the faint curves."""
    found = [round(terms.alpha + step, 9) for step in ALPHA_OFFSETS]
    return [replace(terms, alpha=alpha) for alpha in found if 0.0 < alpha < 1.0]


def _chart_top(
    chosen: Sequence[Point], beside: Sequence[Sequence[Point]], run: MeasuredPoint | None
) -> float:
    """Return the height of the chart: run and chosen curve must fit, others only if possible."""
    highest = max(y for _, y in chosen)
    others = max((y for curve in beside for _, y in curve), default=0.0)
    least = 1.5 if run is None else max(1.5, run.speedup, run.predicted)
    return 1.12 * max(least, highest, min(others, HEADROOM * highest))


def _clip(curve: Sequence[Point], top: float) -> list[list[Point]]:
    """Split a curve into the parts that are inside the chart."""
    parts: list[list[Point]] = [[curve[0]]]
    for (x, y), (to_x, to_y) in pairwise(curve):
        inside, stays = y <= top, to_y <= top
        if inside != stays:
            edge = (x + (to_x - x) * (top - y) / (to_y - y), top)
            parts[-1:] = [[*parts[-1], edge]] if inside else [parts[-1], [edge]]
        if stays:
            parts[-1].append((to_x, to_y))
    return parts


def _curve_labels(terms: SpeedupModel, top: float, end: int) -> list[tuple[float, float, str, str]]:
    """Label the curves with their α at the right end, the chosen one first, without overlaps."""
    labels: list[tuple[float, float, str, str]] = []
    for curve in (terms, *_neighbours(terms)):
        y, ink = curve.speedup(end), "--ink" if curve is terms else "--ink3"
        if y <= top and all(abs(y - other) > 0.06 * top for _, other, _, _ in labels):
            labels.append((end, y, f"{GAP}α {curve.alpha:.2f}", ink))
    return labels


def _ticks(top: float, unit: str) -> list[Tick]:
    """Return at most seven ticks from 0 to `top`."""
    steps = (digit * 10.0**power for power in range(12) for digit in (1, 2, 5))
    step = next(step for step in (0.25, 0.5, *steps) if top / step <= 6.5)
    return [(at * step, f"{at * step:g}{unit}") for at in range(floor(top / step) + 1)]


def _power(power: int) -> str:
    """Format a power of 2."""
    return f"{2**power} ×" if power >= 0 else f"1/{2**-power} ×"


def _thin_out(values: Sequence[int], most: int) -> Sequence[int]:
    """Return at most `most` of the values, evenly spaced and including 0."""
    step = ceil(len(values) / most)
    return [value for value in values if value % step == 0]


def _push_apart(values: Sequence[float], least: float) -> list[float]:
    """Move two values apart until they differ by at least `least`."""
    low, high = sorted(values)
    push = max(0.0, least - (high - low)) / 2
    return [value - push if value == low else value + push for value in values]


TREE_GAP: Final = 26


class ExpectedNode(TypedDict):
    """A node of an expected tree.

    Attributes:
        both: The probability that a round accepts its token.
    """

    w: Word
    label: Label
    parent: int
    both: float


class ExpectedTree(TypedDict):
    """An expected tree, as it is drawn."""

    nodes: list[ExpectedNode]
    layout: LayoutData


def expected_tree(parents: Sequence[int], reached: Sequence[float]) -> ExpectedTree:
    """Return a tree of ranks, each with the probability that a round accepts its token.

    Args:
        parents: The tree.
        reached: For each node, the probability that it is on the accepted path.
    """
    ranks = tree_formula.sibling_ranks(parents)
    names: list[Word] = [["…"]]
    names += [[str(rank + 1)] for rank in ranks[1:]]
    labels = [label(name) for name in names]
    nodes: list[ExpectedNode] = [
        {"w": name, "label": drawn, "parent": parent, "both": round(chance, 4)}
        for name, drawn, parent, chance in zip(names, labels, parents, reached, strict=True)
    ]
    layout = whole_tree(labels, parents, TREE_GAP, bars=BARS_HEIGHT)
    return {"nodes": nodes, "layout": layout.to_json()}


PAYOFF_HEIGHT: Final = 230


def payoff_figure(
    gains: Sequence[float], forecast: Sequence[float], prices: Sequence[float | None]
) -> Figure:
    """Draw a chart of each guess's gain and cost, the most probable guesses first.

    Args:
        gains: Tokens that each guess adds; drawn as bars.
        forecast: The same, predicted from acceptance by rank; drawn as diamonds.
        prices: Tokens that plain decoding would add in the time that verifying this guess takes;
            drawn as a line.
    """
    numbers = [float(number) for number in range(1, len(gains) + 1)]
    data: dict[str, Trace] = {
        "10-gains": {"type": "bar", "x": numbers, "y": list(gains), "marker": {"color": "--b"}}
        | _guess_texts(gains, "adds {:.3f} tokens")
    }
    if any(forecast):
        look = {"size": 5, "color": "--ink2", "symbol": "diamond"}
        marks = {"mode": "markers", "x": numbers, "y": list(forecast), "marker": look}
        data["20-forecast"] = marks | _guess_texts(forecast, "{:.3f}, predicted from its rank")
    both = zip(numbers, prices, strict=True)
    curve = [(number, price) for number, price in both if price is not None]
    if curve:
        data["30-price"] = curves([curve], "--ink", 2)
    top = max(0.2, *gains, *forecast)
    step = 0.1 if top <= 0.5 else 0.25
    up = [(at * step, f"{at * step:g}") for at in range(ceil(top / step) + 1)]
    every = max(1, ceil(len(numbers) / 12))
    along = [(number, f"{number:.0f}") for number in numbers[::every]]
    x = axis(0.3, len(numbers) + 0.7, along, "guesses, in the order kept")
    return chart(data, x, axis(0.0, 1.05 * top, up), PAYOFF_HEIGHT)


def _guess_texts(values: Sequence[float], form: str) -> Trace:
    return hover([f"guess {at}: {form.format(value)}" for at, value in enumerate(values, 1)])
