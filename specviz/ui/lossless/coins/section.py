"""Coins that really fall for what stands in the sandbox: a button for each number of rounds."""

from __future__ import annotations

from typing import Any, Final

import gradio as gr

from specviz.ui.component import TabContext, component
from specviz.ui.lossless.coins.throws import THROWS

NAME: Final = "sv-coins"


def answered(text: Any) -> str:
    """See `answer.thrown`; torch is brought in by the first question, not by the page."""
    from specviz.ui.lossless.coins.answer import thrown

    return thrown(text)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    view = component(NAME, "lossless/coins/coins", {"throws": list(THROWS)})
    wish = gr.Textbox(visible=False)
    ask = gr.Button("Throw the coins", elem_id=f"{NAME}-ask", elem_classes="sv-hidden")
    ask.click(
        answered,
        wish,
        view,
        js="() => [window.specviz.coins.wish()]",
        queue=False,
        trigger_mode="multiple",
        concurrency_limit=None,
        show_progress="hidden",
        api_visibility="private",
    )
