"""Compute what the screen shows at a cursor of a trace, as plain data for the browser.

A frame depends only on the trace and the cursor, and reveals nothing that happens after the cursor.
Standard library only.
"""

from specviz.frames.frame import Frame, apply_patch, end_card, frame, frames, make_patch, questions
from specviz.frames.scene import Cursor, Scene, Step

__all__ = [
    "Cursor",
    "Frame",
    "Scene",
    "Step",
    "apply_patch",
    "end_card",
    "frame",
    "frames",
    "make_patch",
    "questions",
]
