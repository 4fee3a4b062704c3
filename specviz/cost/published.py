"""All published speed-ups, those of Spec-Bench among them, and the ones closest to a setup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Final

from specviz.cost import sources
from specviz.cost.sources import NOT_STATED, Board, BoardRow, Published

KINDS: Final = {  # the kind of drafter of each family of which the nearest reports are shown
    "EAGLE-1": "head", "EAGLE-2": "head", "EAGLE-3": "head", "draft model": "model",
    "n-gram": "n-gram",
}  # fmt: skip
# Families of Spec-Bench's methods; every other method is a family of its own.
BOARD_FAMILIES: Final = {
    "EAGLE": "EAGLE-1", "EAGLE2": "EAGLE-2", "EAGLE3": "EAGLE-3", "SpS": "draft model",
    "PLD": "n-gram", "Lookahead": "lookahead",
}  # fmt: skip
FULL: Final = {  # Spec-Bench's abbreviations
    "SpS": "a draft model",
    "PLD": "prompt lookup, n-gram",
    "REST": "retrieval from a data store",
    "Recycling": "candidates from earlier passes",
}


def titled(each: BoardRow) -> str:
    """Return a method of Spec-Bench with its full name."""
    return f"{each.method} ({FULL[each.method]})" if each.method in FULL else each.method


def family_of(each: BoardRow) -> str:
    """Return the family of a method of Spec-Bench."""
    return BOARD_FAMILIES.get(each.method, each.method)


def device_of(board: Board) -> str:
    """Return the device of a table of Spec-Bench."""
    return board.device.removeprefix("a single ")


@cache
def board_numbers() -> tuple[Published, ...]:
    """Return the overall speed-ups of Spec-Bench as published numbers."""
    return tuple(
        Published(
            family_of(each), f"{titled(each)}: {each.tokens_per_pass:.2f} tokens per pass.",
            each.overall, each.overall, "×", board.model, f"Spec-Bench, {len(board.tasks)} tasks",
            device_of(board), board.conditions, board.source, board.batch,
        )
        for board in sources.boards()
        for each in board.rows
    )  # fmt: skip


UNSTATED_BATCH: Final = 6.0  # in doublings: the smallest distance of a report without a batch size
# Approximate batch sizes for a server's load, used only to rank reports.
LOAD_BATCHES: Final[Mapping[str, int]] = {"light": 1, "heavy": 128}
UNSTATED_MODEL: Final = 4.0  # in doublings of model size: distance of a report without a model size
OTHER_KIND: Final = 1.5  # in doublings: distance of a report of another kind of drafter


@dataclass(frozen=True, slots=True)
class Setup:
    """The setup that reports are compared with. kind: kind of the drafter, a value of KINDS."""

    kind: str
    batch: int
    model: str
    machine: str


def reports() -> list[Published]:
    """Return all published speed-ups of the families in KINDS, by kind, without acceptance."""
    gains = [each for each in (*sources.published_numbers(), *board_numbers()) if each.unit != "%"]
    kinds = dict.fromkeys(KINDS.values())
    return [each for kind in kinds for each in gains if KINDS.get(each.method) == kind]


def nearest_reports(wanted: Setup) -> list[Published]:
    """Return the closest report that states its model, and the closest of the same kind of drafter.

    They may be one report. The closer one is first. There are none for the House models, which no
    publication uses.
    """
    if wanted.model.startswith("house"):
        return []
    known = sorted(reports(), key=lambda each: distance(each, wanted))
    stated = next(each for each in known if parameters_in_name(each.model))
    same = next(each for each in known if KINDS[each.method] == wanted.kind)
    return [each for each in known if each in (stated, same)]


def under_other_load(report: Published) -> Published | None:
    """Return the report of the same server under its other load, if there is one."""
    return next(
        (
            each
            for each in reports()
            if report.load and each.load not in (None, report.load)
            if (each.method, each.source.url) == (report.method, report.source.url)
        ),
        None,
    )


def distance(report: Published, wanted: Setup) -> float:
    """Return the distance of a report from a setup.

    It is the number of doublings of batch size and model size, plus 1 for another machine and 1.5
    for another kind of drafter.
    """
    wanted_model = sources.models()[wanted.model]
    size, other = wanted_model.shape.parameters / 1e9, parameters_in_name(report.model)
    # Another model of the same size counts as 0.5.
    model = 0.5 + abs(log2(other / size)) if other else UNSTATED_MODEL
    if wanted_model.title in report.model:
        model = 0.0
    machine = 0.0 if same_machine(report.hardware, wanted.machine) else 1.0
    kind = 0.0 if KINDS[report.method] == wanted.kind else OTHER_KIND
    return _batches(report, wanted.batch) + model + machine + kind


def _batches(report: Published, batch: int) -> float:
    # In doublings; if only a load is reported, 1 is added.
    if report.batch:
        return abs(log2(report.batch / batch))
    if report.load:
        return 1.0 + abs(log2(LOAD_BATCHES[report.load] / batch))
    return max(UNSTATED_BATCH, 1.0 + log2(batch))


def parameters_in_name(model: str) -> float | None:
    """Return the billions of parameters in a model's name, such as 13 in Vicuna-13B, or None."""
    found = re.search(r"(\d+(?:\.\d+)?)B\b", model)
    return float(found[1]) if found else None


def same_machine(hardware: str, machine: str) -> bool:
    """Return whether a report's hardware is a preset's machine; "4 × H100" is an H100, too."""
    chips = [part for part in machine.split("-") if any(map(str.isdigit, part))]
    return any(re.search(rf"\b{chip}\b", hardware, re.IGNORECASE) for chip in chips)


def unstated_facts(report: Published) -> list[str]:
    """Return the facts that the source does not state."""
    unsaid = [("model", report.model), ("hardware", report.hardware)]
    missing = [name for name, text in unsaid if text == NOT_STATED]
    return missing if report.batch else [*missing, "batch"]
