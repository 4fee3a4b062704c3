"""The chart of adaptive verification: speed over plain decoding by the number of requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from specviz.cost.figures.charts import axis, chart, dots, hover, polyline
from specviz.figures.plot import Trace
from specviz.frames.scene import Figure

HEIGHT: Final = 270
LINES: Final = {  # by plan: its colour, width and dash
    "whole": ("--dead", 2.0, "dot"),
    "static": ("--ink2", 2.0, "dash"),
    "adaptive": ("--p", 3.0, "solid"),
}


def load_figure(
    loads: Sequence[int], gains: Mapping[str, Sequence[float]], here: tuple[int, float]
) -> Figure:
    """Chart the speed-up of each plan over the number of requests, and mark the chosen load.

    Args:
        loads: Numbers of requests, each twice the one before it.
        gains: By plan, the speed-up over plain decoding at each load.
        here: The chosen number of requests and the speed-up there.
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
