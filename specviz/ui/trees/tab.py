"""The Trees tab, section by section."""

from __future__ import annotations

from specviz.ui.broken import section
from specviz.ui.component import TabContext
from specviz.ui.trees.grow import section as grow
from specviz.ui.trees.judging import section as judging
from specviz.ui.trees.ranking import section as ranking


def build(place: TabContext) -> None:
    """Build the tab and wire its events."""
    section(grow.build, place)
    section(ranking.build, place)
    section(judging.build, place)
