"""Live races: a race in, lines for the page out, after a wait in the one line of all that computes.

Rule: a race is one ticket; what its lanes measured before it was stopped or broke is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from specviz.compare.race import Race, distinct
from specviz.models.files import public_name
from specviz.ui.compare.race.lines import Ground, RaceLines
from specviz.ui.task import Desk, Task, lasting

if TYPE_CHECKING:
    from specviz.models.target import Target


MOST_TURNS: Final = 3  # of a lane that is short, plain decoding's among them


def live(race: Race) -> Task:
    """The race as the page hears it. Stopped, it ends after its round."""
    tokens = MOST_TURNS * (len(race.lanes) + 1) * race.shared.max_new_tokens
    return Task(partial(tell, named(race)), lasting(race.target, tokens))


def named(race: Race) -> Race:
    """The same race; no lane is called by a folder, since all that is told names the lanes."""
    names = distinct(public_name(lane.name) for lane in race.lanes)
    lanes = (replace(lane, name=name) for lane, name in zip(race.lanes, names, strict=True))
    return replace(race, lanes=tuple(lanes))


def tell(race: Race, desk: Desk) -> Iterator[str]:
    """Load, then race."""
    yield desk.says("loading")
    target, drafters = desk.load(race.target, [lane.drafter for lane in race.lanes])
    if desk.unwanted():
        return
    yield desk.says("racing")
    from specviz.compare.run import run

    by_name = {lane.name: found for lane, found in zip(race.lanes, drafters, strict=True)}
    reel = RaceLines(race, "live", desk.nonce, ground(target))
    with closing(run(target, by_name, race, desk.unwanted)) as events:
        for event in events:
            yield reel.take(event)  # often nothing: the race may be interrupted there


def ground(target: Target) -> Ground:
    """Where a race on this target runs."""
    from specviz.models.devices import describe_device

    dtype = str(target.dtype).removeprefix("torch.")
    return Ground(target.card.name, describe_device(target.device), dtype)
