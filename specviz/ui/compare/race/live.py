"""Live races: queue a race as one job and stream its JSON lines to the page.

If the race is stopped or fails, lanes that were measured before are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Final

from specviz.compare.race import Race
from specviz.ui.compare.race.lines import RaceLines, where
from specviz.ui.request import HOUSE
from specviz.ui.step.live import hint_lines
from specviz.ui.task import JobContext, Task, gpu_seconds

if TYPE_CHECKING:
    from specviz.models.target import Target


MOST_TURNS: Final = 3  # number of runs of a short lane, as in `compare.run`


def live(race: Race) -> Task:
    """Create the task of a race; it can be stopped after each round."""
    tokens = MOST_TURNS * (len(race.lanes) + 1) * race.shared.max_new_tokens
    return Task(partial(stream_race, race), gpu_seconds(race.target, tokens))


def stream_race(race: Race, context: JobContext) -> Iterator[str]:
    """Load the models, then run the race."""
    yield context.says("loading")
    target, drafters = context.load(race.target, [lane.drafter for lane in race.lanes])
    if context.unwanted():
        return
    yield context.says("racing")
    from specviz.compare.run import run

    by_name = {lane.name: found for lane, found in zip(race.lanes, drafters, strict=True)}
    lines = RaceLines(race, "live", context.nonce, place_of(target))
    with closing(run(target, by_name, race, context.unwanted)) as events:
        for event in events:
            yield lines.take(event)  # often no line is due, but the job may be interrupted here
    if race.target == HOUSE and not context.unwanted():
        yield from hint_lines(target, race.prompt)


def place_of(target: Target) -> str:
    """Return where a race runs, as text."""
    from specviz.models.devices import describe_device

    dtype = str(target.dtype).removeprefix("torch.")
    return where(target.card.name, describe_device(target.device), dtype)
