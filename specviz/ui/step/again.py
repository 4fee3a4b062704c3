"""Reuse live runs: show a finished run from memory, or one in progress as it grows.

So a class that requests the same run has it computed once. The key is the whole request (prompt,
target, drafter, every setting, seed and coins), so visitors see only runs that they requested
themselves. Only finished runs of models in the catalogue are kept: a folder's files may change, and
so may a server.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from threading import Lock
from time import monotonic
from typing import Any, Final
from zlib import compress, decompress

from specviz.models.served.http_client import is_served
from specviz.settings.settings import BadSettings
from specviz.texts import count
from specviz.ui.request import RunRequest
from specviz.ui.step.live import shown
from specviz.ui.stream import STATE, line, state
from specviz.ui.worker import Worker

MOST: Final = 256  # runs
BYTES: Final = 32 * 2**20  # of all of them, compressed
PRESSED: Final = 1000  # visitors of one run who are remembered as having seen it from memory
SAME: Final = (
    "This exact run was made here {}, and is shown as it was measured then. "
    "Press Run live again for a new measurement."
)
LOOK: Final = 0.2  # seconds between checks whether a watching visitor has stopped
ENDS: Final = ("done", "stopped", "overdue")
SHARED: Final = (
    "Another visitor is making exactly this run now, and you see that measurement. "
    "Press Run live again for a new measurement."
)


@dataclass(slots=True)
class Kept:
    """A finished run.

    Attributes:
        packed: Its lines, compressed, without those about waiting.
        at: When it was kept, on the monotonic clock.
        seen: Visitors who saw it from memory; their next request measures it again.
    """

    packed: bytes
    at: float = field(default_factory=monotonic)
    seen: set[str] = field(default_factory=set)


class Memory:
    """The finished live runs of one server, in least-recently-used order."""

    def __init__(self, most: int = MOST, size: int = BYTES) -> None:
        self._most, self._size = most, size
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.ongoing: dict[str, Ongoing] = {}  # by question; on the event loop only
        self._lock = Lock()  # used on the server's loop and in the worker thread

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Total size of the kept runs in bytes."""
        return sum(len(run.packed) for run in self._kept.values())

    def asked(self, wish: RunRequest, visitor: str) -> Asked:
        """Start one visitor's request for a run."""
        key = question(wish)
        with self._lock:
            kept = self._kept.get(key) if key else None
            anew = kept is not None and visitor in kept.seen
            if kept is not None:
                kept.seen.discard(visitor)
        return Asked(self, key, visitor, anew)

    def recall(self, key: str, visitor: str) -> Kept | None:
        """Return the kept run and remember that this visitor saw it; None if there is none."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            if len(kept.seen) >= PRESSED:
                kept.seen.clear()
            kept.seen.add(visitor)
            return kept

    def keep(self, key: str, packed: bytes) -> None:
        """Keep a run, replacing an older copy; drop the least recently used if memory is full."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = Kept(packed)
            while len(self) > self._most or self.size > self._size:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may be answered from memory.

    Attributes:
        memory: The kept runs.
        key: Identifies the run; empty if it must not be kept.
        visitor: Who requests it.
        anew: The visitor saw it from memory and requests it again.
    """

    memory: Memory
    key: str
    visitor: str
    anew: bool

    def recall(self, nonce: str) -> str:
        """The kept lines for a job with this number; empty if the run must be measured."""
        kept = self.memory.recall(self.key, self.visitor) if self.key and not self.anew else None
        if kept is None:
            return ""
        first, _, rest = decompress(kept.packed).decode().partition("\n")
        run: dict[str, Any] = json.loads(first)
        again = SAME.format(ago(monotonic() - kept.at))
        return line(run.pop("kind"), run | {"id": nonce, "again": again}) + rest

    def learn(self, output: str) -> None:
        """Keep a run's output from its own line on, without status lines."""
        if not self.key:
            return
        lines = output.splitlines(keepends=True)
        own = [each for each in lines if not each.startswith('{"kind":"state"')]
        if own and own[0].startswith('{"kind":"run"'):
            self.memory.keep(self.key, compress("".join(own).encode(), 1))


