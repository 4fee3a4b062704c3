"""SVG paths and colours of marks, white-space glyphs, icons and states.

They are defined only here. The page gets them through `shared/given.ts` and the style sheet that
`state_rules` returns. Colours are names such as `--p`, which the page's style sheet defines for the
light and the dark theme.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

# An SVG path, and how it is painted: a class of the page's style sheet.
Stroke = tuple[str, str]
LINE: Final = "sv-line"
FILL: Final = "sv-fill"

MARKS: Final[Mapping[str, list[Stroke]]] = {  # on a grid of 12 by 12
    "accepted": [("M2 6.5 4.8 9.3 10.2 2.9", LINE)],
    "rejected": [("M2.4 2.4 9.6 9.6M9.6 2.4 2.4 9.6", LINE)],
    "unreached": [("M4.2 6a1.8 1.8 0 1 0 3.6 0a1.8 1.8 0 1 0-3.6 0", FILL)],
    "recovered": [("M9.9 4.2A4.3 4.3 0 1 0 10.3 7", LINE), ("M10.6 1.2v3.4H7.2z", FILL)],
    "bonus": [
        ("M6 .8 7.6 4.3l3.8.4-2.8 2.6.8 3.8L6 9.2 2.6 11.1l.8-3.8L.6 4.7l3.8-.4z", FILL),
    ],
}

ICONS: Final[Mapping[str, list[Stroke]]] = {  # icons of buttons, on a grid of 16 by 16
    "first": [("M3 3v10M13 3.2 6 8l7 4.8z", "sv-both")],
    "back": [("M10.5 3 5.5 8l5 5", LINE)],
    "play": [("M4.5 2.8v10.4L13.2 8z", FILL)],
    "pause": [("M5 3v10M11 3v10", f"{LINE} sv-thick")],
    "next": [("M5.5 3l5 5-5 5", LINE)],
    "last": [("M13 3v10M3 3.2 10 8l-7 4.8z", "sv-both")],
}


PILL_HEIGHT: Final = 26  # height of a pill, which shows a token in a tree
MARK_WIDTH: Final = 16  # by how much a mark widens the pill
LEAST_WIDTH: Final = 30


@dataclass(frozen=True, slots=True)
class Glyph:
    """The drawing that makes a character of white space visible.

    Attributes:
        advance: Distance from the start of the glyph to the next character in a tree.
        rise: How far the drawing reaches above the middle of a tree's line of text.
    """

    width: float
    height: float
    path: str
    advance: float
    rise: float


GLYPHS: Final[Mapping[str, Glyph]] = {
    "space": Glyph(8, 6, "M1 1v4h6V1", 7, 0.5),
    "newline": Glyph(14, 10, "M12 1v5H3M6 3 3 6l3 3", 13, 4),
    "return": Glyph(14, 10, "M12 6H3M6 3 3 6l3 3", 13, 4),
    "tab": Glyph(14, 10, "M1 5h9M7 2l3 3-3 3M12 1v8", 13, 5),
}


@dataclass(frozen=True, slots=True)
class State:
    """How a token of a draft tree is drawn in one state; colours are names.

    Attributes:
        line: Colour of the outline, if there is one.
        dash: Dash pattern of the outline; solid if empty.
        edge: Colour of the edge that leads to the pill.
    """

    fill: str
    line: str = ""
    width: float = 0
    dash: str = ""
    ink: str = "--ink"
    mark: str = "--ink"
    edge: str = "--edge"
    struck: bool = False


STATES: Final[Mapping[str, State]] = {
    # states in a round
    "waiting": State("--bg", "--line2", 1.25),
    "accepted": State("--b-soft", mark="--b-ink", edge="--b"),
    "rejected": State("--rejected-soft", "--rejected-line", 1.5, edge="--rejected", struck=True),
    "unreached": State("--bg", "--dead", 1.25, "3 3", ink="--ink3", mark="--ink3"),
    "recovered": State("--r-soft", "--r-line", 2, "2 3", mark="--r-ink", edge="--r-line"),
    "bonus": State("--p-soft", "--p", 1.25, mark="--p-ink", edge="--p"),
    "plain": State("--panel", "--line2", 1.25, edge="--p"),
    "slot": State("--bg", "--dead", 1.5, "2 3", edge="--dead"),
    # states in a tree that grows
    "root": State("none"),
    "reading": State("--btn", "--btn", 1, ink="--btn-ink"),
    "frontier": State("--raise", "--ink", 2),
    "pool": State("--raise", "--dead", 1),
    "fresh": State("--panel", "--ink2", 1.5),
    "kept": State("--line", "--ink2", 1),
    "dropped": State("--bg", "--dead", 1, "3 2", ink="--ink3"),
    # states in a tree that is ranked in another way
    "gained": State("--ink", "--ink", 1, ink="--bg"),
    "lost": State("--bg", "--ink", 2.5, struck=True),
    "tied": State("--bg", "--ink", 2, "2 2"),
}


def state_rules() -> str:
    """Return the style rules of all states, for trees and for their legends."""
    return "\n".join(_rules(name, state) for name, state in STATES.items())


def _rules(name: str, state: State) -> str:
    outline = {"stroke": _colour(state.line), "stroke-width": f"{state.width:g}"}
    outline |= {"stroke-dasharray": state.dash} if state.dash else {}
    node = f".sv-twig-is-{name}"
    rules: dict[str, dict[str, str]] = {
        f"{node} .sv-twig-pill": {"fill": _colour(state.fill)} | (outline if state.line else {}),
        f"{node} .sv-twig-word": {"fill": _colour(state.ink)},
        f"{node} .sv-twig-glyph": {"stroke": _colour(state.ink)},
        f"{node} .sv-twig-mark": {"color": _colour(state.mark)},
        f".sv-twig-to-{name}": {"fill": _colour(state.edge), "stroke": _colour(state.edge)},
    }
    return "\n".join(
        f"{selector} {{ {' '.join(f'{key}: {value};' for key, value in found.items())} }}"
        for selector, found in rules.items()
    )


def _colour(name: str) -> str:
    return f"var(--sv{name[1:]})" if name.startswith("--") else name


class Pill(TypedDict):
    """Sizes of a token's pill in a tree."""

    height: int
    mark: int
    least: int


class Marks(TypedDict):
    """What the page's modules need from this module.

    Attributes:
        GLYPHS: View box and paths of each glyph.
        RISES: See `Glyph.rise`.
        STRUCK: The states in which the word is struck through.
    """

    PILL: Pill
    MARKS: Mapping[str, list[Stroke]]
    ICONS: Mapping[str, list[Stroke]]
    GLYPHS: dict[str, tuple[str, list[Stroke]]]
    RISES: dict[str, float]
    STRUCK: list[str]


def given_marks() -> Marks:
    """Return the drawings and sizes for the page."""
    return {
        "PILL": {"height": PILL_HEIGHT, "mark": MARK_WIDTH, "least": LEAST_WIDTH},
        "MARKS": MARKS,
        "ICONS": ICONS,
        "GLYPHS": {
            name: (f"0 0 {glyph.width:g} {glyph.height:g}", [(glyph.path, LINE)])
            for name, glyph in GLYPHS.items()
        },
        "RISES": {name: glyph.rise for name, glyph in GLYPHS.items()},
        "STRUCK": [name for name, state in STATES.items() if state.struck],
    }
