"""What papers and notes report, beside nothing of ours."""

from __future__ import annotations

from specviz.ui.place import Place


def build(place: Place) -> None:
    """Lay the section out, with everything wired."""
