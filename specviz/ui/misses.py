"""Slow down clients that try names at random: after many misses, further attempts are refused.

Misses are counted by network address and in total, and forgotten at a steady rate. A whole school
may share an address, so its first misses cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

MOST_ADDRESSES: Final = 1000  # how many are stored before those without misses are dropped


@dataclass(slots=True)
class Rate:
    """A rate of misses; each is forgotten after `seconds`; at: when `level` was computed."""

    burst: int
    seconds: float
    level: float = 0.0
    at: float = field(default=0.0)

    def update(self, now: float) -> float:
        """Return how many misses are remembered at this time."""
        self.level = max(0.0, self.level - (now - self.at) / self.seconds)
        self.at = now
        return self.level

    def wait(self, now: float) -> float:
        """Return the seconds until the next attempt is allowed."""
        return max(0.0, (self.update(now) - self.burst + 1) * self.seconds)


class Misses:
    """The misses of all clients."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._total = Rate(300, 0.5)
        self._addresses: dict[str, Rate] = {}

    def wait(self, address: str) -> float:
        """Return the seconds until an attempt of this address is allowed; 0 if it is now."""
        now = self._clock()
        own = self._addresses.get(address)
        return max(self._total.wait(now), own.wait(now) if own else 0.0)

    def count(self, address: str) -> None:
        """Count a miss of an address."""
        now = self._clock()
        if len(self._addresses) >= MOST_ADDRESSES:
            kept = {name: rate for name, rate in self._addresses.items() if rate.update(now)}
            self._addresses = kept
        own = self._addresses.setdefault(address, Rate(60, 2.0, at=now))
        for rate in (own, self._total):
            rate.update(now)
            rate.level += 1
