"""The Compare tab, section by section."""

from __future__ import annotations

from specviz.ui.broken import section
from specviz.ui.compare.domains import section as domains
from specviz.ui.compare.race import section as race
from specviz.ui.component import TabContext


def build(place: TabContext) -> None:
    """Build the tab and connect its events."""
    section(race.build, place)
    section(domains.build, place)
