"""A server at rest rests: how often Gradio looks whether somebody asked for something."""

from __future__ import annotations

from typing import Final

import gradio as gr

# Seconds from one look to the next, of which an event waits half on average. Gradio looks every
# millisecond (every 50 on Windows), which keeps 6 % of a core awake where nobody visits.
LOOK: Final = 0.02
# Likewise for what a function tells of its progress, which none here does in Gradio's way.
PROGRESS: Final = 1.0


def rest(demo: gr.Blocks) -> None:
    """Let a page's line of events sleep between looks; to be called once it has its line."""
    demo._queue.sleep_when_free = LOOK
    demo._queue.progress_update_sleep_when_free = PROGRESS
