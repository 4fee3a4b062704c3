"""Everything that the screen shows at a step, with the tree drawn."""

from __future__ import annotations

from typing import cast

from specviz.figures.tree import DrawnTree, step_tree
from specviz.frames import Frame
from specviz.frames.frame import FrameParts


class DrawnFrame(FrameParts):
    """Everything that the screen shows at a step, with the tree drawn."""

    tree: DrawnTree


def add_figures(frame: Frame) -> DrawnFrame:
    """Draw the tree of a frame."""
    drawn = cast("DrawnFrame", dict(frame))
    drawn["tree"] = step_tree(frame["tree"])
    return drawn
