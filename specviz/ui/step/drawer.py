"""The drawer with all settings of a run in groups; those that the drafter ignores are hidden."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from typing import Any, Final

import gradio as gr

from specviz.adapters.gradio import LIST_ENTRY
from specviz.catalog.entry import (
    Entry,
    entries,
    group_heading,
    size_text,
    weights_path,
    with_defaults,
)
from specviz.figures.diagram import diagram
from specviz.settings.settings import Settings
from specviz.settings.specs import READ_BY_ALL, Group, SettingSpec, page_fields
from specviz.settings.value_types import Choice, RuleName, Text
from specviz.ui.head import headings
from specviz.ui.request import HOUSE, RunRequest

# Shows the settings, the card and the drafters that fit the chosen drafter and target.
FITTED: Final = """(method, target) => {
  const reads = %s, { dataset } = document.querySelector('#sv-drawer');
  dataset.reads = (reads[method] || []).join(' ');
  [dataset.target, dataset.method] = [target || '', method];
  for (const card of document.querySelectorAll('#sv-how [data-drafter]')) {
    card.hidden = card.dataset.drafter !== method;
  }
}"""


# Fills in the default settings of the drafter that a visitor chooses; if it is the same as before,
# nothing changes.
SUITED: Final = """(method, ...filled) =>
  method === document.querySelector('#sv-drawer').dataset.method ? filled : (%s)[method]"""


# Replaces a drafter made for another target by a drafter that fits any target.
SUITABLE: Final = """(target, method, ...filled) => {
  const made = %s, suits = %s, own = %s, prefer = %s;
  const free = !(made[method] ?? null) && !(prefer && own[target]);
  const fits = !%s.includes(target) || free || made[method] === target;
  const other = own[target] || '%s';
  return fits || other === method ? [method, ...filled] : [other, ...suits[other]];
}"""


# Hides a setting that the chosen drafter ignores, but so that Gradio can still measure it.
HIDDEN: Final = (
    "{ visibility: hidden; position: absolute !important; width: 200px; height: 0 !important; }"
)


# Shown instead of the chat settings if the target is House (`.sv-drawer[data-target]`).
BASE: Final = "House has no chat template: it only continues a text."


LISTED: Final = "sv-drafters"  # CSS class of each list of drafters
TYPED: Final = "You can also type a folder, a GGUF file or a Hub id."
CHAT_TARGET: Final = "smollm2"
# From a row of its table, "Use on Step" leads back.
OPEN_MODELS: Final = "() => window.specviz.openTab('Models').then(() => window.scrollTo(0, 0))"
FITS_ANY: Final = "ngram"  # the drafter for a target without trained drafters


def drafters() -> list[Entry]:
    """Return the catalogue's drafters, in its order."""
    return [entry for entry in entries() if entry.kind == "drafter"]


def targets() -> list[Entry]:
    """Return the targets that can be chosen: House, others on this machine, and servers."""
    known = [entry for entry in entries() if entry.kind == "target"]
    return [e for e in known if e.name == HOUSE or e.address or weights_path(e) is not None]


def drawer(first: RunRequest, any_model: bool) -> dict[str, Any]:
    """Build every field of a run, by name, in the order of `choices.names`."""
    sampled = list(page_fields("sampling"))
    with gr.Row(elem_id="sv-choice", elem_classes="sv-group"):
        target = target_box(first.target, any_model, "sv-target")
        method = method_box(first.drafter)
        warm = box(sampled[0], first.settings.sampling.temperature)
        every = gr.Button("All models and what they are", size="sm", elem_classes="sv-all-models")
        every.click(None, js=OPEN_MODELS, api_visibility="private")
    how()
    with (
        gr.Accordion("More settings", open=False, elem_id="sv-more"),
        gr.Column(elem_id="sv-more-in"),
    ):
        with group("Drafting", "sv-drafting"):
            made = {"target": target, "method": method, **boxes("drafting", first.settings)}
        with group("Sampling", "sv-sampling"):
            made[sampled[0].name] = warm
            made |= {
                row.name: box(row, getattr(first.settings.sampling, row.name))
                for row in sampled[1:]
            }
        with group("Run", "sv-limits"):
            made |= boxes("run", first.settings)
        made |= chat(first.settings, "sv-chat")
    return made


def chat(usual: Settings, elem_id: str) -> dict[str, Any]:
    """Build the chat settings by name; for House, a sentence is shown instead."""
    with group("Chat", elem_id, "sv-turns"):
        gr.HTML(f"<p>{BASE}</p>", elem_classes="sv-base")
        return boxes("prompt", usual)


