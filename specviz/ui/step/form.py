"""The row on top and its drawer: prompt, examples, settings, Run live, Stop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from specviz.catalog.entry import reads_of, title_of
from specviz.settings.text import brief
from specviz.shipped import prompts
from specviz.ui.component import component
from specviz.ui.request import LONGEST_PROMPT, RunRequest
from specviz.ui.step.drawer import drafters, drawer, fit, model_boxes
from specviz.ui.step.recorded import names, opening, title

DOMAINS: Final = {
    "stories": "Story",
    "dialogues": "Dialogue",
    "python": "Python",
    "maths": "Maths",
    "repeat": "Repetition",
}


# After typing, the one line that is left shows the prompt's start again.
FOLD: Final = "() => { document.querySelector('#%s textarea').scrollTop = 0 }"


# The settings in one sentence; what a visitor typed reaches the page as text only.
SENTENCE: Final = """(method, gamma, siblings, ranks, budget, temperature, seed, target) => {
  const name = (target || '').trim().replace(/[\\\\/]+$/, '').split(/[\\\\/]/).pop();
  const known = (%s)[method] || { title: method, reads: ['gamma'] };
  const paths = known.reads.includes('rank_paths') ? (ranks || '').match(/[0-9][^;]*/g) || [] : [];
  const wide = (known.reads.includes('siblings') && (siblings || '').match(/[0-9]+/g)) || [];
  const chain = known.reads.includes('gamma') ? 'γ ' + gamma : '';
  const branched = wide.some((many) => many !== '1') ? 'tree ' + wide.join('·') : '';
  const tree = paths.length ? paths.length + ' paths' : branched;
  const best = known.reads.includes('budget') ? 'best ' + budget : '';
  const parts = ['', 'T ' + temperature, tree, chain, best, 'seed ' + seed];
  const rest = parts.filter((part, place) => part || !place).join(' · ');
  const detail = [known.title, name || 'House', rest];
  const button = document.querySelector('#sv-settings button');
  button.dispatchEvent(new CustomEvent('sv-said', { detail }));
}"""


@dataclass(frozen=True, slots=True)
class Controls:
    """The components that a run reads, in the order of `Choices`, and those that act."""

    inputs: list[Any]
    run: gr.Button
    stop: gr.Button
    recorded: gr.Dropdown
    number: gr.Number


def build(allow_any_model: bool, opened: Any) -> Controls:
    """Lay the controls out and wire what needs no server. opened: the page's own load event."""
    first = opening()
    with gr.Row(elem_id="sv-run", elem_classes="sv-ask", equal_height=True):
        prompt = prompt_box(first.prompt, "sv-prompt", "sv-examples")
        recorded = recorded_box({name: title(name) for name in names()}, "sv-recorded")
        component("sv-settings", "step/settings", None, "sv-ask-settings", first_words(first))
        run = gr.Button("Run live", variant="primary", elem_id="sv-go", scale=0, min_width=96)
        stop = gr.Button(
            "Stop", elem_id="sv-stop", elem_classes="sv-ask-stop", scale=0, min_width=96
        )
    with gr.Column(elem_id="sv-drawer", elem_classes="sv-drawer"):
        settings = drawer(first)
        models = model_boxes() if allow_any_model else []
    number = gr.Number(0, visible=False)
    read = ("method", "gamma", "siblings", "rank_paths", "budget", "temperature", "seed")
    said = [*(settings[name] for name in read), *models[:1]]
    changes = [component.change for component in said]
    known = {entry.name: {"title": entry.title, "reads": entry.reads} for entry in drafters()}
    gr.on(changes, None, said, js=SENTENCE % json.dumps(known), api_visibility="private")
    fit(settings, opened)
    return Controls([prompt, *settings.values(), *models], run, stop, recorded, number)


def prompt_box(text: str, elem_id: str, examples_id: str) -> gr.Textbox:
    """Where a prompt is typed, and beside it examples that fill it in. Ids: on the page."""
    prompt = gr.Textbox(
        text,
        label="Prompt",
        max_length=LONGEST_PROMPT,
        lines=1,
        max_lines=2,
        elem_id=elem_id,
        elem_classes="sv-ask-prompt",
    )
    examples = gr.Dropdown(
        example_choices(),
        value=None,
        label="Examples",
        filterable=False,
        elem_id=examples_id,
        elem_classes="sv-ask-examples",
    )
    examples.input(
        None, examples, [prompt, examples], js="(text) => [text, null]", api_visibility="private"
    )
    prompt.blur(None, js=FOLD % elem_id, api_visibility="private")
    return prompt


def recorded_box(titles: Mapping[str, str], elem_id: str) -> gr.Dropdown:
    """Where what was recorded is chosen, the first of it at first. titles: by name."""
    return gr.Dropdown(
        [(title, name) for name, title in titles.items()],
        value=next(iter(titles), None),
        label="Recorded",
        filterable=False,
        elem_id=elem_id,
        elem_classes="sv-ask-recorded",
        visible=bool(titles),
    )


def first_words(first: RunRequest) -> dict[str, str]:
    """The settings as they are when the page opens, as the page will write them."""
    rest = " · " + brief(first.settings.to_json(), reads_of(first.drafter))
    return {"drafter": title_of(first.drafter), "target": "House", "rest": rest}


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
