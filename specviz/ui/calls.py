"""The page's blocks: whatever is sent to any event, by its number too, ends in a sentence.

Gradio answers a call to any of its events, with the page or without it, and writes a traceback for
values that do not fit. Rule: values that do not fit are the caller's fault and leave no trace in
the log; what breaks behind an event is ours, and the log says it once.
"""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from specviz.ui.stream import explained

LONGEST: Final = 200  # characters of a sentence of Gradio's
UNFIT: Final = "What was sent does not fit this part of the page. Reload it, and try again."


class Page(gr.Blocks):
    """Blocks whose events refuse what does not fit them, each with one sentence."""

    async def preprocess_data(
        self, block_fn: Any, inputs: list[Any], *rest: Any, **more: Any
    ) -> list[Any]:
        """The values as the event's function takes them. Raises gr.Error with a sentence."""
        if block_fn.fn is None:
            raise refusal("This event is the page's own: the server has no part in it.")
        needed = len(block_fn.inputs)
        if len(inputs) < needed:
            raise refusal(f"This call has too few values: {needed} are needed, not {len(inputs)}.")
        try:
            fitted: list[Any] = await super().preprocess_data(block_fn, inputs, *rest, **more)
        except gr.Error as problem:  # a value that is no choice, or out of bounds
            raise refusal(brief(str(problem.message))) from problem
        except Exception as problem:
            raise refusal(UNFIT) from problem
        return fitted

    async def call_function(self, *given: Any, **more: Any) -> dict[str, Any]:
        """What the event's function makes of them. Raises gr.Error with a sentence."""
        try:
            made: dict[str, Any] = await super().call_function(*given, **more)
        except Exception as problem:
            raise refusal(explained(problem)) from problem
        return made


def refusal(sentence: str) -> gr.Error:
    """An error that the caller is told and the log is not; half characters cannot be sent."""
    return gr.Error(sentence.encode("utf-8", "replace").decode(), print_exception=False)


def brief(sentence: str) -> str:
    """A sentence that quotes what was sent, cut where that is long."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST - 1]}…"
