"""The row on top and its drawer: prompt, examples, settings, Run live, Stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.prompts import prompts
from specviz.settings import Sampling, Settings
from specviz.ui.choices import DRAFTERS, LONGEST_PROMPT
from specviz.ui.recorded import names, title

DOMAINS: Final = {
    "stories": "Story",
    "dialogues": "Dialogue",
    "python": "Python",
    "maths": "Maths",
    "repeat": "Repetition",
}
TOGGLE: Final = """() => {
  const open = document.body.classList.toggle('sv-drawer-open');
  document.querySelector('#sv-settings').setAttribute('aria-expanded', open);
}"""
SENTENCE: Final = """(method, gamma, schedule, temperature, k, p, seed, tokens) =>
  [method, 'T ' + temperature, 'γ ' + gamma, 'seed ' + seed].join(' · ')"""


@dataclass(frozen=True, slots=True)
class Controls:
    """The components that a run reads, in the order of `Choices`, and those that act."""

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    recorded: gr.Dropdown
    number: gr.Number


def build(allow_any_model: bool) -> Controls:
    """Lay the controls out and wire what needs no server."""
    with gr.Row(elem_id="sv-run", equal_height=True):
        prompt = gr.Textbox(
            prompts()["stories"][0],
            label="Prompt",
            max_length=LONGEST_PROMPT,
            lines=1,
            max_lines=2,
            elem_id="sv-prompt",
            scale=6,
        )
        examples = gr.Dropdown(
            example_choices(), value=None, label="Examples", elem_id="sv-examples", scale=2
        )
        recorded = gr.Dropdown(
            [(title(name), name) for name in names()],
            value=next(iter(names()), None),
            label="Recorded runs",
            elem_id="sv-recorded",
            visible=bool(names()),
            scale=2,
        )
        summary = gr.Button(first_sentence(), elem_id="sv-settings", scale=3)
        run = gr.Button("Run live", variant="primary", elem_id="sv-go", scale=0, min_width=96)
        stop = gr.Button("Stop", elem_id="sv-stop", scale=0, min_width=72)
    with gr.Group(elem_id="sv-drawer"):
        settings = drawer()
        names_of_models = model_boxes() if allow_any_model else []
    number = gr.Number(0, visible=False)
    examples.input(None, examples, prompt, js="(text) => text", api_visibility="private")
    summary.click(None, js=TOGGLE, api_visibility="private")
    gr.on(
        [component.change for component in settings],
        None,
        settings,
        summary,
        js=SENTENCE,
        api_visibility="private",
    )
    return Controls([prompt, *settings, *names_of_models], run, stop, recorded, number)


def drawer() -> list[Any]:
    """Every setting of a run, in the order of `Choices`."""
    usual, law = Settings(), Sampling()
    with gr.Row():
        method = gr.Radio(list(DRAFTERS), value=next(iter(DRAFTERS)), label="Drafter")
        gamma = gr.Slider(1, 16, usual.gamma, step=1, label="γ, guesses in a row")
        schedule = gr.Radio(
            [("fixed", "fixed"), ("learning: +2 after a clean sweep, else −1", "learning")],
            value=usual.schedule,
            label="How γ goes on",
        )
    with gr.Row():
        temperature = gr.Slider(0, 2, law.temperature, step=0.1, label="Temperature")
        top_k = gr.Number(law.top_k, precision=0, label="Top-k (0: every token)")
        top_p = gr.Slider(0.05, 1, law.top_p, step=0.05, label="Top-p")
        seed = gr.Number(usual.seed, precision=0, label="Seed")
        tokens = gr.Slider(1, 256, usual.max_new_tokens, step=1, label="New tokens")
    return [method, gamma, schedule, temperature, top_k, top_p, seed, tokens]


def model_boxes() -> list[Any]:
    """Where models may be named: a folder of this machine or a Hub id."""
    with gr.Row():
        target = gr.Textbox(label="Target: a folder or a Hub id", max_length=300)
        drafter = gr.Textbox(label="Draft model: a folder or a Hub id", max_length=300)
    return [target, drafter]


def first_sentence() -> str:
    """The settings as they are when the page opens, as the page will write them."""
    usual = Settings()
    parts = [next(iter(DRAFTERS)), f"T {usual.sampling.temperature:g}", f"γ {usual.gamma}"]
    return " · ".join([*parts, f"seed {usual.seed}"])


def example_choices() -> list[tuple[str, str]]:
    """Example prompts as (what the list shows, the prompt)."""
    return [
        (f"{DOMAINS.get(domain, domain)}: {short(text)}", text)
        for domain, texts in prompts().items()
        for text in texts
    ]


def short(text: str, most: int = 56) -> str:
    """The start of a prompt, on one line."""
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"
