"""(trace, cursor) -> what the screen shows, as plain data that a browser can apply.

Its one rule: a frame depends on nothing but the trace and the cursor, and tells nothing that has
not happened at the cursor. Standard library only.
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
