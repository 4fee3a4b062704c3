"""α and γ of the whole Cost tab: two sliders that all its instruments read, and their sources.

α and γ are chosen by the visitor, measured in a run, or taken from a publication; a sentence always
says which. Measured runs come from the page as JSON: the last one on Step, and a lane of Compare.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from math import isfinite
from typing import Any, Final, Self

import gradio as gr

from specviz.cost.formatting import format_decimals
from specviz.cost.formula import MeasuredPoint
from specviz.cost.sources import EVIDENCE, Acceptance, acceptances
from specviz.settings.settings import require
from specviz.settings.specs import MAX_GAMMA, MAX_GUESSES
from specviz.texts import text
from specviz.ui.broken import read_unless_broken, report_if_broken
from specviz.ui.component import TabContext, component
from specviz.ui.instrument import DIRECT, Linked, verbatim

START: Final = {"alpha": 0.7, "gamma": 4}
OWN: Final = ""  # the source "your own values"
RUNS: Final = {"step": "last run on Step", "compare": "lane of Compare"}
MISSING: Final = {"step": "pair_no_run", "compare": "pair_no_lane"}  # sentences
SAME: Final = 5e-4  # difference up to which a slider has a source's value
MAX_TEXT: Final = 4000  # maximum characters of the runs


@dataclass(frozen=True, slots=True)
class Run:
    """A measured run.

    Attributes:
        name: Its drafter.
        source: "live", or "recorded".
        recording: Which recorded run it is; empty if it is none.
    """

    point: MeasuredPoint
    name: str
    where: str
    source: str
    recording: str

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """Validate a run of the page; unknown keys are ignored. Raises ValueError."""
        require(isinstance(data, dict), "A measured run must be a JSON object.")
        names = [field.name for field in fields(MeasuredPoint)]
        if data.get("tokens_per_pass") is None:  # a file of an older page
            names.remove("tokens_per_pass")
        found = {name: data.get(name) for name in names}
        for name, value in found.items():
            require(_is_number(value), f"A run's {name} must be a number.")
        costs = [found[name] for name in names if name != "alpha"]
        positive = [found[name] for name in ("verify", "gamma", "tokens", "speedup")]
        possible = 0 <= found["alpha"] <= 1 and min(costs) >= 0 and max(costs) <= 1e6
        require(possible and min(positive) > 0, "This measured run has impossible numbers.")
        about = [str(data.get(name) or "") for name in ("name", "where", "source", "run")]
        return cls(MeasuredPoint(**found), *about)

    @property
    def pair(self) -> tuple[float, float]:
        """α and γ as the sliders have them."""
        return round(self.point.alpha, 3), round(self.point.gamma, 2)

    def title(self, which: str) -> str:
        """Say which run this is, without its numbers."""
        live = "on this machine" if self.source == "live" else f"recorded {self.recording}".strip()
        place = "a lane of Compare, " if which == "compare" else ""
        on = self.where.partition(" · ")[0]
        return f"{self.name or 'a run'}{on and f' on {on}'}, {place}{live}"


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) < 1e15 and isfinite(value)


def read_runs(sent: str | None) -> dict[str, Run]:
    """Return the measured runs that the page knows: "step", "compare". Raises ValueError."""
    require(len(sent or "") <= MAX_TEXT, "These measured runs are too long.")
    try:
        data = json.loads(sent or "{}")
    except (ValueError, RecursionError) as problem:
        raise ValueError("A measured run must be a JSON object.") from problem
    require(isinstance(data, dict), "A measured run must be a JSON object.")
    return {which: Run.from_data(data[which]) for which in RUNS if data.get(which) is not None}


def published() -> dict[str, Acceptance]:
    """Return the published sources of α by name."""
    none: tuple[Acceptance, ...] = ()
    return {each.name: each for each in read_unless_broken(acceptances, none)}


def pair_of(source: str, runs: Mapping[str, Run]) -> tuple[float, float | None]:
    """Return α and γ of a source; γ is None if it states none. Raises ValueError for no run."""
    if source in MISSING:
        require(source in runs, text("cost", MISSING[source]))
        return runs[source].pair
    each = published()[source]
    return round(each.effective_alpha, 3), each.gamma


def tree_of(source: str, runs: Mapping[str, Run]) -> tuple[int, ...]:
    """Return the draft tokens by level with which a source's α was measured; empty for a chain.

    Sources state only how many they are together; every level gets the same share.
    """
    guesses = levels = 0
    if source in runs:
        guesses, levels = round(runs[source].point.guesses), round(runs[source].point.gamma)
    elif each := published().get(source):
        guesses, levels = each.guesses or 0, each.gamma or 0
    if not 0 < levels < guesses:
        return ()
    require(guesses <= MAX_GUESSES, f"This run’s trees have more than {MAX_GUESSES} draft tokens.")
    share, more = divmod(guesses, levels)
    return tuple(share + (level < more) for level in range(levels))


def offered(runs: Mapping[str, Run]) -> list[tuple[str, str]]:
    """Return the sources to choose from, each with its title."""
    found = [("your own values", OWN)]
    for which, title in RUNS.items():
        run = runs.get(which)
        about = run and f": {run.name}, α {run.point.alpha:.2f}, γ {run.point.gamma:.1f}"
        found.append((title + (about or ""), which))
    for name, each in published().items():
        gamma = f", γ {each.gamma}" if each.gamma else ""
        title = f"{each.title} on {each.on}: α {each.effective_alpha:.2f}{gamma} (published)"
        found.append((title, name))
    return found


def origin(alpha: float, gamma: float, source: str, runs: Mapping[str, Run]) -> tuple[str, str]:
    """Return the source of α, which may no longer be the chosen one, and a sentence on the pair."""
    known = source in published() or source in runs
    its_alpha, its_gamma = pair_of(source, runs) if known else (None, None)
    source = source if its_alpha is not None and abs(its_alpha - alpha) < SAME else OWN
    example = {"alpha": alpha, "gamma": gamma} == START
    own = "an example" if example and source == OWN else "your own values"
    kind, how = _named(source, runs)
    same = source == OWN or (its_gamma is not None and abs(its_gamma - gamma) < SAME)
    shown = {"alpha": format_decimals(alpha, 2, 3), "gamma": format_decimals(gamma, 0, 2)}
    sentence = text("cost", "pair_origin", **shown, kind=kind or own, own="" if same else own)
    return source, f"{sentence} {how}".strip()


def _named(source: str, runs: Mapping[str, Run]) -> tuple[str, str]:
    if source == OWN:
        return "", ""
    if source in runs:
        return f"measured: {verbatim(runs[source].title(source))}", ""
    each = published()[source]
    return f"published: {verbatim(f'{each.title} on {each.on}')}", how(each)


def how(each: Acceptance) -> str:
    """Return how α is known: computed from tokens per pass, or as published; and the source."""
    if each.derived:
        start = text(
            "cost", "alpha_derived", conditions=each.conditions, tokens=f"{each.tokens:g}",
            gamma=f"{each.gamma}", alpha=f"{each.effective_alpha:.3f}",
        )  # fmt: skip
    else:
        evidence = EVIDENCE[each.source.evidence]
        start = text("cost", "alpha_published", conditions=each.conditions, evidence=evidence)
    note = each.source.note
    said = f"{start} {note[:1].upper()}{note[1:]}." if note else start
    return f"{verbatim(said)} Source: [{verbatim(each.source.title)}]({each.source.url})."


def build(place: TabContext) -> None:
    """Build the sliders and the list of sources, the tab's shared controls."""
    runs = component("sv-runs", "shared/measured_view", {"event": "sent"}, "sv-runs")
    controls, said = _controls(place)
    report_if_broken("Published values of α cannot be shown.", acceptances)
    alpha, gamma, source = controls.values()
    place.controls.update(controls, runs=runs)
    linked = Linked(controls, {"alpha": "alpha", "gamma": "gamma", "from": "source"})
    config = {"event": "linked", "parts": ["pair"], "keys": list(linked.keys), "wide": False}
    address = component("sv-address-pair", "shared/address_view", config)

    def tell(
        alpha: float, gamma: float, source: str, sent: str | None, link: bool = False
    ) -> dict[Any, Any]:
        try:
            found = read_runs(sent)
            kept, sentence = origin(_given("α", alpha), _given("γ", gamma), source, found)
        except ValueError as problem:
            return {said: verbatim(str(problem))}
        written = linked.written({"alpha": alpha, "gamma": gamma, "source": kept})
        new = kept != source or link
        listed = gr.Dropdown(offered(found), value=kept) if new else gr.Dropdown(offered(found))
        return {controls["source"]: listed, said: sentence, address: written}

    def take(
        alpha: float, gamma: float, source: str, sent: str | None, drafter: Any = None
    ) -> dict[Any, Any]:
        try:
            its_alpha, its_gamma = pair_of(source, read_runs(sent)) if source else (alpha, gamma)
        except ValueError as problem:
            return {said: verbatim(str(problem)), controls["source"]: OWN}
        pair = its_alpha, gamma if its_gamma is None else its_gamma
        found: dict[Any, Any] = dict(zip((controls["alpha"], controls["gamma"]), pair, strict=True))
        each = published().get(source)
        if drafter and each and each.drafter:
            found[drafter] = each.drafter
        return found | tell(*pair, source, sent)

    def opened(event: gr.EventData, *values: Any) -> dict[Any, Any]:
        found = linked.read(event.values)
        chosen = {**dict(zip(controls, values, strict=False)), **found}
        pairs = {controls[name]: value for name, value in found.items()}
        return pairs | tell(**chosen, sent=values[-1], link=True)

    inputs, outputs = [alpha, gamma, source, runs], [source, said, address]
    changed = gr.on([alpha.change, gamma.change], tell, inputs, outputs, **DIRECT)
    heard = runs.change(tell, inputs, outputs, **DIRECT)
    place.changes.update(alpha=changed, gamma=changed, runs=heard)

    def connect(*drafter: gr.Dropdown) -> None:
        # A source also chooses the drafter, which the roofline builds.
        chosen = partial(take, drafter=next(iter(drafter), None))
        targets = [alpha, gamma, *drafter, *outputs]
        place.changes["source"] = source.input(chosen, inputs, targets, **DIRECT)

    place.controls["connect"] = connect
    address.linked(opened, inputs, [alpha, gamma, *outputs], **DIRECT)


def _controls(place: TabContext) -> tuple[dict[str, Any], gr.Markdown]:
    # With the sentence on where α and γ come from.
    with gr.Column(elem_classes="sv-pair-question") as place.controls["question"]:
        gr.Markdown(text("cost", "pair_question"))
    with gr.Row(elem_classes="sv-pair"):
        alpha = gr.Slider(0, 1, START["alpha"], step=0.01, label="α, acceptance", buttons=[])
        gamma = gr.Slider(0, MAX_GAMMA, START["gamma"], step=1, label="γ, draft length", buttons=[])
    with gr.Row(elem_classes="sv-pair-from"):
        source = gr.Dropdown(offered({}), value=OWN, label="Take α and γ from", min_width=300)
        first = origin(START["alpha"], START["gamma"], OWN, {})[1]
        with gr.Column(min_width=300) as place.controls["origin"]:
            said = gr.Markdown(first, elem_classes="sv-pair-said")
    return {"alpha": alpha, "gamma": gamma, "source": source}, said


def _given(name: str, value: float | None) -> float:
    require(value is not None, f"{name} must be a number.")
    return float(value or 0)
