"""A draft tree as a plotly figure, drawn from a networkx graph.

Columns are positions in the text, rows are branches; see `layout.py`. One unit of its axes is a
pixel, so that words fit their pills.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, pi, sin
from typing import Any, Final

import networkx as nx
import plotly.graph_objects as go

from specviz.figures.layout import BARS_HEIGHT, GAP, TreeLayout, tree_layout
from specviz.figures.marks import LEAST_WIDTH, MARK_WIDTH, PILL_HEIGHT, STATES
from specviz.figures.plot import Batch, Point, cut, escaped, texts, width
from specviz.figures.theme import COLOURS, INK, INK2, TEMPLATE, P, Q
from specviz.frames.numbers import format_nonzero
from specviz.frames.scene import Scene, flat
from specviz.frames.tree import tree
from specviz.trace.depths import node_depths
from specviz.trace.file import Trace

FONT_SIZE: Final = 14
PADDING: Final = 8  # between a pill's edge and its word
LONGEST_WORD: Final = 96.0
BAR_WIDTH: Final = 52  # width of a bar for the probability 1
THICKEST: Final = 6.0  # width of the edge to a guess with q = 1
CORNER: Final = 5
NOTE_CHARACTER: Final = 8  # width of a character of a note on an edge, in pixels
MARKS: Final[Mapping[str, str]] = {
    "accepted": "✓", "rejected": "✕", "unreached": "·", "recovered": "⟳", "bonus": "★",
}  # fmt: skip
STATE_NAMES: Final = {name: name for name in MARKS} | {
    "unreached": "not reached", "waiting": "not judged yet",
}  # fmt: skip
# Colours of states that have another name in the theme of figures.
SAME: Final = {
    "raise": "bg", "btn": "ink", "btn-ink": "bg", "r-ink": "r-line", "rejected": "q",
    "rejected-line": "q-line", "rejected-soft": "q-soft",
}  # fmt: skip
CLEAR: Final = "rgba(0,0,0,0)"


def tree_figure(graph: nx.DiGraph, focus: Collection[Hashable] = (), zoom: float = 1) -> go.Figure:
    """Draw a draft tree: a pill per token, edges as wide as q, bars of p and q below the pills.

    Returns a figure with a fixed width and height in pixels. A click on a guess gives its node as
    `customdata`.

    Raises ValueError if the graph is not a tree.

    Args:
        graph: The tree. Its root is the last token of the text, and the children of a node are in
            the order in which they were added. Attributes of a node, all optional: `token`, its
            text; `p` and `q`, its probabilities; `state`, such as "accepted" (a key of
            `marks.STATES`), or "hidden" if only its place is kept free; `note`, a short text on the
            edge to it; `sign`, a sign below that edge; `hint`, further text for the pointer; `lit`,
            whether it is on a path to emphasize. The `weight` of an edge replaces q as its width.
        focus: Guesses to which the page scrolls.
        zoom: Size of the figure; 1 is that of the page's text.
    """
    drawing = _Drawing.of(graph, frozenset(focus), zoom)
    return go.Figure(
        list(drawing.traces()),
        {
            "template": TEMPLATE,
            "width": round(drawing.layout.width * zoom),
            "height": round(drawing.layout.height * zoom),
            "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
            "showlegend": False,
            "xaxis": {"visible": False, "range": [0, drawing.layout.width]},
            "yaxis": {"visible": False, "range": [drawing.layout.height, 0]},
        },
    )


def round_graph(trace: Trace, number: int) -> nx.DiGraph:
    """Return the draft tree of a round after its verdicts, as the argument of `tree_figure`.

    number: the round; round 0 drafts nothing. Raises IndexError if the trace has no such round.
    """
    scene = Scene.of(trace, number)
    found = tree(scene, scene.steps[-1])
    graph = nx.DiGraph()
    graph.add_node(0, token=flat(found["root"]), state="root")
    for name, node in found["nodes"].items():
        scores = {key: node[key] for key in ("p", "q") if key in node}
        graph.add_node(int(name), token=flat(node["w"]), state=node["is"], **scores)
        graph.add_edge(node["parent"], int(name))
    if "w" in found.get("slot", {}):
        slot = found["slot"]
        graph.add_node("last", token=flat(slot["w"]), state=slot["is"])
        graph.add_edge(slot["parent"], "last")
    return graph


@dataclass(frozen=True, slots=True)
class _Pill:
    token: str
    word: str
    state: str
    p: float | None
    q: float | None
    note: str
    sign: str
    hint: str
    lit: bool
    weight: float | None

    @classmethod
    def of(cls, data: Mapping[str, Any], edge: Mapping[str, Any] | None) -> _Pill:
        token = str(data.get("token", ""))
        return cls(
            token,
            cut(token, FONT_SIZE, LONGEST_WORD),
            str(data.get("state", "root" if edge is None else "plain")),
            data.get("p"),
            data.get("q"),
            str(data.get("note", "")),
            str(data.get("sign", "")),
            str(data.get("hint", "")),
            bool(data.get("lit")),
            (edge or {}).get("weight", data.get("q")),
        )

    @property
    def width(self) -> float:
        mark = MARK_WIDTH if self.state in MARKS else 0
        return max(LEAST_WIDTH, width(self.word, FONT_SIZE) * 1.06 + 2 * PADDING + mark)

    def hover(self, depth: int) -> str:
        state = STATE_NAMES.get(self.state, "")
        lines = [f"<b>{escaped(self.token)}</b> at +{depth}" + (f", {state}" if state else "")]
        known = [("p", self.p), ("q", self.q)]
        numbers = [f"{name} {format_nonzero(value)}" for name, value in known if value is not None]
        lines += [" · ".join(numbers)] if numbers else []
        return "<br>".join([*lines, *(escaped(text) for text in (self.note, self.hint) if text)])


@dataclass(frozen=True)
class _Drawing:
    # names: the graph's nodes; focus: those to which the page scrolls. Others are numbers, root 0.
    names: Sequence[Hashable]
    parents: Sequence[int]
    pills: Sequence[_Pill]
    shown: Sequence[int]
    bars: float
    focus: Collection[Hashable]
    zoom: float

    @classmethod
    def of(cls, graph: nx.DiGraph, focus: Collection[Hashable], zoom: float) -> _Drawing:
        if not nx.is_arborescence(graph):
            raise ValueError("The graph is not a tree whose edges lead away from its root.")
        root = next(node for node, degree in graph.in_degree if not degree)
        order: list[Hashable] = [root, *(node for _, node in nx.bfs_edges(graph, root))]
        at = {node: index for index, node in enumerate(order)}
        parents = [at[next(graph.predecessors(node))] if at[node] else -1 for node in order]
        pills = [
            _Pill.of(graph.nodes[node], graph[order[parent]][node] if at[node] else None)
            for node, parent in zip(order, parents, strict=True)
        ]
        shown = [node for node, pill in enumerate(pills) if pill.state != "hidden"]
        scored = any(pill.p is not None or pill.q is not None for pill in pills)
        bars = BARS_HEIGHT if scored else 0
        return cls(order, parents, pills, shown, bars, focus, zoom)

    @cached_property
    def layout(self) -> TreeLayout:
        longest = max(len(pill.note) for pill in self.pills)
        gap = max(GAP - 16, 14 + NOTE_CHARACTER * longest)
        return tree_layout(self.parents, [pill.width for pill in self.pills], gap, bars=self.bars)

    def place(self, node: int) -> Point:
        return self.layout.places[node]

    def traces(self) -> Iterator[go.Scatter]:
        yield from self.edges()
        yield from self.outlines()
        yield from self.probabilities()
        yield from self.words()
        yield self.pointer()

    def edges(self) -> Iterator[go.Scatter]:
        lines: dict[tuple[str, float], Batch] = defaultdict(Batch)
        # The path to emphasize comes last, above other edges from the same parent.
        for node in sorted(self.shown[1:], key=lambda node: self.pills[node].lit):
            pill = self.pills[node]
            thick = 1.5 if pill.weight is None else max(1.0, round(THICKEST * pill.weight))
            colour = INK if pill.lit else _colour(STATES[pill.state].edge)
            lines[colour, thick].add(self.edge(node))
        for (colour, thick), batch in lines.items():
            yield _trace(batch.lines(colour, thick))

    def edge(self, node: int) -> list[Point]:
        parent = self.parents[node]
        (x, y), (from_x, from_y) = self.place(node), self.place(parent)
        if y == from_y:
            return [(from_x + self.pills[parent].width, y), (x, y)]
        below = from_y + PILL_HEIGHT / 2 + self.layout.trunk
        return [(from_x + 14, below), (from_x + 14, y), (x, y)]

    def outlines(self) -> Iterator[go.Scatter]:
        boxes: dict[str, Batch] = defaultdict(Batch)
        rings = Batch()
        for node in self.shown:
            (x, y), pill = self.place(node), self.pills[node]
            box = _rounded(x, y - PILL_HEIGHT / 2, pill.width, PILL_HEIGHT)
            boxes[pill.state].add(box)
            if pill.lit:
                rings.add(box)
        for name, batch in boxes.items():
            state = STATES[name]
            line = _colour(state.line) if state.line else None
            dash = state.dash.replace(" ", "px,") + "px" if state.dash else "solid"
            yield _trace(batch.filled(_colour(state.fill), line, state.width, dash))
        if rings.x:
            yield _trace(rings.lines(INK, 2.5))

    def probabilities(self) -> Iterator[go.Scatter]:
        for name, colour, below in (("p", P, 3.5), ("q", Q, 8.0)):
            bars = Batch()
            for node in self.shown:
                value = getattr(self.pills[node], name)
                if value is not None:
                    x, y = self.place(node)
                    top, right = y + PILL_HEIGHT / 2 + below, x + max(BAR_WIDTH * value, 0.6)
                    bars.add([(x, top), (right, top), (right, top + 3.5), (x, top + 3.5)])
            if bars.x:
                yield _trace(bars.filled(colour, CLEAR))

    def words(self) -> Iterator[go.Scatter]:
        rows, struck = [], Batch()
        for node in self.shown:
            (x, y), pill = self.place(node), self.pills[node]
            state, right = STATES[pill.state], x + pill.width
            rows.append((x + PADDING - 3, y, pill.word, _colour(state.ink)))
            if pill.state in MARKS:
                mark = MARKS[pill.state]
                rows.append((right - MARK_WIDTH - 4, y, mark, _colour(state.mark)))
            if state.struck:
                end = x + PADDING + width(pill.word, FONT_SIZE)
                struck.add([(x + PADDING - 1, y + 1), (end + 1, y + 1)])
        heads = [(x - 3, 11.0, name, INK2) for x, name in self.layout.heads]
        for each, size, anchor in (
            (rows, FONT_SIZE, "middle right"),
            (heads, 13, "middle right"),
            (self.beside(-4, -9, "note", INK2), 13, "middle left"),
            (self.beside(-6, 8, "sign", INK), 16, "middle left"),
        ):
            if each:
                yield _trace(texts(each, round(size * self.zoom), anchor))
        if struck.x:
            yield _trace(struck.lines(INK, 1.25))

    def beside(
        self, right: float, down: float, name: str, colour: str
    ) -> list[tuple[float, float, str, str]]:
        found = []
        for node in self.shown:
            (x, y), shown = self.place(node), getattr(self.pills[node], name)
            found += [(x + right, y + down, shown, colour)] if shown else []
        return found

    def pointer(self) -> go.Scatter:
        # Invisible points in the middle of the pills, which have the hover texts.
        depths = node_depths(list(self.parents))
        nodes = self.shown[1:]
        return go.Scatter(
            x=[self.place(node)[0] + self.pills[node].width / 2 for node in nodes],
            y=[self.place(node)[1] for node in nodes],
            mode="markers",
            customdata=[self.names[node] for node in nodes],
            selectedpoints=[at for at, node in enumerate(nodes) if self.names[node] in self.focus],
            marker={"size": PILL_HEIGHT * self.zoom, "color": CLEAR},
            hovertext=[self.pills[node].hover(depths[node]) for node in nodes],
            hoverinfo="text",
        )


def _trace(properties: Mapping[str, Any]) -> go.Scatter:
    return go.Scatter({"mode": "lines", "hoverinfo": "skip", **properties})


def _colour(name: str) -> str:
    # A name such as "--ink"; others are clear.
    short = name.removeprefix("--")
    return COLOURS.get(SAME.get(short, short), CLEAR) if name.startswith("--") else CLEAR


def _rounded(x: float, y: float, wide: float, high: float) -> list[Point]:
    points = []
    right, low = x + wide - CORNER, y + high - CORNER
    middles = [(right, low), (x + CORNER, low), (x + CORNER, y + CORNER), (right, y + CORNER)]
    for quarter, (middle_x, middle_y) in enumerate(middles):
        for step in range(5):
            angle = (quarter + step / 4) * pi / 2
            points.append((middle_x + CORNER * cos(angle), middle_y + CORNER * sin(angle)))
    return [*points, points[0]]
