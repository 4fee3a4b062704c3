"""Read a job's output as the page does, and record each text that was sent in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from specviz.ui.queue import Queue, QueueFull
from specviz.ui.stream import Stream
from specviz.ui.task import Task
from specviz.ui.worker import Worker


class Noted(Stream):
    """A stream that records its whole text after each sending, and whether it was the last."""

    def __init__(self, visitor: str, number: float) -> None:
        super().__init__(visitor, f"{number:.0f}")
        self.readers = 1
        self.texts: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()

    def _append(self, text: str, last: bool = False) -> None:
        super()._append(text, last)
        whole = "".join(f"{line}\n" for line in self.lines)
        self._loop.call_soon_threadsafe(self.texts.put_nowait, (whole, last))


def stop_jobs(line: Queue, visitor: str) -> None:
    """Stop all jobs of a visitor, as the page does for each of its own."""
    for ticket in line._tickets:
        if ticket.visitor == visitor:
            ticket.stop()


async def texts(
    runs: Worker, task: Task, visitor: str = "me", number: float = 1
) -> AsyncGenerator[str, None]:
    """Start a task and yield all its output so far, after each sending; it may leave early."""
    async for text in read(visitor, number, lambda stream: runs.start(task, stream)):
        yield text


async def read(
    visitor: str, number: float, start: Callable[[Stream], asyncio.Task[None] | None]
) -> AsyncGenerator[str, None]:
    """Do the same for any function that starts a job."""
    stream, under_way, last = Noted(visitor, number), None, False
    try:
        try:
            under_way = start(stream)
        except QueueFull as problem:
            stream.fail(problem)
        while not last:
            text, last = await stream.texts.get()
            yield text
        if under_way is not None:
            await under_way
    finally:
        stream.stop()
