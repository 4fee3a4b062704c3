"""Charts of a server's statistics: acceptance by position, steps, and speed-up by γ.

Counted values are marks or bars. Simulated values are lines, dotted where acceptance is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import plotly.graph_objects as go

from specviz.cost.formatting import format_speedup
from specviz.cost.server.outlook import GammaOption, Outlook
from specviz.cost.server.report import format_rate
from specviz.cost.server.stats import PositionAcceptance, Rate
from specviz.figures.theme import BG, BOTH, COLOURS, INK, INK2, chart

HEIGHT: Final = 300
APART: Final = 0.14  # how far the two marks of a position are moved to the left and right
FEWEST: Final = 4  # minimum number of positions on the axis


def positions_figure(positions: Sequence[PositionAcceptance]) -> go.Figure:
    """Draw acceptance by position: of all drafts, and of those accepted so far."""
    reached = [(one.number, one.cumulative) for one in positions]
    given = [(one.number, one.conditional) for one in positions if one.conditional]
    end = max(FEWEST, len(positions))
    return chart(
        [
            _rates(reached, -APART, "circle", "of all drafts"),
            _rates(given, APART, "diamond-open", "if those before it were accepted"),
        ],
        x="position in the draft", y="accepted", height=HEIGHT,
        xaxis={"range": [0.5, end + 0.5], "dtick": 1 if end <= 12 else 4, "showgrid": False},
        yaxis={"range": [0, 1.04], "tickformat": ".0%"},
    )  # fmt: skip


def _rates(rows: Sequence[tuple[int, Rate]], shift: float, symbol: str, name: str) -> go.Scatter:
    spans = {
        "type": "data", "symmetric": False, "color": INK2, "thickness": 1.5, "width": 3,
        "array": [found.high - found.share for _, found in rows],
        "arrayminus": [found.share - found.low for _, found in rows],
    }  # fmt: skip
    return go.Scatter(
        x=[number + shift for number, _ in rows], y=[found.share for _, found in rows],
        mode="markers", marker={"size": 10, "color": INK, "symbol": symbol, "line": {"width": 2}},
        error_y=spans, name=name, hovertemplate="%{text}<extra></extra>",
        text=[f"position {number}: {format_rate(found)} {name}" for number, found in rows],
    )  # fmt: skip


def outlook_figure(found: Outlook) -> go.Figure:
    """Draw speed-up over γ; mark the server's γ and the best one."""
    best, now = found.best, found.current
    counted = [choice for choice in found.shown if choice.counted or choice.gamma == 0]
    beyond = [choice for choice in found.shown if not choice.counted and choice.gamma]
    last = found.shown[-1].gamma
    marks = [_mark(best, f"best: γ = {best.gamma}", "circle-open", 18)]
    if now is not None:
        marks.append(_mark(now, f"yours: γ = {now.gamma}", "circle", 12))
    lines = [
        _curve([*counted[-1:], *beyond], "from assumed acceptance", "dot"),
        _curve(counted, "from counted acceptance", "solid"),
    ]
    drawing = chart(
        [*(line for line in lines if len(line.x) > 1), *marks],
        x="γ, draft tokens in a chain", y="speed over plain decoding", height=HEIGHT,
        xaxis={"range": [-0.4, last + 0.4], "dtick": 2 if last <= 32 else 4, "showgrid": False},
        yaxis={"range": [0, 1.15 * max(1.3, best.speedup)], "ticksuffix": " ×"},
    )  # fmt: skip
    return drawing.add_hline(1, line={"color": INK2, "width": 1, "dash": "dash"})


def _curve(choices: Sequence[GammaOption], name: str, dash: str) -> go.Scatter:
    return go.Scatter(
        x=[choice.gamma for choice in choices], y=[choice.speedup for choice in choices],
        mode="lines+markers", marker={"size": 5, "color": INK}, name=name,
        line={"width": 2.5, "color": INK, "dash": dash}, hovertemplate="%{text}<extra></extra>",
        text=[
            f"γ {c.gamma}: {format_speedup(c.speedup)} plain, {c.tokens:.2f} tokens per pass"
            for c in choices
        ],
    )  # fmt: skip


def _mark(choice: GammaOption, name: str, symbol: str, size: int) -> go.Scatter:
    marker = {"size": size, "color": INK, "symbol": symbol, "line": {"width": 2}}
    return go.Scatter(
        x=[choice.gamma], y=[choice.speedup], mode="markers", marker=marker, name=name,
        hovertemplate=f"{format_speedup(choice.speedup)}<extra></extra>",
    )  # fmt: skip


def steps_figure(steps: Sequence[tuple[int, int]]) -> go.Figure:
    """Draw each step's draft tokens as a bar; the accepted ones are filled from below."""
    numbers = list(range(1, len(steps) + 1))
    accepted = [kept for kept, _ in steps]
    rest = [drafted - kept for kept, drafted in steps]
    outline = {"color": BG, "line": {"color": COLOURS["line2"], "width": 1}}
    hover = "step %{x}: %{customdata[0]} of %{customdata[1]} accepted<extra></extra>"
    drawing = chart(
        [
            go.Bar(x=numbers, y=accepted, name="accepted", marker={"color": BOTH},
                   customdata=steps, hovertemplate=hover),
            go.Bar(x=numbers, y=rest, name="not accepted", marker=outline,
                   customdata=steps, hovertemplate=hover),
        ],
        x="step", y="draft tokens", height=240, xaxis={"showgrid": False}, yaxis={"dtick": 1},
    )  # fmt: skip
    return drawing.update_layout(barmode="stack")
