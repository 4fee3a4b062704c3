"""Positions from which trees grow (shipped or live), and how their tokens are shown."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

import gradio as gr

from specviz.frames.scene import Word, flat, special, word
from specviz.trees.recorded_position import RecordedPosition, recipes, shipped_position
from specviz.ui.component import TabContext
from specviz.ui.instrument import DIRECT


def shown(field: RecordedPosition, token: int) -> Word:
    """Return a token, split into pieces."""
    data = field.token_bytes(token)
    return special(data) if token in field.eos else word(data)


def token_text(field: RecordedPosition, token: int) -> str:
    """Return a token as text, with white space made visible."""
    name = flat(shown(field, token))
    return "".join(c if c.isprintable() else "\ufffd" for c in name)


def quoted(field: RecordedPosition, token: int) -> str:
    """Return a token in quotes, for a sentence."""
    return f"‘{token_text(field, token)}’"


MOST: Final = 64  # maximum number of live positions, of all visitors together; each has 50 kB
LIVE: Final = "live:"


class Held:
    """Stored live positions by key; the least recently used one is dropped first."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, RecordedPosition] = OrderedDict()
        self._lock = Lock()

    def keep(self, key: str, field: RecordedPosition) -> str:
        """Store a position and return its name."""
        with self._lock:
            self._held[LIVE + key] = field
            while len(self._held) > MOST:
                self._held.popitem(last=False)
        return LIVE + key

    def find(self, name: str) -> RecordedPosition | None:
        """Return the position with this name; None if it was dropped."""
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
            return self._held.get(name)


HELD: Final = Held()


def names() -> list[tuple[str, str]]:
    """Return the recorded positions as name and title, in the order shown."""
    return [(recipe.name, recipe.title) for recipe in recipes()]


def list_live(tab: TabContext, choice: gr.Dropdown, choices: list[tuple[str, str]]) -> None:
    """List a visitor's live position, once there is one, in a dropdown with other choices."""
    if "live" not in tab.controls:
        return  # the instrument that drafts live could not be built
    live = tab.controls["live"]

    def listed(found: tuple[str, str] | None) -> gr.Dropdown:
        return gr.Dropdown([found, *choices] if found else choices)

    tab.changes["live"].then(listed, live, choice, **DIRECT)


def place(name: object) -> RecordedPosition:
    """Return a position by its name. Raises ValueError if there is none."""
    if isinstance(name, str) and name.startswith(LIVE):
        found = HELD.find(name)
        if found is None:
            raise ValueError("This live position has expired. Draft there again.")
        return found
    if name not in [known for known, _ in names()]:
        raise ValueError("There is no recorded position of this name.")
    return shipped_position(str(name))
