"""Diagrams of drafters: one per drafter, valid markup, no overlapping boxes."""

import itertools
import xml.etree.ElementTree as ElementTree

import pytest

from specviz.catalog import entries
from specviz.figures import diagram as drawing
from specviz.figures.diagram import HEIGHT, WIDTH, diagram
from specviz.figures.plot import width

DIAGRAMS = {entry.name: entry.diagram for entry in entries() if entry.kind == "drafter"}


@pytest.mark.parametrize("name", DIAGRAMS)
def test_every_drafter_has_valid_diagram_with_label(name):
    root = ElementTree.fromstring(diagram(DIAGRAMS[name]))
    assert root.get("aria-label") == DIAGRAMS[name]["says"]
    assert len(root.findall(".//rect")) == len(DIAGRAMS[name]["boxes"])
    assert len(root.findall("path")) == len(DIAGRAMS[name]["arrows"])


@pytest.mark.parametrize("name", DIAGRAMS)
def test_boxes_of_a_diagram_fit_the_canvas_and_their_text_without_overlap(name):
    boxes = list(DIAGRAMS[name]["boxes"].values())
    for left, top, wide, high, _, words in boxes:
        assert left >= 0 <= top
        assert left + wide <= WIDTH
        assert top + high <= HEIGHT
        assert max(width(line, 12.5) for line in words.split("\n")) <= wide - 6
    for (x, y, w, h, *_), (u, v, s, t, *_) in itertools.combinations(boxes, 2):
        assert x + w <= u or u + s <= x or y + h <= v or v + t <= y


def test_diagram_text_is_escaped():
    odd = {"says": 'a "b" <i>', "boxes": {"a": [0, 0, 9, 9, "text", "<script>&"]}, "arrows": []}
    root = ElementTree.fromstring(diagram(odd))
    assert root.find(".//text").text == "<script>&"
    assert root.get("aria-label") == 'a "b" <i>'


@pytest.mark.parametrize(
    ("start", "end", "line"),
    [
        ([0, 0, 10, 10], [30, 0, 10, 10], "M10 5L30 5"),
        ([30, 0, 10, 10], [0, 0, 10, 10], "M30 5L10 5"),
        ([0, 0, 10, 10], [0, 40, 10, 10], "M5 10L5 40"),
        ([0, 40, 10, 10], [0, 0, 10, 10], "M5 40L5 10"),
    ],
)
def test_arrows_connect_the_facing_sides_of_two_boxes(start, end, line):
    assert line in drawing._arrow([*start, "text", ""], [*end, "text", ""])
