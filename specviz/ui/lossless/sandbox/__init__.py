"""The sandbox: p and q over a few words, a rule that judges guesses, and its exact output.

Bars are moved in the browser; everything that depends on a rule is computed in Python (`answer`).
Each change is an event of the component, `asked`; the answer is the component's value, after which
it has an event `answered`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final, TypedDict, cast

from specviz import texts
from specviz.frames.scene import Word, word
from specviz.trace.rule_specs import RULE_SPECS
from specviz.ui.component import TabContext, browser_object, component
from specviz.ui.instrument import DIRECT
from specviz.ui.lossless.sandbox.experiment import DRAWN, MOST_CANDIDATES, DrawnName

NAME: Final = "sv-sand"
# Replaces the last of an instrument's values by the sandbox's experiment, as JSON.
EXPERIMENT: Final = """(...values) => {
  const sandbox = window.specviz['sv-sand'];
  const found = sandbox ? { ...sandbox.request(), words: sandbox.state.words } : null;
  return [...values.slice(0, -1), JSON.stringify(found)];
}"""
WORDS: Final = (" cat", " dog", " bird", " man", " tree")


class Preset(TypedDict):
    """Two distributions over a few words.

    Attributes:
        p: The target's distribution.
        q: The drafter's distribution.
        rule: Name of the rule that is selected for sampled guesses; "" changes nothing.
    """

    name: str
    title: str
    words: list[Word]
    p: tuple[float, ...]
    q: tuple[float, ...]
    rule: str


class Parameter(TypedDict):
    """A parameter of a rule; see `RuleParameter`."""

    name: str
    default: float
    least: float
    most: float
    meaning: str
    whole: bool


class RuleRow(TypedDict):
    """A rule."""

    name: str
    title: str
    group: str
    about: str
    parameters: list[Parameter]


class DrawnChoice(TypedDict):
    """A way of choosing a guess, which visitors can select."""

    value: DrawnName
    title: str


class Config(TypedDict):
    """Initial data of the section. most: maximum number of guesses."""

    events: tuple[str, ...]
    presets: tuple[Preset, ...]
    rules: list[RuleRow]
    drawn: list[DrawnChoice]
    most: int


FITS, EXACT, LOSSY = "Automatic", "Lossless if the rule fits", "Lossy on purpose"
# Titles of the rules. What a lossless rule does is in the template; a lossy rule has its own
# sentence.
TITLES: Final[Mapping[str, str]] = {
    "auto": "The rule that fits",
    "speculative": "Speculative sampling: min(1, p/q)",
    "without-replacement": "Speculative sampling without repeats",
    "point-mass": "Point mass: p(x), then remove x",
    "accept-reject": "Accept-reject (von Neumann, 1951)",
    "k-seq": "k-SEQ (SpecTr)",
    "lenience": "Lenience",
    "ensemble": "Average of both models",
    "typical": "Typical acceptance (Medusa)",
    "relaxed": "Relaxed acceptance (TensorRT-LLM)",
    "thresholds": "Thresholds (SGLang)",
    "unverified": "No verification at all",
}


def preset(
    name: str, title: str, p: tuple[float, ...], q: tuple[float, ...], rule: str = ""
) -> Preset:
    """Return a preset: two distributions over WORDS, which show one effect."""
    words = [word(text.encode()) for text in WORDS]
    return {"name": name, "title": title, "words": words, "p": p, "q": q, "rule": rule}


SOME: Final = (0.1, 0.45, 0.15, 0.25, 0.05)
DOG: Final = (0.25, 0.55, 0.1, 0.07, 0.03)
SAME: Final = (0.4, 0.3, 0.15, 0.1, 0.05)
SURE: Final = (0.9, 0.04, 0.03, 0.02, 0.01)
APART: Final = ((0.6, 0.4, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5, 0.3, 0.2))
PRESETS: Final = (
    # The standard example, whose numbers are all known.
    preset("example", "p and q agree on some tokens", (0.4, 0.25, 0.2, 0.1, 0.05), SOME),
    preset("near", "A good drafter", (0.5, 0.25, 0.15, 0.07, 0.03), (0.45, 0.3, 0.13, 0.09, 0.03)),
    preset("sure", "A confident drafter that is wrong", (0.1, 0.4, 0.3, 0.15, 0.05), SURE),
    preset("flat", "A drafter that guesses at random", (0.6, 0.2, 0.12, 0.05, 0.03), (0.2,) * 5),
    preset("same", "The target drafts for itself", SAME, SAME),
    preset("apart", "p and q have no token in common", *APART),
    preset("top", "Temperature 0: all of p on one token", (0.0, 1.0, 0.0, 0.0, 0.0), DOG),
    preset(
        "darts",
        "Rejection sampling as a dartboard",
        (0.4, 0.25, 0.2, 0.1, 0.05),
        SOME,
        "accept-reject",
    ),
)


def rules() -> list[RuleRow]:
    """Return the rules for the page."""
    return [_rule_row(name, title) for name, title in TITLES.items()]


def _rule_row(name: str, title: str) -> RuleRow:
    spec = RULE_SPECS.get(name)
    own = spec.tradeoff if spec is not None and not spec.lossless else ""
    return {
        "name": name,
        "title": title,
        "group": FITS if spec is None else EXACT if spec.lossless else LOSSY,
        "about": own or texts.text("lossless", f"rule_{name.replace('-', '_')}"),
        "parameters": []
        if spec is None
        else [cast("Parameter", asdict(each)) for each in spec.parameters],
    }


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    config: Config = {
        "events": ("asked", "answered"),
        "presets": PRESETS,
        "rules": rules(),
        "drawn": [{"value": value, "title": title} for value, title, _ in DRAWN],
        "most": MOST_CANDIDATES,
    }
    sandbox = component(NAME, "lossless/sandbox/sandbox", config)
    # The experiment is read when it is sent: an event's own data would be that of the first one.
    read = f"() => [{browser_object(NAME)}.ask()]"
    sandbox.asked(respond, sandbox, sandbox, js=read, **DIRECT)
    place.controls["sandbox"] = sandbox


def respond(experiment: object) -> str:
    """Return a Reply to an experiment, as JSON."""
    from specviz.ui.lossless.sandbox.answer import reply

    return json.dumps(reply(experiment if isinstance(experiment, dict) else {}))
