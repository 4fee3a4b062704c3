"""Questions of a part of the page, one at a time as JSON: wiring and validation.

A question changes nothing and bypasses the queue; an invalid one gets a readable sentence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import gradio as gr

LONGEST_TEXT: Final = 4000  # characters


class Unasked(ValueError):
    """An invalid question; `field` names the input it is about, "" if none."""

    def __init__(self, sentence: str, field: str = "") -> None:
        super().__init__(sentence)
        self.field = field


def read(text: Any, longest: int = LONGEST_TEXT) -> Mapping[str, Any]:
    """Parse the JSON object of a question. Raises Unasked with a sentence."""
    if not isinstance(text, str) or len(text) > longest:
        raise Unasked(f"A question must be JSON text of at most {longest:,} characters.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise Unasked("This is not valid JSON.") from problem
    if not isinstance(data, dict):
        raise Unasked("A question must be a JSON object.")
    return data


def number_of(text: Any) -> int:
    """Return the number of an invalid question, so that the page knows which it was."""
    try:
        return int(json.loads(text)["id"])
    except Exception:
        return 0


def packed(data: Mapping[str, Any]) -> str:
    """Return compact JSON."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def wire(view: gr.HTML, part: str, elem_id: str, answer: Callable[[Any], str]) -> None:
    """Let a part send questions: its script presses a hidden button, and the answer goes to `view`.

    Args:
        view: The part.
        part: Name of its object on the window, whose `wish()` returns the question.
        elem_id: Id of the hidden button.
        answer: Answers a question.
    """
    wish = gr.Textbox(visible=False)
    ask = gr.Button("Ask", elem_id=elem_id, elem_classes="sv-hidden")
    # "multiple": the next question may be sent before Gradio is done with the last one.
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
