"""Figures of the speed-up formula, and of the trees that it compares.

They are drawn in the colour of text, since the other colours mean p and q; only the costs of the
drafter and of the target have theirs. A diamond is a measured run, and a hollow diamond is the
formula's prediction for it. The page removes plotly's clip paths, so curves are cut off here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, log2
from typing import Final

import networkx as nx
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specviz.cost import formula, tree_formula
from specviz.cost.formula import MeasuredPoint, SpeedupModel
from specviz.figures.layout import tree_graph
from specviz.figures.theme import BG, BOTH, DEAD, INK, INK2, INK3, TEMPLATE, P, Q, chart
from specviz.settings.specs import MAX_GAMMA

MIN_GAMMA: Final = 16  # a chart of γ shows at least this many values
OFFSETS: Final = (-0.2, -0.1, 0.1, 0.2)  # α of the faint curves, relative to the chosen α
HEADROOM: Final = 2.2  # maximum height of the chart, relative to the chosen curve
ALPHAS: Final = [round(at / 50, 2) for at in range(51)]  # of the maps
TOP: Final = 16.0  # a map gives larger speed-ups the same colour


def shown_to(terms: SpeedupModel, *gammas: float) -> int:
    """Return the largest γ that a chart of these values should show."""
    best = terms.best().gamma or 0
    return min(MAX_GAMMA, max(MIN_GAMMA, ceil(max(gammas, default=0)), best + 2))


def round_figure(terms: SpeedupModel, gamma: float) -> go.Figure:
    """Draw the tokens that a round adds above the plain passes that it costs."""
    tokens, draft = formula.expected_tokens(terms.alpha, gamma), gamma * terms.c
    check = terms.verify if gamma else 1.0
    bars = [("tokens", "brings", tokens, INK2), ("drafting", "costs", draft, Q),
            ("verification", "costs", check, P)]  # fmt: skip
    traces = [
        go.Bar(
            x=[value], y=[side], name=f"{name} {value:.2f}", orientation="h", width=0.6,
            marker={"color": colour}, hovertemplate=f"{name} {value:.2f}<extra></extra>",
        )
        for name, side, value, colour in bars
    ]  # fmt: skip
    cost = {"autorange": "reversed", "showline": False, "ticksuffix": "  "}
    made = chart(traces, x="tokens, or plain passes", height=170, yaxis=cost)
    return made.update_layout(barmode="stack", legend_traceorder="normal").update_xaxes(
        rangemode="tozero"
    )


def speed_figure(
    terms: SpeedupModel, gamma: float, end: int, run: MeasuredPoint | None
) -> go.Figure:
    """Chart the speed-up over γ: chosen α, similar α, the best γ, and a run's point."""
    near = [round(terms.alpha + step, 9) for step in OFFSETS]
    beside = [replace(terms, alpha=alpha) for alpha in near if 0.0 < alpha < 1.0]
    gammas = list(range(end + 1))
    curve = [terms.speedup(at) for at in gammas]
    others = [each.speedup(at) for each in beside for at in gammas]
    least = max(1.5, run.speedup, run.predicted) if run else 1.5
    top = 1.12 * max(least, *curve, min(max(others, default=0.0), HEADROOM * max(curve)))
    traces = [_curve(each, gammas, top, DEAD, 1) for each in beside]
    traces.append(_curve(terms, gammas, top, INK, 2.5))
    best = terms.best()
    if best.gamma is not None and 0 < best.gamma <= end:
        traces.append(_mark("the best γ", best.gamma, best.speedup, "circle-open", 19))
    traces.append(_mark("your γ", gamma, terms.speedup(gamma), "circle", 13))
    if run is not None:
        traces.append(
            _mark("formula at the run’s values", run.gamma, run.predicted, "diamond-open")
        )
        traces.append(_mark("measured", run.gamma, run.speedup, "diamond"))
    labels = [-0.4, end * 1.09]  # space for the labels of α
    made = chart(
        traces, x="γ, draft tokens in a chain", height=340, xaxis={"range": labels},
        yaxis={"range": [0, top], "ticksuffix": " ×"},
    )  # fmt: skip
    drop = {"color": INK, "width": 1, "dash": "dot"}
    made.add_shape(type="line", x0=gamma, x1=gamma, y0=0, y1=terms.speedup(gamma), line=drop)
    taken: list[float] = []
    for each in (terms, *beside):
        y = each.speedup(end)
        if y <= top and all(abs(y - other) > 0.06 * top for other in taken):
            taken.append(y)
            colour = {"color": INK if each is terms else INK3}
            made.add_annotation(x=end, y=y, text=f"α {each.alpha:.2f}", xanchor="left",
                                showarrow=False, font=colour)  # fmt: skip
    return made.add_hline(1, line={"color": INK2, "width": 1.5, "dash": "dash"})


