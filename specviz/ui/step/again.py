"""Reuse live runs: show a finished run from memory, or one in progress as it grows.

So if all students of a class request the same run, it is computed once. The key is the whole
request (prompt, target, drafter, all settings, seed and coins), so visitors see only runs that they
requested themselves. Only finished runs of models in the catalogue are kept, since the files in a
folder, or a server, may change.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from dataclasses import asdict, dataclass, field
from functools import partial
from time import monotonic
from typing import Any, Final
from zlib import compress, decompress

from specviz.models.served.http_client import is_served
from specviz.settings.settings import BadSettings
from specviz.texts import count
from specviz.ui.queue import QueueFull
from specviz.ui.request import RunRequest
from specviz.ui.step.live import shown
from specviz.ui.stream import STATE, Stream, line
from specviz.ui.task import Task
from specviz.ui.worker import Worker

MOST: Final = 256  # maximum number of runs
BYTES: Final = 32 * 2**20  # maximum total size of all runs, compressed
PRESSED: Final = 1000  # how many visitors of one run are remembered as having seen it from memory
SAME: Final = (
    "This exact run was made here {}, and is shown as it was measured then. "
    "Press Run live again for a new measurement."
)
ENDS: Final = ("done", "stopped", "overdue")
SHARED: Final = (
    "Another visitor is making exactly this run now, and you see that measurement. "
    "Press Run live again for a new measurement."
)


@dataclass(slots=True)
class Kept:
    """A finished run.

    Attributes:
        packed: Its lines, compressed, without status lines.
        at: When it was stored, on the monotonic clock.
        seen: Visitors who saw it from memory; if they request it again, it is measured again.
    """

    packed: bytes
    at: float = field(default_factory=monotonic)
    seen: set[str] = field(default_factory=set)

    def saw(self, visitor: str) -> None:
        """Remember that a visitor has seen this run."""
        if len(self.seen) >= PRESSED:
            self.seen.clear()
        self.seen.add(visitor)


class Memory:
    """The live runs of one server, active and finished; all methods run on the event loop."""

    def __init__(self, most: int = MOST, size: int = BYTES) -> None:
        self._most, self._size = most, size
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._ongoing: dict[str, Stream] = {}
        self._following: set[asyncio.Task[None]] = set()  # asyncio keeps only weak references

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Total size of the stored runs in bytes."""
        return sum(len(run.packed) for run in self._kept.values())

    def task(self, runs: Worker, request: RunRequest, stream: Stream) -> Task | None:
        """Return the task of a run; None if its lines come from memory or from another run."""
        key = question(request)
        kept = self._kept.get(key)
        if kept is not None and stream.visitor not in kept.seen:
            kept.saw(stream.visitor)
            self._kept.move_to_end(key)
            show(kept, stream)
            return None
        if kept is not None:
            kept.seen.discard(stream.visitor)
        elif key in self._ongoing:
            task = asyncio.create_task(self._follow(self._ongoing[key], runs, request, stream))
            self._following.add(task)
            task.add_done_callback(self._following.discard)
            return None
        elif key:
            self._ongoing[key] = stream
        if key:
            stream.on_end(partial(self._learn, key, stream))
        return shown(request)

    def _learn(self, key: str, stream: Stream) -> None:
        if self._ongoing.get(key) is stream:
            del self._ongoing[key]
        if is_done(stream):
            self.keep(key, stream.lines)

    def keep(self, key: str, lines: list[str]) -> None:
        """Store a run from its `RunLine` on, without status lines; drop others if necessary."""
        own = [each for each in lines if not each.startswith(STATE)]
        if not (own and own[0].startswith('{"kind":"run"')):
            return
        self._kept.pop(key, None)
        self._kept[key] = Kept(compress("\n".join([*own, ""]).encode(), 1))
        while len(self) > self._most or self.size > self._size:
            self._kept.popitem(last=False)

    async def _follow(
        self, other: Stream, runs: Worker, request: RunRequest, stream: Stream
    ) -> None:
        # If that run ends early, this request runs.
        copying = asyncio.create_task(copy(other, stream))
        stream.on_stop(copying.cancel)
        await asyncio.wait({copying})
        if kept := self._kept.get(question(request)):
            kept.saw(stream.visitor)  # the next time, this visitor wants a new measurement
        if stream.stopped:
            stream.end("stopped")
        elif is_done(other):
            stream.end("done")
        elif task := self.task(runs, request, stream):
            try:
                runs.start(task, stream)
            except QueueFull as problem:
                stream.fail(problem)


def show(kept: Kept, stream: Stream) -> None:
    """Send a stored run."""
    first, _, rest = decompress(kept.packed).decode().partition("\n")
    run: dict[str, Any] = json.loads(first)
    again = SAME.format(ago(monotonic() - kept.at))
    more = {"id": stream.nonce, "again": again}
    stream.write(line(run.pop("kind"), run | more) + rest)
    stream.end("done")


def is_done(stream: Stream) -> bool:
    """Return whether a run ended normally."""
    last = stream.lines[-1] if stream.over else ""
    return last.startswith(STATE) and '"state":"done"' in last


async def copy(other: Stream, stream: Stream) -> None:
    """Copy the lines of another visitor's run, except the last, which says how it ended."""
    with other.reading():
        async for batch in other.read():
            stream.write("".join(for_another(each, stream.nonce) for each in batch))


def for_another(text: str, nonce: str) -> str:
    """Rewrite a line of one visitor's run for another, with newline; empty for the last line."""
    if text.startswith('{"kind":"error"'):
        return ""
    if not text.startswith((STATE, '{"kind":"run"')):
        return f"{text}\n"
    data: dict[str, Any] = json.loads(text)
    if data.get("state") in ENDS:
        return ""
    more = {"again": SHARED} if data["kind"] == "run" else {}
    return line(data.pop("kind"), data | {"id": nonce} | more)


def question(request: RunRequest) -> str:
    """Return the key of a request, which determines the run; empty if the run must not be kept."""
    try:
        request.allowed(any_model=False)
    except BadSettings:
        return ""
    return "" if is_served(request.target) else json.dumps(asdict(request), sort_keys=True)


def ago(seconds: float) -> str:
    """Format how long ago something was."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "less than a minute ago"
    if minutes < 60:
        return f"{count(minutes, 'minute')} ago"
    return f"{count(minutes // 60, 'hour')} ago"
