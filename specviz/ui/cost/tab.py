"""The Cost tab, section by section."""

from __future__ import annotations

from specviz.ui.component import TabContext
from specviz.ui.cost import published as headline
from specviz.ui.cost import sweep
from specviz.ui.cost.law import section as law
from specviz.ui.cost.roofline import section as roofline


def build(place: TabContext) -> None:
    """Lay the tab out, with everything wired."""
    law.build(place)
    roofline.build(place)
    sweep.build(place)
    headline.build(place)