def _curve(
    terms: SpeedupModel, gammas: list[int], top: float, colour: str, width: float
) -> go.Scatter:
    values = [terms.speedup(at) for at in gammas]
    title = f"α {terms.alpha:.2f}"
    return go.Scatter(
        x=gammas, y=[value if value <= top else None for value in values], mode="lines",
        line={"color": colour, "width": width}, showlegend=False,
        hovertemplate="γ %{x}: %{y:.2f} ×<extra>" + title + "</extra>",
    )  # fmt: skip


def _mark(name: str, x: float, y: float, symbol: str, size: int = 14) -> go.Scatter:
    outline = {"color": INK if symbol.endswith("open") else BG, "width": 2}
    return go.Scatter(
        x=[x], y=[y], name=name, mode="markers",
        marker={"symbol": symbol, "size": size, "color": INK, "line": outline},
        hovertemplate=name + ": %{x:.2~f}, %{y:.2f}<extra></extra>",
    )  # fmt: skip


def time_figure(terms: SpeedupModel, gamma: float, end: int) -> go.Figure:
    """Chart time and arithmetic per token over γ, relative to plain decoding."""
    gammas = list(range(end + 1))
    time = [1.0 / terms.speedup(at) for at in gammas]
    work = [terms.arithmetic(at) for at in gammas]
    powers = range(min(-1, ceil(log2(min(time)) - 1)), max(1, ceil(log2(max(*work, *time)))) + 1)
    lines = [
        go.Scatter(
            x=gammas, y=values, name=name, mode="lines",
            line={"color": INK, "width": 2.5, "dash": dash},
            hovertemplate="γ %{x}: %{y:.2f} × the " + name + "<extra></extra>",
        )
        for name, values, dash in (("time", time, "solid"), ("arithmetic", work, "dash"))
    ]  # fmt: skip
    here = [1.0 / terms.speedup(gamma), terms.arithmetic(gamma)]
    marks = go.Scatter(
        x=[gamma] * 2, y=here, name="your γ", mode="markers", hoverinfo="skip",
        marker={"size": 13, "color": INK, "line": {"color": BG, "width": 2}},
    )  # fmt: skip
    step = ceil(len(powers) / 7)
    ticks = [power for power in powers if power % step == 0]
    made = chart(
        [*lines, marks], x="γ, draft tokens in a chain", height=340,
        xaxis={"range": [-0.4, end + 0.4]},
        yaxis={
            "type": "log", "tickvals": [2.0**power for power in ticks],
            "ticktext": [f"{2**p} ×" if p >= 0 else f"1/{2**-p} ×" for p in ticks],
        },
    )  # fmt: skip
    return made.add_hline(1, line={"color": INK2, "width": 1.5, "dash": "dash"})


def gamma_map(terms: SpeedupModel, gamma: float, end: int, run: MeasuredPoint | None) -> go.Figure:
    """Map the speed-up over α and γ at this c; a dotted line shows the best γ."""
    gammas = list(range(1, end + 1))
    rows = [[replace(terms, alpha=alpha).speedup(at) for alpha in ALPHAS] for at in gammas]
    bests = [replace(terms, alpha=alpha).best().gamma or 0 for alpha in ALPHAS]
    ridge = go.Scatter(
        x=ALPHAS, y=[best if 0 < best <= end else None for best in bests], mode="lines",
        name="the best γ for each α", hoverinfo="skip",
        line={"color": INK, "width": 2, "dash": "dot", "shape": "hv"},
    )  # fmt: skip
    marks = [_mark("your α and γ", terms.alpha, max(1.0, gamma), "circle", 13)]
    if run is not None:
        marks.append(_mark("measured", run.alpha, min(run.gamma, end), "diamond"))
    return _map(rows, gammas, [ridge, *marks], "γ")


def cost_map(terms: SpeedupModel, run: MeasuredPoint | None) -> go.Figure:
    """Map the speed-up over α and c, with the best γ at each point."""
    top = max(1.0, ceil(2 * max(terms.c, run.c if run else 0.0)) / 2)
    costs = [round(top * at / 40, 4) for at in range(41)]
    rows = [[_best(alpha, c, terms.verify) for alpha in ALPHAS] for c in costs]
    marks = [_mark("your α and c", terms.alpha, terms.c, "circle", 13)]
    if run is not None:
        marks.append(_mark("measured", run.alpha, run.c, "diamond"))
    return _map(rows, costs, marks, "c")


@lru_cache(maxsize=8192)
def _best(alpha: float, c: float, verify: float) -> float:
    return min(TOP, SpeedupModel(alpha, c, verify).best().speedup)


