"""Maps of the speed law: lines of equal speed-up, shaded deeper where drafting gains more.

No shade is where drafting loses: below 1 ×. Each line is solved for, none is interpolated.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Final

from specviz.cost.figures.law import MARGIN, axis, chart, dots, many, run_marks, words
from specviz.cost.point import MeasuredPoint
from specviz.cost.terms import Terms, alpha_at, cost_at, gamma_edge
from specviz.figures.plot import Figure, Point, Trace

HEIGHT: Final = 300
LEVELS: Final = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SHADE: Final = 0.09  # of ink, once more at each level
FINE: Final = 40  # steps across a map
NEARLY: Final = (0.985, 0.99, 0.995)  # α between the last steps, where lines turn up
ROOM: Final = 0.05  # of a map's width, or height, that a level's number takes
SLOWER: Final = "slower than plain"


Words = tuple[float, float, str, str]


def gamma_map(terms: Terms, gamma: float, end: int, run: MeasuredPoint | None = None) -> Figure:
    """Speed-up over α and γ at this c, with the best γ of each α as a dotted line."""
    areas, names = {}, []
    for order, level in enumerate(LEVELS):
        edge = _edge(terms, level, end)
        if len(edge) > 1:
            areas[f"0{order}-area"] = _shade([*edge, (1.0, edge[-1][1]), (1.0, edge[0][1])])
            areas[f"1{order}-line"] = many([edge], "--ink", 2.5 if level == 1.0 else 1)
            if edge[-1][1] == end:
                names.append((edge[-1][0], float(end), _level(level), "--ink"))
    data = areas | {
        "30-best": many(_ridge(terms, end), "--ink", 2) | _dotted(),
        "40-names": words(_spread(names, 0, ROOM), 12, "top center"),
        "50-here": dots([(terms.alpha, max(1.0, gamma))], 13, "--ink"),
    }
    slower = alpha_at(1.0, end, terms.c, terms.verify)
    if slower is None or slower > 0.4:
        data["41-slower"] = words([(0.02, end * 0.92, SLOWER, "--ink2")], 12, "middle right")
    if run is not None:
        data |= run_marks(run, (run.alpha, min(run.gamma, end)), _side(run))
    step = 4 if end <= 32 else 8
    ticks = [(1.0, "1"), *((float(at), str(at)) for at in range(step, end + 1, step))]
    figure = chart(data, _alphas(), axis(1, end, ticks), HEIGHT)
    return _with_margin(figure, 26, 20)


def cost_map(terms: Terms, run: MeasuredPoint | None = None) -> Figure:
    """Speed-up over α and c, at the best γ everywhere: what a guess must bring for its cost."""
    top = max(1.0, ceil(2 * max(terms.c, run.c if run else 0.0)) / 2)
    areas, names = {}, []
    alphas = sorted([at / FINE for at in range(FINE + 1)] + [*NEARLY])
    for order, level in enumerate(LEVELS):
        found = [(alpha, cost_at(level, alpha, terms.verify)) for alpha in alphas]
        edge = [(alpha, min(c, top)) for alpha, c in found if c is not None]
        if len(edge) > 1:
            areas[f"0{order}-area"] = _shade([*edge, (1.0, 0.0), (edge[0][0], 0.0)])
            areas[f"1{order}-line"] = many([edge], "--ink", 2.5 if level == 1.0 else 1)
            names.append((1.0, edge[-1][1], "\u00a0" + _level(level), "--ink"))
    data = areas | {
        "40-names": words(_spread(names, 1, ROOM * top), 12, "middle right"),
        "41-slower": words([(0.02, 0.92 * top, SLOWER, "--ink2")], 12, "middle right"),
        "50-here": dots([(terms.alpha, terms.c)], 13, "--ink"),
    }
    if run is not None:
        data |= run_marks(run, (run.alpha, run.c), _side(run))
    ticks = [(top * at / 5, f"{top * at / 5:.1f}") for at in range(6)]
    return _with_margin(chart(data, _alphas(), axis(0, top, ticks), HEIGHT), 14, 44)


def _edge(terms: Terms, level: float, end: int) -> list[Point]:
    """The line on which the speed-up is `level`, by rising γ; it may end at α = 1."""
    steps = [1 + (end - 1) * at / FINE for at in range(FINE + 1)]
    found = [(alpha_at(level, at, terms.c, terms.verify), at) for at in steps]
    line: list[Point] = []
    for (alpha, at), (after, above) in zip([(None, 1.0), *found], found, strict=False):
        if (alpha is None) != (after is None) and at != above:
            line.append((1.0, gamma_edge(level, terms.c, terms.verify, at, above)))
        if after is not None:
            line.append((after, above))
    return line


def _side(run: MeasuredPoint) -> str:
    return "right" if run.alpha < 0.5 else "left"


def _alphas() -> dict[str, Any]:
    ticks = [(at / 5, f"{at / 5:.1f}") for at in range(6)]
    return axis(0, 1, ticks, "α, the chance that a guess is kept")


def _ridge(terms: Terms, end: int) -> list[list[Point]]:
    """The best γ by α, as the steps that it takes."""
    parts: list[list[Point]] = [[]]
    for at in range(FINE + 1):
        best = Terms(at / FINE, terms.c, terms.verify).best().gamma
        if best is not None and 0 < best <= end:
            last = parts[-1][-1:]
            parts[-1] += [(at / FINE, last[0][1])] if last and last[0][1] != best else []
            parts[-1].append((at / FINE, best))
    return parts


def _shade(outline: Sequence[Point]) -> Trace:
    """One more layer of ink."""
    area = many([outline], "--ink", 0)
    return area | {"fill": "toself", "fillcolor": "--ink", "opacity": SHADE}


def _dotted() -> Trace:
    return {"line": {"width": 2, "color": "--ink", "dash": "dot"}}


def _level(level: float) -> str:
    return f"{level:g} ×" if level == 1.0 else f"{level:g}"


def _spread(names: Sequence[Words], by: int, room: float) -> list[Words]:
    """Those of the names that have room, the first one always. by: 0 across, 1 down."""
    told: list[Words] = []
    for name in names:
        if all(abs(float(name[by]) - float(other[by])) > room for other in told):
            told.append(name)
    return told


def _with_margin(figure: Figure, above: int, right: int) -> Figure:
    figure["layout"]["margin"] = MARGIN | {"t": above, "r": right}
    return figure
