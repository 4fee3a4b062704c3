"""Questions that a part of the page asks one at a time, as JSON: how they come in and are read.

Rule: a question changes nothing and waits in no line; whatever is wrong with one gets a sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import gradio as gr

LONGEST_TEXT: Final = 4000  # characters


class Unasked(ValueError):
    """This cannot be asked; `field` says which box it is about, "" where none."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


def read(text: Any, longest: int = LONGEST_TEXT) -> Mapping[str, Any]:
    """The JSON object that a text is. Raises Unasked with a sentence."""
    if not isinstance(text, str) or len(text) > longest:
        raise Unasked(f"A question is JSON text of {longest:,} characters at most.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Unasked("This is not whole JSON, so no question.") from problem
    if not isinstance(data, dict):
        raise Unasked("A question is a JSON object.")
    return data


def number_of(text: Any) -> int:
    """The number of a question that cannot be answered, so that the page knows which it was."""
    try:
        return int(json.loads(text)["id"])
    except Exception:
        return 0


def packed(data: Mapping[str, Any]) -> str:
    """JSON as it travels."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def wire(view: gr.HTML, part: str, elem_id: str, answer: Callable[[Any], str]) -> None:
    """Let a part ask: a hidden button, which its script presses, brings the answer to `view`.

    part: the part's object on the window, whose `wish()` is the question as text.
    """
    wish = gr.Textbox(visible=False)
    ask = gr.Button("Ask", elem_id=elem_id, elem_classes="sv-hidden")
    # "multiple": the next question may leave before Gradio is done with the last one.
    ask.click(
        answer,
        wish,
        view,
        js=f"() => [window.specviz.{part}.wish()]",
        queue=False,
        trigger_mode="multiple",
        concurrency_limit=None,
        show_progress="hidden",
        api_visibility="private",
    )
