"""Find the published measurement closest to a setup: drafter, batch size, model and machine.

The closest report need not match: it is shown with its own conditions and with the facts that its
source omits. No number is scaled, and missing facts are not filled in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from specviz.cost import sources
from specviz.cost.sources import NOT_STATED, Source

# By kind of drafter: families in the published numbers, and the names of methods on Spec-Bench.
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
UNSTATED_BATCH: Final = 6.0  # doublings: the smallest distance of a report without a batch size
# Approximate batch sizes for a server's load, used only to rank reports.
LOAD_BATCHES: Final[Mapping[str, int]] = {"light": 1, "heavy": 128}
UNSTATED_MODEL: Final = 3.0  # doublings of model size: distance of a report without a model size


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup to look up. `kind` is a key of FAMILIES, `machine` the name of a preset."""

    kind: str
    batch: int
    model: str
    machine: str


@dataclass(frozen=True, slots=True)
class ReportedSpeedup:
    """A published speed-up.

    Attributes:
        row_id: Its row on the page, such as "row-3" or "board-1-EAGLE".
        method: The drafter.
        number: As published.
        model: As the source states it.
        hardware: As the source states it.
        conditions: As the source states them.
        batch: The batch size, if stated.
        load: "light" or "heavy", if stated instead.
        source: Where it was read.
    """

    row_id: str
    method: str
    number: str
    model: str
    hardware: str
    conditions: str
    batch: int | None
    load: str | None
    source: Source


def nearest_report(wanted: Setup) -> ReportedSpeedup | None:
    """Return the closest report, the first if several tie; None if there is none.

    There is none for the House models, which no publication uses.
    """
    if wanted.model.startswith("house"):
        return None
    return min(
        reported_speedups(wanted.kind), key=lambda each: distance(each, wanted), default=None
    )


def reported_speedups(kind: str) -> Iterator[ReportedSpeedup]:
    """Yield every published speed-up of a kind of drafter, without acceptance rates."""
    for at, row in enumerate(sources.published_numbers()):
        if row.method in FAMILIES[kind] and row.unit != "%":
            setup = (row.model, row.hardware, row.conditions)
            yield ReportedSpeedup(
                f"row-{at}", row.method, row.number, *setup, row.batch, row.load, row.source
            )
    for at, board in enumerate(sources.boards()):
        device = board.device.removeprefix("a single ")
        for each in board.rows:
            if method := SPEC_BENCH_METHODS[kind].get(each.method):
                name, number = f"board-{at}-{each.method}", f"{each.overall:.2f} ×"
                setup = (board.model, device, f"Spec-Bench, {board.conditions}")
                yield ReportedSpeedup(name, method, number, *setup, board.batch, None, board.source)


def distance(report: ReportedSpeedup, wanted: Setup) -> float:
    """Return the distance of a report from a setup.

    It is the number of doublings of batch size and model size, plus 1 for another machine.
    """
    wanted_model = sources.models()[wanted.model]
    size, other = wanted_model.shape.parameters / 1e9, parameters_in_name(report.model)
    # Another model of the same size has distance 0.5.
    model = 0.5 + abs(log2(other / size)) if other else UNSTATED_MODEL
    if wanted_model.title in report.model:
        model = 0.0
    machine = 0.0 if same_machine(report.hardware, wanted.machine) else 1.0
    return _batches(report, wanted.batch) + model + machine


def _batches(report: ReportedSpeedup, batch: int) -> float:
    """Return the doublings between two batch sizes, plus 1 if only a server's load is stated."""
    if report.batch:
        return abs(log2(report.batch / batch))
    if report.load:
        return 1.0 + abs(log2(LOAD_BATCHES[report.load] / batch))
    return max(UNSTATED_BATCH, 1.0 + log2(batch))


def parameters_in_name(model: str) -> float | None:
    """Return the billions of parameters in a model's name, 13 for Vicuna-13B; else None."""
    found = re.search(r"(\d+(?:\.\d+)?)B\b", model)
    return float(found[1]) if found else None


def same_machine(hardware: str, machine: str) -> bool:
    """Whether a report's hardware is the preset's: H100 matches "4 × H100"."""
    chips = [part for part in machine.split("-") if any(map(str.isdigit, part))]
    return any(re.search(rf"\b{chip}\b", hardware, re.IGNORECASE) for chip in chips)


def unstated_facts(report: ReportedSpeedup) -> list[str]:
    """List the facts that the source does not state."""
    unsaid = [("model", report.model), ("hardware", report.hardware)]
    missing = [name for name, text in unsaid if text == NOT_STATED]
    return missing if report.batch else [*missing, "batch"]
