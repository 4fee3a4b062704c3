"""The drawer: every setting of a run, in groups; what the chosen drafter ignores is hidden."""

from __future__ import annotations

import json
from dataclasses import fields
from html import escape
from typing import Any, Final

import gradio as gr

from specviz.catalog.entry import Entry, entries, filled
from specviz.figures.diagram import diagram
from specviz.settings.settings import Sampling, Settings
from specviz.ui.request import RunRequest

# Which settings count, and which card is shown, follow from the drafter that is chosen.
FITTED: Final = """(method) => {
  const reads = %s;
  document.querySelector('#sv-drawer').dataset.reads = (reads[method] || []).join(' ');
  for (const card of document.querySelectorAll('#sv-how [data-drafter]')) {
    card.hidden = card.dataset.drafter !== method;
  }
}"""


# A drafter that a visitor picks comes with the settings that suit it.
SUITED: Final = "(method) => (%s)[method]"


# Settings that few families read: words, least, most, step.
SLIDERS: Final = {
    "confidence": ("Least chance to go on", 0, 0.95, 0.05),
    "budget": ("Budget: guesses kept", 1, 64, 1),
    "fan_out": ("Weighed under each", 1, 12, 1),
    "exit_layer": ("Exit after layer", 1, 11, 1),
    "suffix_factor": ("Depth, × the match", 0.5, 4, 0.5),
    "suffix_least": ("Least chance", 0.05, 1, 0.05),
    "lookahead_window": ("Window W, positions", 1, 15, 1),
    "lookahead_ngram": ("N, tokens in an n-gram", 3, 8, 1),
    "lookahead_guesses": ("G, n-grams tried", 1, 15, 1),
}


def drafters() -> list[Entry]:
    """The catalogue's drafters, in its order."""
    return [entry for entry in entries() if entry.kind == "drafter"]


def drawer(first: RunRequest) -> dict[str, Any]:
    """Every setting of a run by its name in `Choices`, and in that order; `first` fills it in."""
    with group("Drafting", "sv-drafting"):
        made = drafting(first)
    with group("Sampling", "sv-sampling"):
        made |= sampling(first.settings.sampling)
    with group("Run", "sv-limits"):
        made |= limits(first.settings)
    how()
    return made


def sampling(law: Sampling) -> dict[str, Any]:
    """How logits become a law, by name."""
    return {
        "temperature": gr.Slider(0, 2, law.temperature, step=0.1, label="Temperature"),
        "top_k": gr.Number(law.top_k, precision=0, label="Top-k (0: every token)"),
        "top_p": gr.Slider(0.05, 1, law.top_p, step=0.05, label="Top-p"),
    }


def limits(usual: Settings) -> dict[str, Any]:
    """What fixes a run's coins and its length, by name."""
    return {
        "seed": gr.Number(usual.seed, precision=0, label="Seed"),
        "new_tokens": gr.Slider(1, 256, usual.max_new_tokens, step=1, label="New tokens"),
    }


def drafting(first: RunRequest) -> dict[str, Any]:
    """The drafter and the settings that some drafter reads, by name."""
    usual = first.settings
    return {
        "method": gr.Dropdown(
            [(entry.title, entry.name) for entry in drafters()],
            value=first.drafter,
            label="Drafter",
            filterable=False,
            elem_id="sv-method",
            elem_classes="sv-pick",
        ),
        "candidates": gr.Radio(
            [("Sampled", "sampled"), ("Top token", "greedy")],
            value=usual.candidates,
            label="Its guesses are",
            elem_id="sv-candidates",
        ),
        "gamma": gr.Slider(
            1, 16, usual.gamma, step=1, label="γ, guesses in a row", elem_id="sv-gamma"
        ),
        "schedule": gr.Radio(
            [("Fixed", "fixed"), ("+2 after a clean sweep, else −1", "learning")],
            value=usual.schedule,
            label="How γ goes on",
            elem_id="sv-schedule",
        ),
        "siblings": gr.Textbox(
            as_typed(usual.siblings),
            label="Siblings at each depth",
            placeholder="like 3, 2",
            max_length=100,
            elem_id="sv-siblings",
        ),
        "rank_paths": gr.Textbox(
            as_typed(usual.rank_paths),
            label="Or paths by rank",
            placeholder="like 0; 1; 0,0",
            lines=1,
            max_lines=1,
            max_length=1000,
            elem_id="sv-rank-paths",
        ),
        **{name: slider(name, getattr(usual, name)) for name in SLIDERS},
    }


def as_typed(value: Any) -> Any:
    """A setting as the form has it: lists as text, everything else as it is."""
    if not isinstance(value, list):
        return value
    if any(isinstance(part, list) for part in value):
        return "; ".join(",".join(map(str, path)) for path in value)
    return ", ".join(map(str, value))


def slider(name: str, value: float) -> gr.Slider:
    """A setting that one family of drafters reads."""
    words, least, most, step = SLIDERS[name]
    elem_id = "sv-" + name.replace("_", "-")
    return gr.Slider(least, most, value, step=step, label=words, elem_id=elem_id)


def how() -> gr.HTML:
    """Each drafter's diagram and three sentences; one of them is shown."""
    cards = "".join(map(card, drafters()))
    return gr.HTML(f"<div>{cards}</div>", elem_id="sv-how", padding=False)


def card(entry: Entry) -> str:
    """How a drafter drafts, what it knows, what it costs."""
    rows = [("How it drafts", entry.how), ("What it knows", entry.knows), ("Costs", entry.costs)]
    told = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in rows)
    head = f'<section class="sv-card" data-drafter="{escape(entry.name)}" hidden>'
    return f"{head}{diagram(entry.diagram)}<dl>{told}</dl></section>"


def fit(made: dict[str, Any], demo_load: Any) -> None:
    """Wire the drawer to the drafter that is chosen, from the page's opening on.

    made: the drawer's components by name. Only a visitor's own pick changes settings: a recorded
    run brings its own.
    """
    method = made["method"]
    js = FITTED % json.dumps({entry.name: entry.reads for entry in drafters()})
    gr.on([method.change, demo_load], None, method, js=js, api_visibility="private")
    names = [f.name for f in fields(Settings) if f.name in made]
    suited = {
        entry.name: [as_typed(filled(entry.name, {})[name]) for name in names if name != "seed"]
        for entry in drafters()
    }
    outputs = [made[name] for name in names if name != "seed"]
    js = SUITED % json.dumps(suited)
    method.input(None, method, outputs, js=js, api_visibility="private")


def group(name: str, elem_id: str) -> gr.Column:
    """A titled group of settings."""
    column = gr.Column(elem_id=elem_id, elem_classes="sv-group")
    with column:
        gr.HTML(f"<h2>{name}</h2>", elem_classes="sv-group-name")
    return column


def model_boxes() -> list[Any]:
    """Where models may be named: a folder of this machine or a Hub id."""
    with group("Models", "sv-models"):
        target = gr.Textbox(label="Target: a folder or a Hub id", max_length=300)
        drafter = gr.Textbox(label="Draft model: a folder or a Hub id", max_length=300)
    return [target, drafter]
