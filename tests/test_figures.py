"""Figures: valid plotly inside its canvas, no crossing edges, and tokens that stay text."""

import itertools
import random

import plotly.graph_objects as go
import pytest
from made import Recipe, made

from specviz.figures.charts import add_figures, guesses_figure
from specviz.figures.drawing import MAX_WORD_WIDTH
from specviz.figures.layout import COLUMNS, ROWS, window_layout, window_start
from specviz.figures.plot import TRACE_DEFAULTS, cut, escaped, width
from specviz.figures.tree import tree_figure
from specviz.frames import Scene, frames


def shots(recipe):
    trace = made(recipe)
    for index in range(len(trace.rounds)):
        yield from (add_figures(frame) for frame in frames(Scene.of(trace, index)))


RECIPES = [
    Recipe(),
    Recipe(shape=(3, 2, 2, 1)),
    Recipe(shape=(3, 2, 1), bushy=True, rounds=12),
    Recipe(shape=(3, 2), replaced=True),
    Recipe(shape=(1,) * 14, rounds=6),
    Recipe(greedy=True),
    Recipe(point_mass=True, shape=(8, 4)),
    Recipe(drafts=False, rounds=3),
]


@pytest.fixture(scope="module", params=range(len(RECIPES)))
def frames_of(request):
    return list(shots(RECIPES[request.param]))


def figures(shown):
    for shot in shown:
        yield shot["tree"]["figure"]
        if "figure" in shot["panel"]:
            yield shot["panel"]["figure"]


def plain(value):
    """Return a figure with colour names replaced, as the page does."""
    if isinstance(value, str):
        return "#123456" if value.startswith("--") else value
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.slow
def test_remainder_bars_are_striped_and_as_wide_as_the_remainder():
    found = 0
    for shot in shots(Recipe(shape=(3, 2), rounds=12, replaced=True)):
        lefts = [n for n in shot["tree"]["nodes"].values() if "left" in n]
        data = shot["tree"]["figure"]["data"]
        assert ("40-p-left" in data) == ("41-q-left" in data) == bool(lefts)
        if lefts:
            wide = spans(data["40-p-left"])
            assert wide == pytest.approx([max(52 * n["left"], 0.5) for n in lefts], abs=0.11)
            assert spans(data["41-q-left"]) == pytest.approx(
                [max(52 * n["left_q"], 0.5) for n in lefts], abs=0.11
            )
            hover = [text for text in data["80-hover"]["hovertext"] if "judged by: p′ " in text]
            assert len(hover) == len(lefts)
            found += 1
    assert found


def spans(trace):
    """Return the width of each shape of a batch."""
    shapes = [list(s) for gap, s in itertools.groupby(trace["x"], lambda x: x is None) if not gap]
    return [max(shape) - min(shape) for shape in shapes]


def test_equal_guesses_have_a_second_line_with_what_they_follow():
    row = {"w": ["was"], "at": 2, "p": 0.2, "q": 0.3}
    rows = [row | {"after": ["she"]}, row | {"after": ["he"]}, {"w": ["cat"], "at": 2, "p": 0.1}]
    data = guesses_figure({"rows": rows, "scored": True})["data"]
    assert [text.strip() for text in data["21-after"]["text"]] == ["after she", "after he"]
    assert data["20-words"]["y"] == [9, 41, 80]


@pytest.mark.slow
def test_every_figure_is_valid_plotly(frames_of):
    for figure in itertools.islice(figures(frames_of), 40):
        data = [plain(figure["data"][name]) for name in sorted(figure["data"])]
        data = [trace if "type" in trace else TRACE_DEFAULTS | trace for trace in data]
        go.Figure(data=data, layout=plain(figure["layout"]))


def test_every_shape_is_inside_the_figure(frames_of):
    for figure in figures(frames_of):
        wide, high = figure["layout"]["xaxis"]["range"][1], figure["layout"]["height"]
        for name, trace in figure["data"].items():
            assert all(-4 <= x <= wide for x in trace["x"] if x is not None), name
            assert all(0 <= y <= high for y in trace["y"] if y is not None), name


