"""The layout of a tree for the page's script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specviz.figures.layout import GAP, tree_layout
from specviz.trees.recorded_position import RecordedPosition
from specviz.ui.trees.words import label, pill


def placed(
    field: RecordedPosition,
    tokens: Sequence[int],
    parents: Sequence[int],
    gap: float = GAP,
    names: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the layout of a tree in pixels.

    Args:
        field: The position.
        tokens: Tokens by node.
        parents: Parents by node.
        gap: Distance between columns.
        names: Names of the nodes; their numbers if omitted.
    """
    labels = [label(field, token) for token in tokens]
    widths = [pill(text) for text in labels]
    made = tree_layout(parents, widths, gap)
    called = range(len(tokens)) if names is None else names
    rows = zip(called, made.x, made.y, widths, labels, strict=True)
    return {
        "places": {str(name): [x, y, wide, text] for name, x, y, wide, text in rows},
        "columns": made.columns,
        "width": made.width,
        "height": made.height,
        "gap": gap,
    }