def method_box(
    value: str | None,
    label: str = "Drafter",
    elem_id: str | None = "sv-method",
    any_model: bool = False,
) -> gr.Dropdown:
    """Build the choice of a drafter; with `any_model`, a folder or a Hub id may be typed."""
    return gr.Dropdown(
        [(entry.title, entry.name) for entry in drafters()],
        value=value,
        label=label,
        filterable=any_model,
        allow_custom_value=any_model,
        elem_id=elem_id,
        elem_classes=["sv-pick", LISTED],
    )


def target_box(value: str, any_model: bool, elem_id: str) -> gr.Dropdown:
    """Build the choice of a target; with `any_model`, a folder or a Hub id may be typed."""
    return gr.Dropdown(
        # SmolLM2 first, as it writes more than children's stories.
        [(e.title, e.name) for e in sorted(targets(), key=lambda e: e.name != CHAT_TARGET)],
        value=value,
        label="Target",
        info=" ".join([*about_targets(), *([TYPED] if any_model else [])]),
        filterable=any_model,
        allow_custom_value=any_model,
        elem_id=elem_id,
        elem_classes=["sv-pick", "sv-target"],
    )


def about_targets() -> Iterator[str]:
    """Yield a note on the size of each target that can be chosen, other than House."""
    for entry in targets():
        if entry.name != HOUSE:
            yield f"If you choose {entry.title}: {size_text(entry)}."


def boxes(group: Group, chosen: Settings, form: str = "sv") -> dict[str, Any]:
    """Build the fields of a group by name, with their values; ids start with `form`."""
    known = {**asdict(chosen), **asdict(chosen.sampling)}
    return {row.name: box(row, known[row.name], form) for row in page_fields(group)}


def box(row: SettingSpec, value: Any, form: str = "sv") -> Any:
    """Build the field of a setting. Drafting settings have ids, so that they can be hidden."""
    more: dict[str, Any] = {"label": row.label, "info": row.sentence}
    if row.group == "drafting":
        more["elem_id"] = f"{form}-{field_key(row)}"
    if isinstance(row.kind, RuleName):
        known = list(zip(row.kind.titles, row.kind.words, strict=True))
        return gr.Dropdown(
            known, value=value, allow_custom_value=True, elem_classes=["sv-pick"], **more
        )
    if isinstance(row.kind, Choice):
        return gr.Radio(
            list(zip(row.kind.titles, row.kind.words, strict=True)), value=value, **more
        )
    if row.slider is not None:
        least, most, step = row.slider
        return gr.Slider(least, most, value, step=step, **more)
    if isinstance(row.kind, Text):
        more |= {"placeholder": row.placeholder, "lines": 1, "max_lines": 4}
        return gr.Textbox(value, max_length=row.kind.longest, **more)
    if isinstance(value, list):
        more |= {"placeholder": row.placeholder, "lines": 1, "max_lines": 1, "max_length": 1000}
        return gr.Textbox(row.form_value(value), **more)
    return gr.Number(value, precision=0, **more)


def field_key(row: SettingSpec) -> str:
    """Return the end of the id of a setting's field on the page."""
    return row.name.replace("_", "-")


def marked(mark: str) -> str:
    """Return the selectors of an element with an attribute, and of one that contains it."""
    return f"{mark}, :has({mark})"


def css() -> str:
    """Return the style that hides each setting that the chosen drafter does not read."""
    ignored = [
        f".sv-reads:not({marked(f'[data-reads~={row.name}]')}) [id$=-{field_key(row)}]"
        for row in page_fields("drafting")
        if row.name not in READ_BY_ALL
    ]
    return ",\n".join(ignored) + f" {HIDDEN}\n"


def fitting() -> str:
    """Return the style that hides drafters made for another target than the chosen one."""
    marks = {target.name: f'[data-target="{target.name}"]' for target in targets()}
    unfit = [
        f".sv-drawer:is({marked(mark)}) .{LISTED} {LIST_ENTRY.format(at)}"
        for target, mark in marks.items()
        for at, entry in enumerate(drafters())
        if entry.made_for not in (None, target)
    ]
    return ",\n".join(unfit) + " { display: none; }\n" if unfit else ""


def heads() -> str:
    """Return the style with the group headings in lists of drafters."""
    return headings([f".{LISTED}"], [group_heading(entry.name) for entry in drafters()])


