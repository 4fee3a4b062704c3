"""Three instruments of the Cost tab that few readers need, below one button.

They are hidden by style only (40-pair.css), since a link to one of them opens it, and then they are
shown.
"""

from __future__ import annotations

from typing import Final

import gradio as gr

from specviz.ui.broken import section
from specviz.ui.component import TabContext
from specviz.ui.cost import adaptive, shapes, sweep

TITLE: Final = "Advanced: many requests, this machine, public model sizes"
TOGGLE: Final = """() => {
  const open = document.getElementById("sv-advanced").classList.toggle("sv-open");
  document.getElementById("sv-advanced-go").setAttribute("aria-expanded", open);
}"""


def build(place: TabContext) -> None:
    """Build the button and the instruments."""
    button = gr.Button(TITLE, elem_id="sv-advanced-go", size="sm")
    with gr.Column(elem_id="sv-advanced"):
        for part in (adaptive, sweep, shapes):
            section(part.build, place)
    button.click(None, js=TOGGLE)
