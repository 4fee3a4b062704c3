"""The roofline: pass time by tokens, and from which batch size speculation is slower.

Each change of a control sends a question to the server. Questions bypass the queue, since no model
is run. Only the answer to the newest question is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from specviz.cost import sources as presets
from specviz.cost.figures.roofline import BATCH_STOPS
from specviz.cost.roofline import BYTES_PER_NUMBER
from specviz.cost.sources import HEAD, NGRAM, Evidence, drafters
from specviz.texts import text
from specviz.ui.component import TabContext, component
from specviz.ui.cost.pair import START as TERMS
from specviz.ui.cost.pair import Pair
from specviz.ui.cost.roofline.answer import (
    Answer,
    answer,
    brief,
    figures,
    quantity,
    room_in,
    short_figures,
)
from specviz.ui.cost.roofline.question import LIMITS, LONGEST, Ask, Choice

NAME: Final = "sv-roofline"
USUAL: Final[Choice] = {
    "hardware": "h100-sxm",
    "cards": 1,
    "dtype": "bf16",
    "model": "llama-3.1-8b",
    "context": 512,
    "overhead": 0,
    "drafter": HEAD,
    "gamma": TERMS["gamma"],
    "siblings": "",
    "alpha": TERMS["alpha"],
    "batch": 64,
    **{name: found.default for name, found in presets.efficiencies().items()},
}


class Example(TypedDict):
    """An example question, with the values that it sets."""

    title: str
    set: Choice


SourceRow = tuple[str, str, Evidence, str]  # title, link, evidence and note


class Sourced(TypedDict):
    """An item that has sources: a machine, a model or an efficiency.

    Attributes:
        sheet: See `Machine.sheet`.
    """

    title: str
    sources: list[SourceRow]
    sheet: str
    note: str


class Preset(Sourced):
    """A machine.

    Attributes:
        facts: Its figures by dtype.
    """

    facts: dict[str, str]


class ModelPreset(Preset):
    """A model.

    Attributes:
        drafters: Names of its drafters with titles.
    """

    drafters: list[tuple[str, str]]


class EfficiencyPreset(Sourced):
    """The share of a peak that real programs reach.

    Attributes:
        reported: The range in the sources, as a sentence.
    """

    reported: str


class Config(TypedDict):
    """Initial data of the section.

    Attributes:
        brief: The answer for the default values, in one sentence.
        drafters: For each kind of drafter in the sources, its name in this section.
        efficiencies: The efficiencies of bandwidth and of arithmetic.
        stops: The batch sizes that the slider offers.
        evidence: The kinds of evidence by letter, with their meaning.
    """

    usual: Choice
    brief: str
    terms: Pair
    drafters: dict[str, str]
    questions: Sequence[Example]
    machines: dict[str, Preset]
    models: dict[str, ModelPreset]
    limits: dict[str, tuple[int, int]]
    stops: Sequence[int]
    efficiencies: dict[str, EfficiencyPreset]
    evidence: dict[Evidence, str]


SERVED: Final = {name: USUAL[name] for name in ("hardware", "cards", "dtype", "model", "drafter")}


# α and the shape of the draft do not change; only the machine and the batch size do.
QUESTIONS: Final[Sequence[Example]] = (
    {
        "title": "House on a laptop, batch size 1",
        "set": {
            "hardware": "laptop-cpu",
            "cards": 1,
            "dtype": "fp32",
            "model": "house",
            "drafter": "house-draft",
            "batch": 1,
        },
    },
    {"title": "8B on an H100, batch size 1", "set": {**SERVED, "batch": 1}},
    {"title": "8B on an H100, batch size 64", "set": {**SERVED, "batch": 64}},
    {"title": "8B on an H100, batch size 512", "set": {**SERVED, "batch": 512}},
)


def build(place: TabContext) -> None:
    """Build the section and connect its events."""
    component(NAME, "cost/roofline/roofline", config())
    place.questions.add("roofline", section_facts, LONGEST)


def section_facts(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises ValueError if it is invalid."""
    return answer(Ask.from_data(data))


def config() -> Config:
    """Return the page's initial data: presets with their sources, limits, questions."""
    return {
        "usual": USUAL,
        "brief": brief(Ask.from_data(USUAL)),
        "terms": TERMS,
        "drafters": {"head": HEAD, "n-gram": NGRAM},
        "questions": QUESTIONS,
        "machines": {name: machine_facts(one) for name, one in presets.machines().items()},
        "models": {name: model_facts(one) for name, one in presets.models().items()},
        "limits": {name: (least, most) for name, (_, least, most) in LIMITS.items()},
        "stops": BATCH_STOPS,
        "efficiencies": {
            name: {
                "title": f"{one.title[:1].upper()}{one.title[1:]}",
                "reported": text("cost", "efficiency_reported", low=one.low, high=one.high),
                "note": one.note,
                "sheet": "",
                "sources": sources(one.sources),
            }
            for name, one in presets.efficiencies().items()
        },
        "evidence": presets.EVIDENCE,
    }


def machine_facts(machine: presets.Machine) -> Preset:
    """Return a machine for the page, with its figures by dtype."""
    rest = f"{quantity(machine.bandwidth, 'B/s', short_figures)} · {room_in(machine.memory)}"
    facts = {
        dtype: f"{quantity(peak, 'FLOP/s', short_figures)} in {dtype} · {rest} · "
        f"ridge at {machine.hardware.ridge(dtype):.0f} FLOP/byte"
        for dtype, peak in machine.peak.items()
    }
    return {
        "title": machine.title, "facts": facts, "sources": sources(machine.sources),
        "sheet": machine.sheet, "note": machine.note,
    }  # fmt: skip


def model_facts(model: presets.Model) -> ModelPreset:
    """Return a model for the page, with its bytes by dtype and its drafters."""
    shape = model.shape
    facts = {
        dtype: f"{people(shape.parameters)} parameters · a pass reads "
        f"{quantity(shape.weight_bytes(dtype), 'B')} of weights and "
        f"{quantity(shape.cache_bytes(dtype), 'B')} per cached token"
        for dtype in BYTES_PER_NUMBER
    }
    return {
        "title": model.title, "facts": facts,
        "drafters": [(name, title) for name, (title, _) in drafters(model.name).items()],
        "sources": sources(model.sources), "sheet": "", "note": "",
    }  # fmt: skip


def people(number: int) -> str:
    """Format a number of parameters in words: 8.03 billion."""
    size, word = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{figures(number / size)} {word}"


def sources(found: Sequence[presets.Source]) -> list[SourceRow]:
    """Return sources as rows."""
    return [(one.title, one.url, one.evidence, one.note) for one in found]