def question(wish: RunRequest) -> str:
    """The key of a request: all that determines the run; empty if it must not be kept."""
    try:
        wish.allowed(any_model=False)
    except BadSettings:
        return ""
    return "" if is_served(wish.target) else json.dumps(asdict(wish), sort_keys=True)


def ago(seconds: float) -> str:
    """Format how long ago something was."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "less than a minute ago"
    if minutes < 60:
        return f"{count(minutes, 'minute')} ago"
    return f"{count(minutes // 60, 'hour')} ago"


class Ongoing:
    """The output so far of a run that several visitors watch. complete: it ended normally."""

    def __init__(self) -> None:
        self.text = ""
        self.over = self.complete = False
        self._changed = asyncio.Event()

    def grow(self, text: str) -> None:
        """Replace the stored output with all of it so far.

        Wake the tasks that wait for more.
        """
        self.text = text
        self._wake()

    def end(self) -> None:
        """Mark the output as ended."""
        self.over = True
        last = self.text.rpartition("\n{")[2]
        self.complete = last.startswith(STATE[1:]) and '"state":"done"' in last
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def news(self) -> None:
        """Wait until there is more output, or LOOK seconds to check whether the visitor stopped."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), LOOK)


def for_another(text: str, nonce: str) -> str:
    """Rewrite lines of one visitor's run for another, without how the job ended."""
    return "".join(_for_another(each, nonce) for each in text.splitlines(keepends=True))


def _for_another(text: str, nonce: str) -> str:
    if text.startswith('{"kind":"error"'):
        return ""
    if not text.startswith((STATE, '{"kind":"run"')):
        return text
    data: dict[str, Any] = json.loads(text)
    if data.get("state") in ENDS:
        return ""
    more = {"again": SHARED} if data["kind"] == "run" else {}
    return line(data.pop("kind"), data | {"id": nonce} | more)


async def watch(
    ongoing: Ongoing, nonce: str, stopped: Callable[[], bool]
) -> AsyncGenerator[str, None]:
    """Yield the growing output of another visitor's run until it ends."""
    seen, text = 0, ""
    while not stopped():
        over = ongoing.over
        if new := for_another(ongoing.text[seen:], nonce):
            text += new
            yield text
        seen = len(ongoing.text)
        if over:
            return
        if seen == len(ongoing.text) and not ongoing.over:
            await ongoing.news()


async def texts(
    runs: Worker, memory: Memory, wish: RunRequest, visitor: str, number: float
) -> AsyncGenerator[str, None]:
    """Stream a run: from memory, from another visitor's run in progress, or computed.

    If the other visitor's run ends early, this visitor's own run follows, from its first line.
    """
    asked, nonce = memory.asked(wish, visitor), f"{number:.0f}"
    if text := asked.recall(nonce):
        yield text + state("done", nonce)
        return
    stopped = partial(runs.line.is_stopped, visitor, number)
    before = ""
    while not asked.anew and (ongoing := memory.ongoing.get(asked.key)):
        text = before
        async with aclosing(watch(ongoing, nonce, stopped)) as watched:
            async for news in watched:
                text = before + news
                yield text
        before = text
        if stopped() or ongoing.complete:
            memory.recall(asked.key, visitor)  # the next time, this visitor wants a measurement
            yield before + state("stopped" if stopped() else "done", nonce)
            return
    async with aclosing(compute(runs, memory, wish, asked, number)) as computed:
        async for text in computed:
            yield before + text


async def compute(
    runs: Worker, memory: Memory, wish: RunRequest, asked: Asked, number: float
) -> AsyncGenerator[str, None]:
    """Compute and stream a run, while other visitors may watch it."""
    ongoing = Ongoing()
    shared = asked.key and not asked.anew
    if shared:
        memory.ongoing[asked.key] = ongoing
    run = runs.texts(shown(wish), asked.visitor, number, cached=asked)
    try:
        async with aclosing(run) as computed:
            async for text in computed:
                ongoing.grow(text)
                yield text
    finally:
        ongoing.end()
        if shared and memory.ongoing.get(asked.key) is ongoing:
            del memory.ongoing[asked.key]
