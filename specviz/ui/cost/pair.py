"""α and γ of the whole Cost tab: two sliders that all its instruments read."""

from __future__ import annotations

from typing import Final

import gradio as gr

from specviz.ui.component import TabContext

START: Final = {"alpha": 0.7, "gamma": 4}


def build(place: TabContext) -> None:
    """Build the sliders, and register them as the tab's shared controls."""
    with gr.Row(elem_classes="sv-pair"):
        place.controls["alpha"] = gr.Slider(
            0, 1, START["alpha"], step=0.001, label="α, the probability that a guess is accepted"
        )
        place.controls["gamma"] = gr.Slider(
            0, 64, START["gamma"], step=1, label="γ, guesses in a draft"
        )
