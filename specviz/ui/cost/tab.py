"""The Cost tab, section by section."""

from __future__ import annotations

from specviz.ui.cost import headline, law, roofline, sweep
from specviz.ui.place import Place


def build(place: Place) -> None:
    """Lay the tab out, with everything wired."""
    law.build(place)
    roofline.build(place)
    sweep.build(place)
    headline.build(place)
