"""A sample instrument from outside the package: expected tokens of a pass for α and γ.

This file, with an import and a row in `specviz/ui/tabs.py`, is a complete tab.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr
import plotly.graph_objects as go

from specviz.cost.formula import expected_tokens
from specviz.figures.theme import INK, chart
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown

START: dict[str, Any] = {"alpha": 0.7, "gamma": 4}


def build(place: TabContext) -> None:
    """Build the instrument."""
    with Instrument(place, "sample", "Tokens of a pass", "simulated", sentence(**START)) as sample:
        alpha = gr.Number(START["alpha"], label="α, the probability that a guess is accepted")
        gamma = gr.Slider(1, 16, START["gamma"], step=1, label="γ, guesses in a draft")
        drawing = figure("sv-sample-tokens", "tokens-of-a-pass")
    controls = {"alpha": alpha, "gamma": gamma}
    sample.wire(controls, {"drawing": drawing}, respond, keys={"sample_gamma": "gamma"})


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError with a sentence."""
    alpha, gamma = values["alpha"], values["gamma"]
    if alpha is None or not 0 <= alpha <= 1:
        raise ValueError("α must be between 0 and 1.")
    said = sentence(alpha, gamma)
    return {"answer": said, "drawing": shown(tokens_figure(alpha, gamma), said)}


def sentence(alpha: float, gamma: int) -> str:
    """Return the answer in one sentence."""
    return f"A pass yields {expected_tokens(alpha, gamma):.2f} tokens."


def tokens_figure(alpha: float, gamma: int) -> go.Figure:
    """Chart the expected tokens of a pass by draft length, from 1 to γ."""
    lengths = list(range(1, gamma + 1))
    tokens = [expected_tokens(alpha, length) for length in lengths]
    line = go.Scatter(x=lengths, y=tokens, mode="lines+markers", line={"color": INK})
    return chart([line], x="γ", y="tokens of a pass")
