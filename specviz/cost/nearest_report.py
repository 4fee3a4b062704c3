"""The published measurement nearest to a question: the same kind of drafter, batch, model, machine.

Rule: near is not same. A report says its own conditions and what its source leaves out; nothing is
scaled or filled in. Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from specviz.cost import sources
from specviz.cost.sources import NOT_STATED, Source

# By kind of drafter: the families of the headline table, and the names on Spec-Bench.
FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "head": ("EAGLE", "EAGLE-2", "EAGLE-3"),
    "n-gram": ("n-gram",),
    "model": ("draft model",),
}
SPEC_BENCH_METHODS: Final[Mapping[str, Mapping[str, str]]] = {
    "head": {"EAGLE": "EAGLE", "EAGLE2": "EAGLE-2", "EAGLE3": "EAGLE-3"},
    "n-gram": {"PLD": "n-gram"},
    "model": {"SpS": "draft model"},
}
UNSTATED_BATCH: Final = 6.0  # doublings: an unsaid batch is this far away at least
LOAD_BATCHES: Final[Mapping[str, int]] = {
    "light": 1,
    "heavy": 128,
}  # batches that a load is about, to rank
UNSTATED_MODEL: Final = 3.0  # doublings of its size


@dataclass(frozen=True, slots=True)
class Setup:
    """What is asked. kind: of the drafter, as in FAMILIES. machine: its preset's name."""

    kind: str
    batch: int
    model: str
    machine: str


@dataclass(frozen=True, slots=True)
class ReportedSpeedup:
    """A published speed-up. place: its row on the page, as "row-3" or "board-1-EAGLE"."""

    place: str
    method: str
    number: str
    model: str
    hardware: str
    conditions: str
    batch: int | None
    load: str | None
    source: Source


def nearest_report(wanted: Setup) -> ReportedSpeedup | None:
    """The report nearest to what is asked, the first of equals; None where there is none.

    The house models are this app's own: nobody else reports on them.
    """
    if wanted.model.startswith("house"):
        return None
    return min(
        reported_speedups(wanted.kind), key=lambda each: distance(each, wanted), default=None
    )


def reported_speedups(kind: str) -> Iterator[ReportedSpeedup]:
    """Every published speed-up of a kind of drafter; what was accepted is none."""
    for at, row in enumerate(sources.published_numbers()):
        if row.method in FAMILIES[kind] and row.unit != "%":
            said = (row.model, row.hardware, row.conditions)
            yield ReportedSpeedup(
                f"row-{at}", row.method, row.number, *said, row.batch, row.load, row.source
            )
    for at, board in enumerate(sources.boards()):
        device = board.device.removeprefix("a single ")
        for each in board.rows:
            if method := SPEC_BENCH_METHODS[kind].get(each.method):
                place, number = f"board-{at}-{each.method}", f"{each.overall:.2f} ×"
                said = (board.model, device, f"Spec-Bench, {board.conditions}")
                yield ReportedSpeedup(place, method, number, *said, board.batch, None, board.source)


def distance(report: ReportedSpeedup, wanted: Setup) -> float:
    """How far a report is from the question: doublings of batch and model, and another machine."""
    asked = sources.models()[wanted.model]
    size, other = asked.shape.parameters / 1e9, parameters_in_name(report.model)
    model = 0.5 + abs(log2(other / size)) if other else UNSTATED_MODEL  # as large is not the same
    if asked.title in report.model:
        model = 0.0
    machine = 0.0 if same_machine(report.hardware, wanted.machine) else 1.0
    return _batches(report, wanted.batch) + model + machine


def _batches(report: ReportedSpeedup, batch: int) -> float:
    """Doublings between the batches; a server's load stands for one, with a doubling of doubt."""
    if report.batch:
        return abs(log2(report.batch / batch))
    if report.load:
        return 1.0 + abs(log2(LOAD_BATCHES[report.load] / batch))
    return max(UNSTATED_BATCH, 1.0 + log2(batch))


def parameters_in_name(model: str) -> float | None:
    """The size in a model's name, as 13 in Vicuna-13B; None where it says none."""
    found = re.search(r"(\d+(?:\.\d+)?)B\b", model)
    return float(found[1]) if found else None


def same_machine(hardware: str, machine: str) -> bool:
    """Whether a report's hardware is the preset's: H100 is in "4 × H100"."""
    chips = [part for part in machine.split("-") if any(map(str.isdigit, part))]
    return any(re.search(rf"\b{chip}\b", hardware, re.IGNORECASE) for chip in chips)


def unstated_facts(report: ReportedSpeedup) -> list[str]:
    """What the source does not say of the measurement."""
    unsaid = [("model", report.model), ("hardware", report.hardware)]
    missing = [name for name, text in unsaid if text == NOT_STATED]
    return missing if report.batch else [*missing, "batch"]