def test_tokens_cannot_become_markup(frames_of):
    for figure in figures(frames_of):
        for trace in figure["data"].values():
            for text in trace.get("text", []):
                assert "<" not in text
                assert ">" not in text
            for text in trace.get("hovertext", []):
                bare = text.replace("<b>", "").replace("</b>", "").replace("<br>", "")
                assert "<" not in bare
    assert escaped("<s>&amp;</s>") == "&lt;s&gt;&amp;amp;&lt;/s&gt;"


def pills_of(figure):
    """Return left, right, top and bottom of every pill."""
    pills = []
    for name, trace in figure["data"].items():
        if name.startswith("20-pill"):
            gaps = [i for i, x in enumerate(trace["x"]) if x is None]
            for a, b in itertools.pairwise([-1, *gaps, len(trace["x"])]):
                xs, ys = trace["x"][a + 1 : b], trace["y"][a + 1 : b]
                pills.append((min(xs), max(xs), min(ys), max(ys)))
    return pills


def test_pills_of_a_row_do_not_overlap(frames_of):
    for shot in frames_of:
        for one, two in itertools.combinations(pills_of(shot["tree"]["figure"]), 2):
            apart = one[1] < two[0] or two[1] < one[0] or one[3] < two[2] or two[3] < one[2]
            assert apart, (one, two)


def test_edge_to_the_last_token_crosses_no_pill(frames_of):
    for shot in frames_of:
        figure = shot["tree"]["figure"]
        for name, trace in figure["data"].items():
            if not name.startswith("11-slot"):
                continue
            corners = list(zip(trace["x"], trace["y"], strict=True))
            (start, level), *_ = corners
            for (x, y), (to_x, to_y) in itertools.pairwise(corners):
                for left, right, top, bottom in pills_of(figure):
                    if left <= start <= right and top <= level <= bottom:
                        continue  # the parent's own, under which the line begins
                    beside = max(x, to_x) <= left or min(x, to_x) >= right
                    assert beside or max(y, to_y) <= top or min(y, to_y) >= bottom


def random_tree(dice, size):
    return {node: dice.randrange(max(0, node - 5), node) for node in range(1, size)}


def test_edges_do_not_cross_and_first_children_stay_in_their_row():
    dice = random.Random(3)
    for _ in range(60):
        parents = random_tree(dice, 24)
        places = window_layout(parents, 0).cells
        spots = [(p.column, p.row) for p in places.values()]
        assert len(set(spots)) == len(spots)
        edges = [(places[p], places[n]) for n, p in parents.items() if n in places and p in places]
        for parent, child in edges:
            assert child.column == parent.column + 1
            assert child.row >= parent.row
        for (a, b), (c, d) in itertools.permutations(edges, 2):
            # Each edge goes down beside its parent, then right: a row that it passes on the way
            # down must not hold another edge going through that column.
            passes = a.row < d.row < b.row and c.column < a.column < d.column
            assert not passes


def test_window_has_at_most_seven_rows_and_columns():
    wide = dict.fromkeys(range(1, 12), 0)
    shown = window_layout(wide, 1)
    assert (shown.rows, shown.lower, shown.deeper) == (ROWS, 4, 0)
    chain = {node: node - 1 for node in range(1, 15)}
    for focus in range(15):
        shown = window_layout(chain, focus)
        columns = [place.column for place in shown.cells.values()]
        assert max(columns) <= COLUMNS
        assert focus - shown.first in columns
    assert [window_start(depth) for depth in (0, 6, 7, 11, 12)] == [0, 0, 5, 5, 10]


def test_tree_does_not_move_within_a_round():
    trace = made(Recipe(rounds=6))
    for index in range(len(trace.rounds)):
        rows = [frame["tree"] for frame in frames(Scene.of(trace, index))]
        assert len({tree_figure(tree)["layout"]["height"] for tree in rows}) == 1


def test_long_words_are_cut_to_their_pill():
    assert width("mmm", 10) == pytest.approx(24.99)
    short = cut("internationalisation", 14, MAX_WORD_WIDTH)
    assert short.endswith("…")
    assert width(short, 14) <= MAX_WORD_WIDTH
    assert cut("cat", 14, MAX_WORD_WIDTH) == "cat"
