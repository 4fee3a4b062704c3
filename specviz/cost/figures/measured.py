"""A chart of measured values: pass time by tokens.

Measured values are marks. Simulated values are lines. The axis of tokens is logarithmic;
milliseconds start at zero, so that heights can be compared.
"""

from __future__ import annotations

from math import log10
from typing import Any, Final

from specviz.cost.sweep import SIZES, Sweep, middle_half
from specviz.figures.plot import FONT, Trace, layout
from specviz.frames.scene import Figure

WIDTH, HEIGHT = 640, 340


TICKS: Final = (1, 2, 4, 8, 16, 32, 64)
EDGES: Final = (0.88, 73.0)  # number of tokens at the left and right edge of the chart


def sweep_figure(sweep: Sweep) -> Figure:
    """Draw a chart of medians with their quartiles, and the roofline with and without overhead."""
    lines = _simulated_lines(sweep)
    data: dict[str, Trace] = {**lines, "30-measured": _marks(sweep)}
    if sweep.plain is not None:
        data["05-plain"] = _level(1000.0 * sweep.plain)
    tops = [1000.0 * middle_half(point.seconds)[1] for point in sweep.points]
    tops += [max(trace["y"]) for trace in lines.values()]
    return {"data": data, "layout": _layout(1.08 * max(tops, default=1.0))}


def _marks(sweep: Sweep) -> Trace:
    """Return a mark for each median, with a bar from the first to the third quartile."""
    medians = [1000.0 * point.median for point in sweep.points]
    spans = [middle_half(point.seconds) for point in sweep.points]
    texts = [_hover_text(sweep, point.tokens, len(point.seconds)) for point in sweep.points]
    pairs = list(zip(medians, spans, strict=True))
    return {
        "mode": "markers",
        "x": [point.tokens for point in sweep.points],
        "y": medians,
        "marker": {"color": "--p", "size": 9, "line": {"color": "--bg", "width": 1}},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [1000.0 * high - at for at, (_, high) in pairs],
            "arrayminus": [at - 1000.0 * low for at, (low, _) in pairs],
            "color": "--p",
            "thickness": 1.5,
            "width": 3,
        },
        "hoverinfo": "text",
        "hovertext": texts,
    }


def _hover_text(sweep: Sweep, tokens: int, count: int) -> str:
    """Return the hover text of a size; it contains no text from a file."""
    line, cost = sweep.predicted(tokens), sweep.passes(tokens)
    words = [f"{tokens} token{'' if tokens == 1 else 's'} in the pass"]
    words.append(f"measured {1000.0 * sweep.by_tokens[tokens]:.2f} ms, median of {count}")
    if cost is not None:
        words.append(f"{cost:.2f} plain passes")
    if line is not None:
        words.append(f"roofline {1000.0 * line.seconds:.2f} ms ({line.bound}-bound): simulated")
    return "<br>".join(words)


def _simulated_lines(sweep: Sweep) -> dict[str, Trace]:
    """Return the simulated lines: the roofline, and the roofline plus overhead if that is known."""
    if sweep.peaks is None:
        return {}
    found = {
        "10-roofline": _simulated_line(
            sweep, 0.0, {"color": "--ink2", "width": 2, "dash": "6px,5px"}
        )
    }
    if sweep.overhead is not None and sweep.overhead > 0.0:
        dotted = {"color": "--ink3", "width": 2, "dash": "2px,4px"}
        found["11-overhead"] = _simulated_line(sweep, sweep.overhead, dotted)
    return found


def _simulated_line(sweep: Sweep, overhead: float, style: dict[str, Any]) -> Trace:
    tokens = range(1, SIZES[-1] + 1)
    passes = [sweep.predicted(n, overhead) for n in tokens]
    y = [1000.0 * each.seconds for each in passes if each is not None]
    return {"mode": "lines", "x": list(tokens), "y": y, "line": style}


def _level(height: float) -> Trace:
    """Return a horizontal line at the time of one plain pass."""
    return {
        "mode": "lines",
        "x": list(EDGES),
        "y": [height, height],
        "line": {"color": "--line2", "width": 1},
    }


def _layout(top: float) -> dict[str, Any]:
    made = layout(WIDTH, HEIGHT)
    words = {"family": FONT, "size": 12, "color": "--ink2"}
    axis = {
        "visible": True,
        "fixedrange": True,
        "automargin": False,
        "showline": False,
        "zeroline": False,
        "tickfont": words,
        "gridcolor": "--line",
    }
    made["margin"] = {"l": 44, "r": 8, "t": 26, "b": 44, "pad": 0}
    made["xaxis"] = axis | {
        "type": "log",
        "range": [log10(edge) for edge in EDGES],
        "tickvals": list(TICKS),
        "ticktext": [f"{n}" for n in TICKS],
        "showgrid": False,
        "ticks": "outside",
        "tickcolor": "--line2",
        "ticklen": 4,
        "title": {"text": "tokens in the pass", "font": words, "standoff": 8},
    }
    made["yaxis"] = axis | {"range": [0.0, top], "nticks": 6, "rangemode": "tozero"}
    unit = {"text": "ms", "font": words, "x": 0, "y": 1, "xref": "paper", "yref": "paper"}
    place = {"xanchor": "right", "yanchor": "bottom", "showarrow": False, "xshift": -6}
    made["annotations"] = [unit | place | {"yshift": 6}]
    return made
