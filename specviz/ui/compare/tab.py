"""The Compare tab, section by section."""

from __future__ import annotations

from specviz.ui.compare import domains, race
from specviz.ui.place import Place


def build(place: Place) -> None:
    """Lay the tab out, with everything wired."""
    race.build(place)
    domains.build(place)
