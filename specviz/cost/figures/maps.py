"""Maps of the speed-up formula: contour lines over α and γ, and over α and c.

Darker shades mean a larger speed-up, and no shade means slower than plain decoding. Contour lines
are computed exactly, not interpolated. Everything is drawn in the colour of text, since the other
colours mean p and q.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from specviz.cost.figures.charts import (
    MARGIN,
    axis,
    chart,
    curves,
    dots,
    words,
)
from specviz.cost.figures.speedup import run_marks
from specviz.cost.formula import (
    MeasuredPoint,
    SpeedupModel,
    contour_alpha,
    contour_cost,
    contour_gamma,
)
from specviz.figures.plot import Point, Trace
from specviz.frames.scene import Figure

MAP_HEIGHT: Final = 300
LEVELS: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SHADE: Final = 0.09  # opacity that each level adds
STEPS: Final = 40  # number of steps across a map
LAST_ALPHAS: Final = (0.985, 0.99, 0.995)  # additional values of α near 1, where lines are steep
LABEL_SHARE: Final = 0.05  # share of the map's width or height that a label takes
SLOWER: Final = "slower than plain decoding"


Words = tuple[float, float, str, str]


def gamma_map(
    terms: SpeedupModel, gamma: float, end: int, run: MeasuredPoint | None = None
) -> Figure:
    """Draw a map of the speed-up over α and γ at this c; a dotted line shows the best γ."""
    areas, names = {}, []
    for order, level in enumerate(LEVELS):
        edge = _edge(terms, level, end)
        if len(edge) > 1:
            areas[f"0{order}-area"] = _shade([*edge, (1.0, edge[-1][1]), (1.0, edge[0][1])])
            areas[f"1{order}-line"] = curves([edge], "--ink", 2.5 if level == 1.0 else 1)
            if edge[-1][1] == end:
                names.append((edge[-1][0], float(end), _level(level), "--ink"))
    data = areas | {
        "30-best": curves(_ridge(terms, end), "--ink", 2) | _dotted(),
        "40-names": words(_without_overlaps(names, 0, LABEL_SHARE), 12, "top center"),
        "50-here": dots([(terms.alpha, max(1.0, gamma))], 13, "--ink"),
    }
    slower = contour_alpha(1.0, end, terms.c, terms.verify)
    if slower is None or slower > 0.4:
        data["41-slower"] = words([(0.02, end * 0.92, SLOWER, "--ink2")], 12, "middle right")
    if run is not None:
        data |= run_marks(run, (run.alpha, min(run.gamma, end)), _side(run))
    step = 4 if end <= 32 else 8
    ticks = [(1.0, "1"), *((float(at), str(at)) for at in range(step, end + 1, step))]
    figure = chart(data, _alphas(), axis(1, end, ticks), MAP_HEIGHT)
    return _with_margin(figure, 26, 20)


def cost_map(terms: SpeedupModel, run: MeasuredPoint | None = None) -> Figure:
    """Draw a map of the speed-up over α and c, with the best γ at each point."""
    top = max(1.0, ceil(2 * max(terms.c, run.c if run else 0.0)) / 2)
    areas, names = {}, []
    alphas = sorted([at / STEPS for at in range(STEPS + 1)] + [*LAST_ALPHAS])
    for order, level in enumerate(LEVELS):
        found = [(alpha, contour_cost(level, alpha, terms.verify)) for alpha in alphas]
        edge = [(alpha, min(c, top)) for alpha, c in found if c is not None]
        if len(edge) > 1:
            areas[f"0{order}-area"] = _shade([*edge, (1.0, 0.0), (edge[0][0], 0.0)])
            areas[f"1{order}-line"] = curves([edge], "--ink", 2.5 if level == 1.0 else 1)
            names.append((1.0, edge[-1][1], "\u00a0" + _level(level), "--ink"))
    data = areas | {
        "40-names": words(_without_overlaps(names, 1, LABEL_SHARE * top), 12, "middle right"),
        "41-slower": words([(0.02, 0.92 * top, SLOWER, "--ink2")], 12, "middle right"),
        "50-here": dots([(terms.alpha, terms.c)], 13, "--ink"),
    }
    if run is not None:
        data |= run_marks(run, (run.alpha, run.c), _side(run))
    ticks = [(top * at / 5, f"{top * at / 5:.1f}") for at in range(6)]
    return _with_margin(chart(data, _alphas(), axis(0, top, ticks), MAP_HEIGHT), 14, 44)


def _edge(terms: SpeedupModel, level: float, end: int) -> list[Point]:
    """Return the contour line at `level`, in order of increasing γ; it may end at α = 1."""
    steps = [1 + (end - 1) * at / STEPS for at in range(STEPS + 1)]
    found = [(contour_alpha(level, at, terms.c, terms.verify), at) for at in steps]
    line: list[Point] = []
    for (alpha, at), (after, above) in zip([(None, 1.0), *found], found, strict=False):
        if (alpha is None) != (after is None) and at != above:
            line.append((1.0, contour_gamma(level, terms.c, terms.verify, at, above)))
        if after is not None:
            line.append((after, above))
    return line


def _side(run: MeasuredPoint) -> str:
    return "middle right" if run.alpha < 0.5 else "middle left"


def _alphas() -> dict[str, Any]:
    ticks = [(at / 5, f"{at / 5:.1f}") for at in range(6)]
    return axis(0, 1, ticks, "α, acceptance probability")


def _ridge(terms: SpeedupModel, end: int) -> list[list[Point]]:
    """Return the best γ for each α as a step line."""
    parts: list[list[Point]] = [[]]
    for at in range(STEPS + 1):
        best = SpeedupModel(at / STEPS, terms.c, terms.verify).best().gamma
        if best is not None and 0 < best <= end:
            last = parts[-1][-1:]
            parts[-1] += [(at / STEPS, last[0][1])] if last and last[0][1] != best else []
            parts[-1].append((at / STEPS, best))
    return parts


def _shade(outline: Sequence[Point]) -> Trace:
    """Return a transparent area, which darkens what is drawn below it."""
    area = curves([outline], "--ink", 0)
    return area | {"fill": "toself", "fillcolor": "--ink", "opacity": SHADE}


def _dotted() -> Trace:
    return {"line": {"width": 2, "color": "--ink", "dash": "dot"}}


def _level(level: float) -> str:
    return f"{level:g} ×" if level == 1.0 else f"{level:g}"


def _without_overlaps(names: Sequence[Words], by: int, distance: float) -> list[Words]:
    """Return the labels that do not overlap earlier ones.

    Args:
        names: Labels.
        by: The axis along which distances are measured: 0 horizontal, 1 vertical.
        distance: The smallest distance.
    """
    labels: list[Words] = []
    for name in names:
        if all(abs(float(name[by]) - float(other[by])) > distance for other in labels):
            labels.append(name)
    return labels


def _with_margin(figure: Figure, above: int, right: int) -> Figure:
    figure["layout"]["margin"] = MARGIN | {"t": above, "r": right}
    return figure