def _map(
    rows: list[list[float]], along: list[float] | list[int], marks: list[go.Scatter], name: str
) -> go.Figure:
    # On a logarithmic scale, not shaded below 1.
    powers = [0, 1, 2, 3, 4]
    area = go.Contour(
        x=ALPHAS, y=along, z=[[round(log2(value), 3) for value in row] for row in rows],
        text=[[f"{value:.2f} ×" for value in row] for row in rows],
        hovertemplate=f"α %{{x}}, {name} %{{y}}: %{{text}}<extra></extra>",
        colorscale=[[0, BG], [1, DEAD]], line={"color": DEAD, "width": 1},
        contours={"start": 0, "end": 4, "size": 0.5, "coloring": "fill"},
        colorbar={
            "tickvals": powers, "ticktext": [f"{2**power} ×" for power in powers],
            "thickness": 12, "outlinewidth": 0,
        },
    )  # fmt: skip
    edge = go.Contour(
        x=ALPHAS, y=along, z=area.z, showscale=False, showlegend=False, hoverinfo="skip",
        line={"color": INK, "width": 2.5},
        contours={"start": 0, "end": 0, "size": 1, "coloring": "none"},
    )  # fmt: skip
    x = {"range": [0, 1], "showgrid": False}
    return chart(
        [area, edge, *marks], x="α, acceptance probability", y=name, height=400, xaxis=x,
        yaxis={"range": [along[0], along[-1]], "showgrid": False},
    )  # fmt: skip


def trees_figure(
    trees: Sequence[tuple[str, Sequence[int], Sequence[float]]],
) -> go.Figure:
    """Draw draft trees below each other: the rank of each node, and how often it is accepted."""
    rows = [max(3, len(parents) - len(set(parents)) + 1) for _, parents, _ in trees]
    most = max(max(reached[1:]) for _, _, reached in trees)
    made = make_subplots(
        len(trees), 1, row_heights=rows,
        subplot_titles=[f"<b>{title}</b>" for title, _, _ in trees],
        vertical_spacing=44 / (26 * sum(rows) + 44 * len(rows)),
    )  # fmt: skip
    for at, (_, parents, reached) in enumerate(trees, 1):
        for trace in _tree(parents, reached, most):
            made.add_trace(trace, at, 1)
    made.update_layout(
        template=TEMPLATE, height=26 * sum(rows) + 44 * len(rows), showlegend=False,
        margin={"t": 28},
    )  # fmt: skip
    made.update_annotations(x=0, xanchor="left", font={"size": 14, "color": INK})
    made.update_xaxes(showgrid=False, showline=False, showticklabels=False)
    return made.update_yaxes(visible=False, autorange="reversed")


def _tree(parents: Sequence[int], reached: Sequence[float], most: float) -> list[go.Scatter]:
    levels, rows = tree_formula.depths(parents), _rows(parents)
    ranks = [rank + 1 for rank in tree_formula.sibling_ranks(parents)]
    chain = max(ranks) == 1
    edges = [(parent, node, None) for node, parent in enumerate(parents) if node]
    ends = [end for edge in edges for end in edge]
    lines = go.Scatter(
        x=[None if end is None else levels[end] for end in ends],
        y=[None if end is None else rows[end] for end in ends],
        mode="lines", hoverinfo="skip", line={"color": DEAD, "width": 1.5},
    )  # fmt: skip
    nodes = go.Scatter(
        x=levels, y=rows, mode="markers+text",
        text=["", *("" if chain else str(rank) for rank in ranks[1:])],
        textfont={"color": INK, "size": 13},
        hovertext=["the last token of the text"] + [
            f"rank {rank}, accepted in {100 * share:.1f}% of rounds"
            for rank, share in zip(ranks[1:], reached[1:], strict=True)
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "size": [12] + [12 if chain else 20] * (len(parents) - 1), "opacity": 1,
            "color": [0.0, *reached[1:]],
            "colorscale": [[0, BG], [1, BOTH]], "cmin": 0, "cmax": most or 1,
            "line": {"color": INK2, "width": 1},
        },
    )  # fmt: skip
    return [lines, nodes]


def _rows(parents: Sequence[int]) -> list[float]:
    # Leaves are below each other, a parent in the middle of its children.
    tree = tree_graph((parent, node) for node, parent in enumerate(parents) if node)
    rows, leaves = [0.0] * len(parents), 0
    for node in nx.dfs_postorder_nodes(tree, 0):
        below = [rows[child] for child in tree[node]]
        if below:
            rows[node] = (below[0] + below[-1]) / 2
        else:
            rows[node], leaves = leaves, leaves + 1
    return rows
