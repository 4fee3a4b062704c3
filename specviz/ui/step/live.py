"""A live run: from a request to the player's lines, or to the text of its trace."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from specviz.trace.events import Event, Finished
from specviz.trace.file import dumps
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.hint import hint
from specviz.ui.step.lines import lines
from specviz.ui.stream import BaselineNext, line, paced
from specviz.ui.task import Desk, Task, lasting

if TYPE_CHECKING:
    from specviz.engine.loop import PlainStep
    from specviz.engine.protocol import Drafter
    from specviz.models.target import Target


def shown(wish: RunRequest) -> Task:
    """Build the task that streams a run to the page."""
    return Task(partial(tell, wish), seconds(wish))


def recorded(wish: RunRequest) -> Task:
    """Build the task that returns a run as the text of a trace file."""
    return Task(partial(record, wish), seconds(wish))


def seconds(wish: RunRequest) -> float:
    """Return the GPU seconds of a run, whose text is decoded twice, the second time plainly."""
    return lasting(wish.target, 2 * wish.settings.max_new_tokens)


def tell(wish: RunRequest, desk: Desk) -> Iterator[str]:
    """Load the models and run; a hint follows at the end, when timing is over."""
    yield desk.says("loading")
    target, (drafter,) = desk.load(wish.target, [wish.drafter])
    if desk.unwanted():
        return
    yield desk.says("drafting")
    with closing(run(wish, target, drafter, desk)) as events:
        yield from paced(lines(events, "live", desk.nonce, (wish.target, wish.drafter)))
    if wish.target == HOUSE and isinstance(wish.prompt, str) and not desk.unwanted():
        sentence = hint(target, wish.prompt)
        if sentence is not None:
            yield line("hint", {"sentence": sentence})


def record(wish: RunRequest, desk: Desk) -> Iterator[str]:
    """Load the models and run; yield a line per event, and empty texts for baseline passes."""
    target, (drafter,) = desk.load(wish.target, [wish.drafter])
    with closing(run(wish, target, drafter, desk)) as events:
        for event in events:
            if isinstance(event, Finished):
                yield BaselineNext(dumps(event) + "\n")
            else:
                yield dumps(event) + "\n" if isinstance(event, Event) else ""


def run(
    wish: RunRequest, target: Target, drafter: Drafter, desk: Desk
) -> Generator[Event | PlainStep, None, None]:
    """Run the request."""
    from specviz import engine

    return engine.run_stepwise(target, drafter, wish.prompt, wish.settings, stop=desk.unwanted)
