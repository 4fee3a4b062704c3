"""Chart the gain of every guess of a tree, and its cost."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from specviz.cost.figures.charts import axis, chart, curves, hover
from specviz.figures.plot import Figure, Trace

HEIGHT: Final = 230


def payoff_figure(
    gains: Sequence[float], forecast: Sequence[float], prices: Sequence[float | None]
) -> Figure:
    """Chart the gain of each guess in the order kept, and its cost.

    Args:
        gains: Tokens that each guess adds: bars.
        forecast: The same from acceptance by rank: diamonds.
        prices: The tokens that its share of the pass would give otherwise: a line.
    """
    places = [float(place) for place in range(1, len(gains) + 1)]
    data: dict[str, Trace] = {
        "10-gains": {"type": "bar", "x": places, "y": list(gains), "marker": {"color": "--b"}}
        | _said(gains, "adds {:.3f} tokens")
    }
    if any(forecast):
        look = {"size": 5, "color": "--ink2", "symbol": "diamond"}
        marks = {"mode": "markers", "x": places, "y": list(forecast), "marker": look}
        data["20-forecast"] = marks | _said(forecast, "{:.3f}, predicted from its rank")
    both = zip(places, prices, strict=True)
    curve = [(place, price) for place, price in both if price is not None]
    if curve:
        data["30-price"] = curves([curve], "--ink", 2)
    top = max(0.2, *gains, *forecast)
    step = 0.1 if top <= 0.5 else 0.25
    up = [(at * step, f"{at * step:g}") for at in range(ceil(top / step) + 1)]
    every = max(1, ceil(len(places) / 12))
    along = [(place, f"{place:.0f}") for place in places[::every]]
    x = axis(0.3, len(places) + 0.7, along, "guesses, in the order kept")
    return chart(data, x, axis(0.0, 1.05 * top, up), HEIGHT)


def _said(values: Sequence[float], form: str) -> Trace:
    return hover([f"guess {at}: {form.format(value)}" for at, value in enumerate(values, 1)])
