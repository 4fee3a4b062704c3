"""The roofline: what a pass costs by its tokens, and where drafting loses."""

from __future__ import annotations

from specviz.ui.place import Place


def build(place: Place) -> None:
    """Lay the section out, with everything wired."""
