"""Figures: valid plotly inside its canvas, trees without overlaps, and tokens that stay text."""

import itertools
import random
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from made import Recipe, made

from specviz.catalog import entries
from specviz.figures import diagram as drawing
from specviz.figures.diagram import HEIGHT, WIDTH, diagram
from specviz.figures.frame import add_figures
from specviz.figures.layout import COLUMNS, ROWS, window_layout, window_start
from specviz.figures.marks import GLYPHS, LEAST_WIDTH, MARK_WIDTH, MARKS, STATES, state_rules
from specviz.figures.plot import width
from specviz.figures.tree import MAX_WORD_WIDTH, label, step_tree
from specviz.frames import Scene, frames

UI = Path(__file__).resolve().parent.parent / "specviz" / "ui"


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


def pills_of(tree):
    """Return left, right, top and bottom of every pill."""
    shown = tree["nodes"] | ({"-1": {"is": "slot"} | tree["slot"]} if "slot" in tree else {})
    for node, (x, y) in tree["layout"]["places"].items():
        if node in shown:
            mark = MARK_WIDTH if shown[node]["is"] in MARKS else 0
            wide = max(LEAST_WIDTH, shown[node]["label"]["pill"] + mark)
            yield x, x + wide, y - 13, y + 13


@pytest.mark.slow
def test_nodes_of_a_tree_stay_inside_the_canvas_and_do_not_overlap(frames_of):
    for shot in frames_of:
        tree = shot["tree"]
        pills = list(pills_of(tree))
        for left, right, top, bottom in pills:
            assert left >= 0
            assert right <= tree["layout"]["width"] + 4
            assert 0 <= top < bottom <= tree["layout"]["height"]
        for one, two in itertools.combinations(pills, 2):
            apart = one[1] < two[0] or two[1] < one[0] or one[3] < two[2] or two[3] < one[2]
            assert apart, (one, two)


def test_node_labels_keep_every_letter_that_fits_and_show_white_space():
    word = [{"g": "space"}, "cat"]
    assert label(word)["at"] == [0, GLYPHS["space"].advance]
    assert "cut" not in label(word)
    long = label(["internationalisation", "beyond"])
    assert long["cut"].endswith("…")
    assert long["at"] == [0]
    assert long["end"] <= MAX_WORD_WIDTH
    assert long["pill"] == MAX_WORD_WIDTH + 16


def test_colours_of_node_states_are_defined_in_the_style_sheet():
    sheet = (UI / "shared" / "10-colours.css").read_text(encoding="utf-8")
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", state_rules()))
    assert len(used) > 10
    assert {name for name in used if f"{name}:" not in sheet} == set()
    assert all(f".sv-twig-is-{name} " in state_rules() for name in STATES)
    assert set(MARKS) <= set(STATES)


def random_tree(dice, size):
    return {node: dice.randrange(max(0, node - 5), node) for node in range(1, size)}


def test_tree_edges_do_not_cross_and_children_are_never_above_their_parent():
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


def test_visible_part_of_a_tree_has_at_most_seven_rows_and_columns():
    wide = dict.fromkeys(range(1, 12), 0)
    assert window_layout(wide, 1).rows == ROWS
    chain = {node: node - 1 for node in range(1, 15)}
    for focus in range(15):
        shown = window_layout(chain, focus)
        columns = [place.column for place in shown.cells.values()]
        assert max(columns) <= COLUMNS
        assert focus - shown.first in columns
    assert [window_start(depth) for depth in (0, 6, 7, 11, 12)] == [0, 0, 5, 5, 10]


def test_the_guess_being_judged_its_branch_and_its_siblings_are_in_the_visible_part():
    dice = random.Random(5)
    for _ in range(60):
        parents = random_tree(dice, 40)
        here = dice.randrange(1, 40)
        branch = [here]
        while branch[-1]:
            branch.append(parents[branch[-1]])
        shown = window_layout(parents, len(branch) - 1, parents[here], here)
        columns = len(branch) - shown.first
        assert set(branch[:columns]) <= set(shown.cells)
        siblings = {node for node, parent in parents.items() if parent == parents[here]}
        turns = len({cell.row for node, cell in shown.cells.items() if node in branch})
        assert len(siblings & set(shown.cells)) >= min(len(siblings), ROWS - turns)
    star = dict.fromkeys(range(1, 12), 0)
    assert 11 in window_layout(star, 1, 0, 11).cells, "the last of too many siblings"
    deep = {1: 0, 2: 1, **dict.fromkeys(range(3, 10), 2), 10: 0}
    assert set(window_layout(deep, 0).cells) == {*range(9), 10}, "the first positions"


def test_height_of_the_tree_is_constant_within_a_round():
    trace = made(Recipe(rounds=6))
    for index in range(len(trace.rounds)):
        rows = [frame["tree"] for frame in frames(Scene.of(trace, index))]
        assert len({step_tree(tree)["layout"]["height"] for tree in rows}) == 1


DIAGRAMS = {entry.name: entry.diagram for entry in entries() if entry.kind == "drafter"}


def test_every_drafter_has_valid_diagram_whose_boxes_hold_their_text_without_overlap():
    for name, drawn in DIAGRAMS.items():
        root = ElementTree.fromstring(diagram(drawn))
        boxes = list(drawn["boxes"].values())
        assert root.get("aria-label") == drawn["says"], name
        assert len(root.findall(".//rect")) == len(boxes), name
        assert len(root.findall("path")) == len(drawn["arrows"]), name
        for left, top, wide, high, _, words in boxes:
            assert left >= 0 <= top, name
            assert left + wide <= WIDTH, name
            assert top + high <= HEIGHT, name
            assert max(width(line, 12.5) for line in words.split("\n")) <= wide - 6, name
        for (x, y, w, h, *_), (u, v, s, t, *_) in itertools.combinations(boxes, 2):
            assert x + w <= u or u + s <= x or y + h <= v or v + t <= y, name


def test_diagram_text_is_escaped():
    odd = {"says": 'a "b" <i>', "boxes": {"a": [0, 0, 9, 9, "text", "<script>&"]}, "arrows": []}
    root = ElementTree.fromstring(diagram(odd))
    assert root.find(".//text").text == "<script>&"
    assert root.get("aria-label") == 'a "b" <i>'


def test_arrows_connect_the_facing_sides_of_two_boxes():
    for start, end, line in (
        ((0, 0), (30, 0), "M10 5L30 5"),
        ((30, 0), (0, 0), "M30 5L10 5"),
        ((0, 0), (0, 40), "M5 10L5 40"),
        ((0, 40), (0, 0), "M5 40L5 10"),
    ):
        boxes = ([*corner, 10, 10, "text", ""] for corner in (start, end))
        assert line in drawing._arrow(*boxes)
