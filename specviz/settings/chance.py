"""Reproducible random numbers: each u is a hash of (seed, round, purpose, node).

So a run can be repeated exactly, tests are deterministic, and no two decisions use the same number.
(Without the round in the key, block verification would be lossy.) On the page, these numbers are
called coins. Standard library only.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DRAFT: Final = "draft"  # to sample the candidate at a node from the drafter's distribution q
JUDGE: Final = "judge"  # to decide whether the candidate at a node is accepted
FINAL: Final = "final"  # to sample the one token that the target adds to a round
BASELINE: Final = "baseline"  # to sample a token of plain decoding


def random_u(seed: int, round: int, purpose: str, node: int) -> float:
    """Return a number in [0, 1) with 53 random bits, determined by the four arguments."""
    text = struct.pack(">qqq", seed, round, node) + purpose.encode()
    bits = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    return (bits >> 11) * 2.0**-53


def u_key(round: int, purpose: str, node: int) -> str:
    """Return the key under which a number can be set by hand, such as "3 judge 2"."""
    return f"{round} {purpose} {node}"


@dataclass(frozen=True, slots=True)
class Chance:
    """The random numbers of one round. chosen: numbers set by hand, with keys from `u_key`."""

    seed: int
    round: int
    chosen: Mapping[str, float] = field(default_factory=dict)

    def draft(self, node: int) -> float:
        """Return the number that samples the candidate at `node` from q."""
        return self._u(DRAFT, node)

    def judge(self, node: int) -> float:
        """Return the number that decides whether `node` is accepted."""
        return self._u(JUDGE, node)

    def final(self) -> float:
        """Return the number that samples the round's last token."""
        return self._u(FINAL, 0)

    def baseline(self) -> float:
        """Return the number that samples a token of plain decoding."""
        return self._u(BASELINE, 0)

    def _u(self, purpose: str, node: int) -> float:
        chosen = self.chosen.get(u_key(self.round, purpose, node))
        return random_u(self.seed, self.round, purpose, node) if chosen is None else chosen
