"""The roofline: what a pass costs by its tokens, and from which batch size on drafting loses.

A change of any control asks the server once more, outside the visitors' line: nothing here runs a
model. The newest question wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.cost import sources as presets
from specviz.cost.figures.roofline import BATCH_STOPS
from specviz.cost.model_shape import BYTES_PER_NUMBER
from specviz.cost.sources import HEAD, NGRAM, drafters
from specviz.ui import question
from specviz.ui.component import TabContext, component
from specviz.ui.cost.roofline.answer import answer, figures, quantity, room_in, short_figures
from specviz.ui.cost.roofline.question import LIMITS, Ask
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
    "reading": 100,
    "computing": 100,
}


SERVED: Final = {name: USUAL[name] for name in ("hardware", "cards", "dtype", "model", "drafter")}


# α and the draft's shape stay as they are: what changes is the machine around them.
QUESTIONS: Final[Sequence[tuple[str, Mapping[str, Any]]]] = (
    (
        "House on a laptop, batch 1",
        {
            "hardware": "laptop-cpu",
            "cards": 1,
            "dtype": "fp32",
            "model": "house",
            "drafter": "house-draft",
            "batch": 1,
        },
    ),
    ("8B on an H100, batch 1", {**SERVED, "batch": 1}),
    ("8B on an H100, batch 64", {**SERVED, "batch": 64}),
    ("8B on an H100, batch 512", {**SERVED, "batch": 512}),
)


def build(place: TabContext) -> None:
    """Lay the section out, with everything wired."""
    view = component(NAME, "cost/roofline/roofline", config())
    question.wire(view, "roofline", f"{NAME}-ask", section_facts)


def section_facts(text: Any) -> str:
    """The answer to the page's question as JSON text: `id` as it was asked, or an `error`."""
    try:
        made = answer(Ask.from_text(text))
    except ValueError as problem:
        made = {"error": str(problem)}
    return question.packed(made | {"id": question.number_of(text)})


def config() -> dict[str, Any]:
    """What the page knows before it asks: presets with their sources, limits, questions."""
    return {
        "usual": dict(USUAL),
        "terms": dict(TERMS),
        "drafters": {"head": HEAD, "n-gram": NGRAM},
        "questions": [{"title": title, "set": dict(chosen)} for title, chosen in QUESTIONS],
        "machines": {name: machine_facts(one) for name, one in presets.machines().items()},
        "models": {name: model_facts(one) for name, one in presets.models().items()},
        "limits": {name: [least, most] for name, (_, least, most) in LIMITS.items()},
        "stops": list(BATCH_STOPS),
        "evidence": dict(presets.EVIDENCE),
    }


def machine_facts(machine: presets.Machine) -> dict[str, Any]:
    """A machine for the page; its figures by dtype."""
    rest = f"{quantity(machine.bandwidth, 'B/s', short_figures)} · {room_in(machine.memory)}"
    facts = {
        dtype: f"{quantity(peak, 'FLOP/s', short_figures)} in {dtype} · {rest} · "
        f"{machine.hardware.ridge(dtype):.0f} operations a byte"
        for dtype, peak in machine.peak.items()
    }
    sheet = {"sheet": machine.sheet, "note": machine.note}
    return {"title": machine.title, "facts": facts, "sources": sources(machine.sources)} | sheet


def model_facts(model: presets.Model) -> dict[str, Any]:
    """A model for the page; its bytes by dtype, and what may draft for it."""
    shape = model.shape
    facts = {
        dtype: f"{people(shape.parameters)} parameters · a pass reads "
        f"{quantity(shape.weight_bytes(dtype), 'B')} of weights and "
        f"{quantity(shape.cache_bytes(dtype), 'B')} a cached token"
        for dtype in BYTES_PER_NUMBER
    }
    offered = [[name, title] for name, (title, _) in drafters(model.name).items()]
    made = {"title": model.title, "facts": facts, "drafters": offered}
    return made | {"sources": sources(model.sources), "sheet": "", "note": ""}


def people(number: int) -> str:
    """A number of parameters as people say it: 8.03 billion."""
    size, word = (1e9, "billion") if number >= 1e9 else (1e6, "million")
    return f"{figures(number / size)} {word}"


def sources(found: Sequence[presets.Source]) -> list[list[str]]:
    """Sources as title, link, evidence, note."""
    return [[one.title, one.url, one.evidence, one.note] for one in found]
