"""The top row and its drawer: prompt, examples, settings, Run live, Stop."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypedDict

import gradio as gr

from specviz.adapters.gradio import scroll_to_start
from specviz.catalog.entry import Entry, settings_read_by, size_text, title_of
from specviz.settings import specs
from specviz.settings.settings import summarize
from specviz.settings.specs import SettingSpec
from specviz.shipped import FOLDER, domain_label, prompts, recipes
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.component import component, limit_note
from specviz.ui.head import headings
from specviz.ui.live import PRIVATE
from specviz.ui.request import LONGEST_PROMPT, RunRequest
from specviz.ui.step.drawer import drafters, drawer, fit, model_boxes, targets
from specviz.ui.step.recorded import group, names, opening, title

JOINED: Final = " drafts for "
UNLISTED: Final = "There are no examples to choose from."


# The settings in one sentence, built from the same specs that `settings.settings` uses. What a
# visitor types is shown on the page as text only.
SENTENCE: Final = """(method, ...typed) => {
  const rows = %s, target = typed[%s], other = { title: method, reads: ['gamma', 'rule'] };
  const known = (%s)[method] || other;
  const path = (target || '').trim().replace(/[\\\\/]+$/, '').split(/[\\\\/]/).pop();
  const name = (%s)[target] || path;
  const brief = {
    wholes: (text) => { const many = (text || '').match(/[0-9]+/g) || [];
      return many.some((one) => Number(one) > 1) ? many.join('·') : ''; },
    paths: (text) => (text || '').match(/[0-9][^;]*/g)?.length || '',
    text: (text) => text ? 'system text' : '',
    named: (text) => text === 'auto' ? '' : text,
  };
  const said = {}, gone = [];
  rows.forEach((row, place) => {
    if (row.drafting && !known.reads.includes(row.name)) return;
    const words = (brief[row.kind] || String)(typed[place]);
    if (words === '') return;
    said[row.name] = row.brief.replace('{}', words);
    gone.push(row.instead);
  });
  const parts = Object.keys(said).filter((one) => !gone.includes(one)).map((one) => said[one]);
  const about = (%s)[target] || '';
  const [drafter, rest] = [known.title, ['', ...parts].join(' · ')];
  return JSON.stringify({ drafter, joined: '%s', target: name || 'House', rest, about });
}"""


# While a run is active, its button is hidden.
PRESS: Final = """() => {
  const button = document.getElementById('%s');
  if (!button.checkVisibility()) return;
  document.activeElement.blur();
  button.click();
}"""


def sentence_rows() -> list[SettingSpec]:
    """Return the settings of the form that appear in the sentence, in its order."""
    return [row for row in specs.SETTING_SPECS if row.brief and row.label]


def sentence() -> str:
    """Return the script that writes the sentence: drafter, `sentence_rows`, target."""
    rows = [
        {
            "name": row.name,
            "kind": row.kind.name,
            "brief": row.brief,
            "instead": row.replaces,
            "drafting": row.group == "drafting",
        }
        for row in sentence_rows()
    ]
    known = {
        entry.name: {"title": entry.title, "reads": [*entry.reads, *specs.READ_BY_ALL]}
        for entry in drafters()
    }
    titles = {entry.name: entry.title for entry in targets()}
    about = {entry.name: target_text(entry) for entry in targets()}
    data = (rows, len(rows), known, titles, about)
    return SENTENCE % (*map(json.dumps, data), JOINED)


def target_text(entry: Entry) -> str:
    """Return what a target is, in one line for newcomers: its size, and what it writes."""
    if not entry.parameters:
        return f"{entry.title}: {size_text(entry)}."
    return f"{entry.title}: {entry.parameters / 1e6:.1f} million weights, {entry.writes}."


class SettingsWords(TypedDict):
    """The parts of the sentence on the button of the settings, and a line on the target."""

    drafter: str
    joined: str
    target: str
    rest: str
    about: str


@dataclass(frozen=True, slots=True)
class Controls:
    """The components that a run reads, by their names in `Choices`, and its buttons."""

    inputs: dict[str, Any]
    run: gr.Button
    stop: gr.Button
    recorded: gr.Dropdown


def build(allow_any_model: bool, limit: float, opened: Any) -> Controls:
    """Build the controls and connect the events that need no server. limit: seconds of a run."""
    first = opening()
    assert isinstance(first.prompt, str)  # no shipped run is a conversation
    with gr.Row(elem_id="sv-run", elem_classes="sv-ask", equal_height=True):
        prompt = prompt_box(first.prompt, "sv-prompt", "sv-examples", "sv-go")
        recorded = recorded_box({name: title(name) for name in names()}, "sv-recorded")
        words = settings_button("sv-settings", "sv-drawer", first_words(first))
        run = gr.Button("Run live", variant="primary", elem_id="sv-go", scale=0, min_width=96)
        stop = gr.Button(
            "Stop", elem_id="sv-stop", elem_classes="sv-ask-stop", scale=0, min_width=96
        )
    report_if_broken(UNLISTED, prompts)
    report_if_broken("The recorded runs have no titles.", partial(recipes, FOLDER))
    with gr.Column(elem_id="sv-drawer", elem_classes=["sv-drawer", "sv-reads"]):
        settings = drawer(first, allow_any_model)
        models = model_boxes() if allow_any_model else {}
        limit_note(limit)
    rest = [settings[row.name] for row in sentence_rows()]
    said = [settings["method"], *rest, settings["target"]]
    changes = [component.change for component in said]
    gr.on(changes, None, said, words, js=sentence(), api_visibility="private")
    prompt.change(None, js="() => { window.specviz['sv-settings'].show() }", **PRIVATE)
    fit(settings, opened)
    return Controls({"prompt": prompt, **settings, **models}, run, stop, recorded)


def prompt_box(text: str, elem_id: str, examples_id: str, run_id: str) -> gr.Textbox:
    """Build the prompt, in which Enter runs, and the list of examples that fill it in."""
    prompt = gr.Textbox(
        text,
        label="Prompt",
        max_length=LONGEST_PROMPT,
        lines=1,
        max_lines=3,
        elem_id=elem_id,
        elem_classes="sv-ask-prompt",
    )
    choices = example_choices()
    listed = gr.Dropdown(
        choices,
        value=None,
        label="Examples",
        filterable=False,
        elem_id=examples_id,
        elem_classes="sv-ask-examples",
        visible=bool(choices),
    )
    # If the list is closed without a choice, nothing changes.
    listed.input(
        None,
        [listed, prompt],
        [prompt, listed],
        js="(chosen, typed) => [chosen ?? typed, null]",
        api_visibility="private",
    )
    prompt.submit(None, js=PRESS % run_id, **PRIVATE)
    # After typing, the single line shows the beginning of the prompt again.
    prompt.blur(None, js=scroll_to_start(elem_id), api_visibility="private")
    return prompt


def recorded_box(titles: Mapping[str, str], elem_id: str) -> gr.Dropdown:
    """Build the choice of a recorded run, given titles by name."""
    return gr.Dropdown(
        [(title, name) for name, title in titles.items()],
        value=next(iter(titles), None),
        label="Recorded",
        filterable=False,
        elem_id=elem_id,
        elem_classes="sv-ask-recorded",
        visible=bool(titles),
    )


def settings_button(name: str, drawer_id: str, words: SettingsWords) -> gr.HTML:
    """Build the button that opens a drawer; its value is new words as JSON."""
    config = {"drawer": drawer_id}
    texts = {"drawer": drawer_id, **{key: str(text) for key, text in words.items()}}
    return component(name, "step/settings", config, "sv-ask-settings", texts)


def first_words(first: RunRequest) -> SettingsWords:
    """Return the sentence that describes the settings when the page opens."""
    rest = " · " + summarize(first.settings.to_json(), settings_read_by(first.drafter))
    about = next((target_text(entry) for entry in targets() if entry.name == first.target), "")
    drafter, target = title_of(first.drafter), title_of(first.target)
    return {"drafter": drafter, "joined": JOINED, "target": target, "rest": rest, "about": about}


def css() -> str:
    """Return the style with the headings of groups of examples and recorded runs."""
    domains = [domain for domain, texts in examples().items() for _ in texts]
    heads = [domain_label(domain)[:1].upper() + domain_label(domain)[1:] for domain in domains]
    runs = [group(name) for name in names()]
    return headings([".sv-ask-examples"], heads) + "\n" + headings(["#sv-recorded"], runs)


def example_choices() -> list[tuple[str, str]]:
    """Return the example prompts as (label, prompt)."""
    return [(short(text), text) for texts in examples().values() for text in texts]


def examples() -> dict[str, list[str]]:
    """Return the prompts by domain; empty if their file is broken."""
    return read_unless_broken(prompts, {})


def short(text: str, most: int = 56) -> str:
    """Return the beginning of a prompt, on one line."""
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"
