"""Draw how a drafter works as a small SVG of boxes and arrows.

The data comes from a catalogue entry: `says` is the text alternative, `boxes` maps names to [left,
top, width, height, kind, words], and `arrows` lists [from, to]. Kinds are text, draft, target,
guess and state; the style sheet colours them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

WIDTH: Final = 360
HEIGHT: Final = 132
LINE: Final = 13  # pixels from one line of text to the next


Box = Sequence[Any]


Point = tuple[float, float]


def diagram(data: Mapping[str, Any] | None) -> str:
    """Draw a drafter's diagram as SVG; empty if it has none."""
    if data is None:
        return ""
    boxes: Mapping[str, Box] = data["boxes"]
    arrows = "".join(_arrow(boxes[start], boxes[end]) for start, end in data["arrows"])
    shapes = "".join(map(_box, boxes.values()))
    head = f'<svg class="sv-dg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
    return f'{head} aria-label="{escape(data["says"])}">{arrows}{shapes}</svg>'


def _box(box: Box) -> str:
    left, top, width, height, kind, words = box
    lines = words.split("\n")
    first = top + height / 2 - (len(lines) - 1) * LINE / 2
    texts = "".join(
        f'<text x="{left + width / 2:g}" y="{first + index * LINE:g}">{escape(line)}</text>'
        for index, line in enumerate(lines)
    )
    shape = f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="5"/>'
    return f'<g class="sv-dg-{escape(kind)}">{shape}{texts}</g>'


def _arrow(start: Box, end: Box) -> str:
    (x, y), (to_x, to_y) = _facing(start, end)
    along = abs(to_x - x) >= abs(to_y - y)
    back = 5 if (to_x > x if along else to_y > y) else -5
    head = (
        f"M{to_x - back:g} {to_y - 3.5:g}L{to_x:g} {to_y:g}L{to_x - back:g} {to_y + 3.5:g}"
        if along
        else f"M{to_x - 3.5:g} {to_y - back:g}L{to_x:g} {to_y:g}L{to_x + 3.5:g} {to_y - back:g}"
    )
    return f'<path class="sv-dg-arrow" d="M{x:g} {y:g}L{to_x:g} {to_y:g}{head}"/>'


def _facing(start: Box, end: Box) -> tuple[Point, Point]:
    left, top, width, height = start[:4]
    to_left, to_top, to_width, to_height = end[:4]
    if to_left >= left + width or to_left + to_width <= left:  # the boxes are beside each other
        right = to_left >= left + width
        y = max(top, to_top) / 2 + min(top + height, to_top + to_height) / 2
        return (left + width if right else left, y), (to_left if right else to_left + to_width, y)
    x = max(left, to_left) / 2 + min(left + width, to_left + to_width) / 2
    below = to_top >= top
    return (x, top + height if below else top), (x, to_top if below else to_top + to_height)
