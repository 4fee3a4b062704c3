"""A live measurement by domain, as lines for the page: the map, what changes of it, what runs now.

Rule: the whole measurement is one ticket in the line; what was measured before a stop is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from specviz.catalog.entry import title_of
from specviz.compare.domains.heatmap import Heat, view
from specviz.compare.domains.plan import Plan
from specviz.shipped import spoken
from specviz.texts import count
from specviz.ui.request import HOUSE
from specviz.ui.stream import line
from specviz.ui.task import Desk, Task, lasting

if TYPE_CHECKING:
    from specviz.compare.domains.run import Began, Board
    from specviz.models.target import Target

PAUSE: Final = 0.5  # seconds between changes that are sent: each takes time from what is timed


def live(plan: Plan) -> Task:
    """The measurement as the page hears it. Stopped, it ends after its turn."""
    return Task(partial(tell, plan), lasting(HOUSE, 2 * len(plan.order) * plan.new_tokens))


def tell(plan: Plan, desk: Desk) -> Iterator[str]:
    """Load, then measure turn by turn."""
    yield desk.says("loading")
    target, loaded = desk.load(HOUSE, plan.drafters)
    if desk.unwanted():
        return
    from specviz.compare.domains.run import Began, Board, run

    by_name = dict(zip(plan.drafters, loaded, strict=True))
    board, lines = Board(), Lines(plan, where(target), desk.nonce)
    try:
        with closing(run(target, by_name, plan, desk.unwanted)) as events:
            for event in events:
                board.take(event)
                # Often nothing: the measurement may be interrupted there.
                yield lines.began(event, board) if isinstance(event, Began) else ""
    except Exception:
        yield from lines.ended(board)  # what was measured before it broke
        raise
    yield from lines.ended(board)


def where(target: Target) -> str:
    """Machine and precision."""
    from specviz.models.devices import describe_device

    return f"{describe_device(target.device)} · {str(target.dtype).removeprefix('torch.')}"


class Lines:
    """The page's lines. The map comes once; then only cells that are not as they were."""

    def __init__(self, plan: Plan, where: str, nonce: str) -> None:
        self.plan = plan
        self.where = where
        self.nonce = nonce
        self.turns = len(plan.order)
        self.told: dict[str, Any] | None = None  # cells as the page has them, once it has the map
        self.sent: float | None = None

    def began(self, event: Began, board: Board) -> str:
        """What runs now, and what has changed; empty where that was told just now."""
        now = perf_counter()
        if self.sent is not None and now - self.sent < PAUSE:
            return ""
        self.sent = now
        turn = event.turn
        on = f"{title_of(turn.drafter)} on {spoken(turn.domain)}, prompt {turn.prompt + 1}"
        said = {"place": event.place, "of": self.turns, "sentence": on, "id": self.nonce}
        return self._changes(board, "live") + line("now", said)

    def ended(self, board: Board) -> Iterator[str]:
        """All that is still to be told; the badge says whether the plan was finished.

        Nothing where not even the first turn began.
        """
        if self.told is not None:
            stopped = f"live, stopped after {board.done} of {self.turns}"
            yield self._changes(board, "live" if board.done == self.turns else stopped)

    def _changes(self, board: Board, badge: str) -> str:
        plan = self.plan
        heat = Heat.of(board.cells, plan.drafters, plan.domains, plan.prompts)
        whole = view(heat)
        cells = whole["cells"]
        before = self.told or {}
        changed = {key: cell for key, cell in cells.items() if before.get(key) != cell}
        kept = () if self.told is None else ("rows", "columns")
        self.told = cells
        said = {name: value for name, value in whole.items() if name not in kept}
        facts = {"id": self.nonce, "badge": badge, "where": self._where(), "cells": changed}
        return line("map", said | facts)

    def _where(self) -> str:
        plan = self.plan
        parts = (
            self.where,
            f"{count(plan.prompts, 'prompt')} a domain",
            f"{plan.new_tokens} new tokens",
            f"T {plan.temperature:g}",
            f"order seed {plan.order_seed}",
        )
        return " · ".join(parts)
