"""Compute what the screen shows at a position in a trace, as plain data for the browser.

The data for one position is a frame; the position is a cursor. A frame depends only on the trace
and the cursor, and reveals nothing that happens after the cursor. Standard library only.
"""

from specviz.frames.frame import Frame, end_card, frame, frames, questions
from specviz.frames.scene import Cursor, Scene, Step

__all__ = [
    "Cursor",
    "Frame",
    "Scene",
    "Step",
    "end_card",
    "frame",
    "frames",
    "questions",
]
