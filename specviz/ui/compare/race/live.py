"""Live races: a race in, lines for the page out, after a wait in the one line of all that computes.

Rule: a race is one ticket; what its lanes measured before it was stopped or broke is kept.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from specviz.compare.race import Race, distinct
from specviz.models.files import public_name
from specviz.ui.compare.race.lines import Ground, RaceLines
from specviz.ui.queue import Ticket
from specviz.ui.stream import Stream
from specviz.ui.worker import Worker

if TYPE_CHECKING:
    from specviz.models.target import Target


def texts(runs: Worker, race: Race, visitor: str, number: float) -> AsyncGenerator[str, None]:
    """The story of a race so far, growing. Closed early, the race ends after its round."""
    return runs.story(visitor, number, partial(tell, runs, named(race)))


def named(race: Race) -> Race:
    """The same race; no lane is called by a folder, since all that is told names the lanes."""
    names = distinct(public_name(lane.name) for lane in race.lanes)
    lanes = (replace(lane, name=name) for lane, name in zip(race.lanes, names, strict=True))
    return replace(race, lanes=tuple(lanes))


def tell(runs: Worker, race: Race, ticket: Ticket, story: Stream) -> None:
    """Load, then race; nothing of it where it was stopped before."""
    if ticket.unwanted():
        return
    story.say("loading")
    target, drafters = runs.load(race.target, [lane.drafter for lane in race.lanes])
    if ticket.unwanted():
        return
    story.say("racing")
    from specviz.compare.run import run

    by_name = {lane.name: found for lane, found in zip(race.lanes, drafters, strict=True)}
    reel = RaceLines(race, "live", story.nonce, ground(target))
    with closing(run(target, by_name, race, ticket.unwanted)) as events:
        for event in events:
            if said := reel.take(event):
                story.tell(said)


def ground(target: Target) -> Ground:
    """Where a race on this target runs."""
    from specviz.models.devices import describe

    dtype = str(target.dtype).removeprefix("torch.")
    return Ground(target.card.name, describe(target.device), dtype)
