"""A live run that was made here before is shown from memory, as it was measured then.

Rule: the key is the whole question (prompt, target, drafter, every setting, seed and coins), so a
visitor sees of others' runs only what they asked themselves. Only runs that came to their end are
kept, and only of models that the catalogue lists: a folder's files may change, and so may a server.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, Final
from zlib import compress, decompress

from specviz.frames.numbers import count
from specviz.models.served.address import is_served
from specviz.settings.settings import BadSettings
from specviz.ui.request import RunRequest
from specviz.ui.step.live import shown
from specviz.ui.stream import line, state
from specviz.ui.worker import Worker

MOST: Final = 256  # runs
BYTES: Final = 32 * 2**20  # of all of them, compressed
PRESSED: Final = 1000  # visitors of one run, of whom it is known that they saw it from memory
SAME: Final = (
    "This very run was made here {}, and is shown as it was measured then. "
    "Press Run live again to measure it anew."
)


@dataclass(slots=True)
class Kept:
    """A run's lines, compressed, without those that say what was waited for. at: on the monotonic
    clock. seen: visitors to whom it was shown from memory: whoever asks again wants it measured.
    """

    packed: bytes
    at: float = field(default_factory=monotonic)
    seen: set[str] = field(default_factory=set)


class Memory:
    """The finished live runs of one server; the one that was asked for longest ago goes first."""

    def __init__(self, most: int = MOST, size: int = BYTES) -> None:
        self._most, self._size = most, size
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._lock = Lock()  # it is asked on the server's loop and in the thread of all runs

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Bytes of all that is kept."""
        return sum(len(run.packed) for run in self._kept.values())

    def asked(self, wish: RunRequest, visitor: str) -> Asked:
        """One visitor's wish for a run."""
        key = question(wish)
        with self._lock:
            kept = self._kept.get(key) if key else None
            anew = kept is not None and visitor in kept.seen
            if kept is not None:
                kept.seen.discard(visitor)
        return Asked(self, key, visitor, anew)

    def recall(self, key: str, visitor: str) -> Kept | None:
        """The run, which this visitor sees from memory now; None where it is not known."""
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
        """Keep a run in place of its older self, and let the oldest go where there is no room."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = Kept(packed)
            while len(self) > self._most or self.size > self._size:
                self._kept.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A wish that may be answered from memory. key: empty for one that is not to be kept. anew: the
    visitor was shown it from memory, and asks again.
    """

    memory: Memory
    key: str
    visitor: str
    anew: bool

    def told(self, nonce: str) -> str:
        """The run's lines for a job of this number; empty where they are to be measured."""
        kept = self.memory.recall(self.key, self.visitor) if self.key and not self.anew else None
        if kept is None:
            return ""
        first, _, rest = decompress(kept.packed).decode().partition("\n")
        run: dict[str, Any] = json.loads(first)
        again = SAME.format(ago(monotonic() - kept.at))
        return line(run.pop("kind"), run | {"id": nonce, "again": again}) + rest

    def learn(self, told: str) -> None:
        """Keep what was told from the run's own line on, without states."""
        if not self.key:
            return
        lines = told.splitlines(keepends=True)
        own = [each for each in lines if not each.startswith('{"kind":"state"')]
        if own and own[0].startswith('{"kind":"run"'):
            self.memory.keep(self.key, compress("".join(own).encode(), 1))


def question(wish: RunRequest) -> str:
    """All that decides a run, as one text; empty for one that is not to be kept."""
    try:
        wish.allowed(any_model=False)
    except BadSettings:
        return ""
    return "" if is_served(wish.target) else json.dumps(asdict(wish), sort_keys=True)


def ago(seconds: float) -> str:
    """How long ago, in words."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "less than a minute ago"
    if minutes < 60:
        return f"{count(minutes, 'minute')} ago"
    return f"{count(minutes // 60, 'hour')} ago"


async def texts(
    runs: Worker, memory: Memory, wish: RunRequest, visitor: str, number: float
) -> AsyncGenerator[str, None]:
    """The story of a run: from memory at once, or made at its turn, unless it is known by then."""
    asked, nonce = memory.asked(wish, visitor), f"{number:.0f}"
    if told := asked.told(nonce):
        yield told + state("done", nonce)
        return
    async with aclosing(runs.texts(shown(wish), visitor, number, known=asked)) as story:
        async for text in story:
            yield text
