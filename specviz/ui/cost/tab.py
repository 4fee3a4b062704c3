"""The Cost tab, section by section."""

from __future__ import annotations

from specviz.ui.broken import section
from specviz.ui.component import TabContext
from specviz.ui.cost.law import section as law
from specviz.ui.cost.published import section as published
from specviz.ui.cost.roofline import section as roofline
from specviz.ui.cost.server import section as server
from specviz.ui.cost.shapes import section as shapes
from specviz.ui.cost.sweep import section as sweep
from specviz.ui.cost.terms import section as terms


def build(place: TabContext) -> None:
    """Build the tab and wire its events."""
    section(terms.build, place)
    section(law.build, place)
    section(roofline.build, place)
    section(server.build, place)
    section(sweep.build, place)
    section(shapes.build, place)
    section(published.build, place)
