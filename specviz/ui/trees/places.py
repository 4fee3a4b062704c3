"""Positions on which trees grow: those that ship, and recent live ones of visitors."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from specviz.trees.recorded_position import RecordedPosition, recipes, shipped_position
from specviz.ui.questions import BadRequest

MOST: Final = 64  # live positions for all visitors together, 50 kB each
LIVE: Final = "live:"


class Held:
    """Live positions by key; the least recently used is dropped first."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, RecordedPosition] = OrderedDict()
        self._lock = Lock()

    def keep(self, key: str, field: RecordedPosition) -> str:
        """Hold a position and return its name."""
        with self._lock:
            self._held[LIVE + key] = field
            while len(self._held) > MOST:
                self._held.popitem(last=False)
        return LIVE + key

    def find(self, name: str) -> RecordedPosition | None:
        """Return the position of this name; None if it was dropped."""
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
            return self._held.get(name)


HELD: Final = Held()


def names() -> list[tuple[str, str]]:
    """List the recorded positions by name and title, in the order shown."""
    return [(recipe.name, recipe.title) for recipe in recipes()]


def place(name: object) -> RecordedPosition:
    """Return a position by its name. Raises BadRequest with a sentence."""
    if isinstance(name, str) and name.startswith(LIVE):
        found = HELD.find(name)
        if found is None:
            raise BadRequest("This live position has expired. Draft there again.")
        return found
    if name not in [known for known, _ in names()]:
        raise BadRequest("There is no recorded position of this name.")
    return shipped_position(str(name))
