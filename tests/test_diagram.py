"""Diagrams of drafters: one per drafter, valid markup, no overlapping boxes."""

import itertools
import xml.etree.ElementTree as ElementTree

from specviz.catalog import entries
from specviz.figures import diagram as drawing
from specviz.figures.diagram import HEIGHT, WIDTH, diagram
from specviz.figures.plot import width

DIAGRAMS = {entry.name: entry.diagram for entry in entries() if entry.kind == "drafter"}


def test_every_drafter_has_valid_diagram_whose_boxes_hold_their_text_without_overlap():
    for name, made in DIAGRAMS.items():
        root = ElementTree.fromstring(diagram(made))
        boxes = list(made["boxes"].values())
        assert root.get("aria-label") == made["says"], name
        assert len(root.findall(".//rect")) == len(boxes), name
        assert len(root.findall("path")) == len(made["arrows"]), name
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
