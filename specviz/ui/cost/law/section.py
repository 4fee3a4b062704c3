"""The speed law, with the last run on its surface.

The part in the browser asks one question at a time, as JSON; `answer` answers it.
"""

from __future__ import annotations

from typing import Final

import gradio as gr

from specviz.ui.component import TabContext, component
from specviz.ui.cost.law.answer import answer
from specviz.ui.cost.law.question import LIMITS
from specviz.ui.cost.terms.section import START as TERMS

NAME: Final = "sv-law"


# What stands there before anybody moves a slider.
START: Final = {
    **TERMS, "c": 0.1, "verify": 1, "c_hat": 0.1,
    "map": "gamma", "widths": "3, 2, 1, 1", "places": "0.65, 0.11, 0.05",
}  # fmt: skip


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    limits = {name: [least, most] for name, (_, least, most) in LIMITS.items()}
    view = component(NAME, "cost/law/law", {"start": START, "terms": TERMS, "limits": limits})
    wish = gr.Textbox(visible=False)
    ask = gr.Button("Ask the law", elem_id="sv-law-ask", elem_classes="sv-hidden")
    # "multiple": the next question may leave before Gradio is done with the last one.
    ask.click(
        answer,
        wish,
        view,
        js="() => [window.specviz.law.wish()]",
        queue=False,
        trigger_mode="multiple",
        concurrency_limit=None,
        show_progress="hidden",
        api_visibility="private",
    )
