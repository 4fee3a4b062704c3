"""The chart of what each guess of a draft tree adds and costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from specviz.cost.figures.charts import axis, chart, curves, hover
from specviz.figures.plot import Trace
from specviz.frames.scene import Figure

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
