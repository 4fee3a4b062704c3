"""The Lossless? tab, section by section."""

from __future__ import annotations

from specviz.ui.broken import section
from specviz.ui.component import TabContext
from specviz.ui.lossless.coins import section as coins
from specviz.ui.lossless.gallery import section as gallery
from specviz.ui.lossless.proof import section as proof
from specviz.ui.lossless.sandbox import section as sandbox


def build(place: TabContext) -> None:
    """Build the tab and connect its events."""
    section(sandbox.build, place)
    section(coins.build, place)
    section(gallery.build, place)
    section(proof.build, place)
