"""The roofline: pass time by tokens, and the batch size from which speculation is slower.

Each change of a control sends a question to the server. It bypasses the queue, since no model runs
here. The newest question wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.cost import sources as presets
from specviz.cost.figures.roofline import BATCH_STOPS
from specviz.cost.roofline import BYTES_PER_NUMBER
from specviz.cost.sources import HEAD, NGRAM, drafters
from specviz.texts import text
from specviz.ui.component import TabContext, component
from specviz.ui.cost.roofline.answer import answer, brief, figures, quantity, room_in, short_figures
from specviz.ui.cost.roofline.question import LIMITS, LONGEST, Ask
from specviz.ui.cost.terms.section import START as TERMS

NAME: Final = "sv-roofline"
USUAL: Final[Mapping[str, Any]] = {
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


SERVED: Final = {name: USUAL[name] for name in ("hardware", "cards", "dtype", "model", "drafter")}


# α and the shape of the draft stay as they are; only the machine and the load change.
QUESTIONS: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    (
        "House on a laptop, batch size 1",
        {
            "hardware": "laptop-cpu",
            "cards": 1,
            "dtype": "fp32",
            "model": "house",
            "drafter": "house-draft",
            "batch": 1,
        },
    ),
    ("8B on an H100, batch size 1", {**SERVED, "batch": 1}),
    ("8B on an H100, batch size 64", {**SERVED, "batch": 64}),
    ("8B on an H100, batch size 512", {**SERVED, "batch": 512}),
)


def build(place: TabContext) -> None:
    """Build the section and wire its events."""
    component(NAME, "cost/roofline/roofline", config())
    place.questions.add("roofline", section_facts, LONGEST)


def section_facts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a question. Raises ValueError with a sentence."""
    return answer(Ask.from_data(data))


def config() -> dict[str, Any]:
    """Return the page's initial data: presets with their sources, limits, questions."""
    return {
        "usual": dict(USUAL),
        "brief": brief(Ask.from_data(USUAL)),
        "terms": dict(TERMS),
        "drafters": {"head": HEAD, "n-gram": NGRAM},
        "questions": [{"title": title, "set": dict(chosen)} for title, chosen in QUESTIONS],
        "machines": {name: machine_facts(one) for name, one in presets.machines().items()},
        "models": {name: model_facts(one) for name, one in presets.models().items()},
        "limits": {name: [least, most] for name, (_, least, most) in LIMITS.items()},
        "stops": list(BATCH_STOPS),
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
        "evidence": dict(presets.EVIDENCE),
    }


def machine_facts(machine: presets.Machine) -> dict[str, Any]:
    """Return a machine for the page, with its figures by dtype."""
    rest = f"{quantity(machine.bandwidth, 'B/s', short_figures)} · {room_in(machine.memory)}"
    facts = {
        dtype: f"{quantity(peak, 'FLOP/s', short_figures)} in {dtype} · {rest} · "
        f"ridge at {machine.hardware.ridge(dtype):.0f} FLOP/byte"
        for dtype, peak in machine.peak.items()
    }
    sheet = {"sheet": machine.sheet, "note": machine.note}
    return {"title": machine.title, "facts": facts, "sources": sources(machine.sources)} | sheet


def model_facts(model: presets.Model) -> dict[str, Any]:
    """Return a model for the page, with its bytes by dtype and its drafters."""
    shape = model.shape
    facts = {
        dtype: f"{people(shape.parameters)} parameters · a pass reads "
        f"{quantity(shape.weight_bytes(dtype), 'B')} of weights and "
        f"{quantity(shape.cache_bytes(dtype), 'B')} per cached token"
        for dtype in BYTES_PER_NUMBER
    }
    offered = [[name, title] for name, (title, _) in drafters(model.name).items()]
    made = {"title": model.title, "facts": facts, "drafters": offered}
    return made | {"sources": sources(model.sources), "sheet": "", "note": ""}


def people(number: int) -> str:
    """Format a number of parameters in words: 8.03 billion."""
    size, word = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{figures(number / size)} {word}"


def sources(found: Sequence[presets.Source]) -> list[list[str]]:
    """Return sources as title, link, evidence and note."""
    return [[one.title, one.url, one.evidence, one.note] for one in found]