def how() -> gr.HTML:
    """Build each drafter's card with its diagram; one of them is shown."""
    cards = "".join(map(card, drafters()))
    return gr.HTML(f"<div>{cards}</div>", elem_id="sv-how", padding=False)


def card(entry: Entry) -> str:
    """Return a drafter's card: how it drafts, what it depends on, what it costs, its papers."""
    rows = [("How it drafts", entry.how), ("What it knows", entry.knows), ("Costs", entry.costs)]
    said = [(name, escape(text)) for name, text in rows]
    if entry.papers:
        name = "Paper" if len(entry.papers) == 1 else "Papers"
        said.append((name, "<br>".join(map(cited, entry.papers))))
    told = "".join(f"<div><dt>{name}</dt><dd>{markup}</dd></div>" for name, markup in said)
    head = f'<section class="sv-card" data-drafter="{escape(entry.name)}" hidden>'
    return f"{head}{diagram(entry.diagram)}<dl>{told}</dl></section>"


def cited(paper: Mapping[str, Any]) -> str:
    """Return a paper on a card: authors, year, title and a link."""
    arxiv = paper.get("arxiv")
    url = f"https://arxiv.org/abs/{arxiv}" if arxiv else paper["url"]
    place = f"arXiv:{arxiv}" if arxiv else url.removeprefix("https://")
    link = f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(place)}</a>'
    return (
        f"{escape(paper['authors'])} {paper['year']}, <cite>{escape(paper['title'])}</cite>, {link}"
    )


def fit(made: dict[str, Any], demo_load: Any) -> None:
    """Connect the drawer to the chosen drafter.

    Settings change only if a visitor chooses a drafter; a recorded run has its own settings.
    """
    method, target = made["method"], made["target"]
    js = FITTED % json.dumps({entry.name: entry.reads for entry in drafters()})
    changes = [method.change, target.change, demo_load]
    gr.on(changes, None, [method, target], js=js, api_visibility="private")
    outputs = [made[row.name] for row in page_fields("drafting")]
    defaults = SUITED % suits_of()
    method.input(None, [method, *outputs], outputs, js=defaults, api_visibility="private")
    suit(made, target.input)


def suit(made: dict[str, Any], listen: Any, prefer_own: bool = False) -> None:
    """Replace a drafter made for another target after an event that chose a target.

    Args:
        made: The drawer's components by name.
        listen: The event's listener, such as `target.input`.
        prefer_own: Whether a drafter that fits any target is also replaced, if there is one that
            was made for this target.
    """
    method, target = made["method"], made["target"]
    both = [method, *(made[row.name] for row in page_fields("drafting"))]
    made_for = json.dumps({entry.name: entry.made_for for entry in drafters()})
    known = json.dumps([entry.name for entry in targets()])
    own, prefer = json.dumps(own_drafters()), json.dumps(prefer_own)
    js = SUITABLE % (made_for, suits_of(), own, prefer, known, FITS_ANY)
    listen(None, [target, *both], both, js=js, api_visibility="private")


def own_drafters() -> dict[str, str]:
    """Return the drafter to offer first for each target: its EAGLE-3 head, or its first one."""
    found: dict[str, str] = {}
    for entry in drafters():
        if entry.made_for and (entry.family == "eagle3" or entry.made_for not in found):
            found[entry.made_for] = entry.name
    return found


def suits_of() -> str:
    """Return each drafter's default settings, as JSON for the page's scripts."""
    return json.dumps({entry.name: suited(entry.name) for entry in drafters()})


def suited(drafter: str) -> list[Any]:
    """Return a drafter's default settings, in the order of the drafting fields."""
    return filled("drafting", with_defaults(drafter, {}))


def filled(group: Group, settings: Mapping[str, Any]) -> list[Any]:
    """Return settings as values of a group's fields. settings: as written by `Settings.to_json`."""
    known = {**settings, **settings["sampling"]}
    return [row.form_value(known[row.name]) for row in page_fields(group)]


def group(name: str, elem_id: str, *classes: str) -> gr.Column:
    """Build a titled group of settings."""
    column = gr.Column(elem_id=elem_id, elem_classes=["sv-group", *classes])
    with column:
        gr.HTML(f"<h2>{name}</h2>", elem_classes="sv-group-name")
    return column


def model_boxes() -> dict[str, Any]:
    """Build the field for a draft model: a folder of this machine or a Hub id."""
    with group("Models", "sv-own-model"):
        drafter = gr.Textbox(label="Drafter: a folder or a Hub id", max_length=300)
    return {"drafter": drafter}
