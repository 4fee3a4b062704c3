"""Chance is data: every coin of a run is a number that can be computed again.

A coin is a hash of (seed, round, purpose, node), so a run replays exactly, a test needs no luck,
and no two decisions share a number. (Keyed by position without the round, block verification
would be lossy.) Standard library only.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

DRAFT: Final = "draft"  # draws the candidate at a node from the drafter's law q
JUDGE: Final = "judge"  # decides whether the candidate at a node is kept
FINAL: Final = "final"  # draws the one token that the target adds to a round
BASELINE: Final = "baseline"  # draws a token of plain decoding


def coin(seed: int, round: int, purpose: str, node: int) -> float:
    """A number in [0, 1) with 53 random bits, fixed by its four keys."""
    key = struct.pack(">qqq", seed, round, node) + purpose.encode()
    bits = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
    return (bits >> 11) * 2.0**-53


@dataclass(frozen=True, slots=True)
class Chance:
    """The coins of one round."""

    seed: int
    round: int

    def draft(self, node: int) -> float:
        """The number that draws the candidate at `node` from q."""
        return coin(self.seed, self.round, DRAFT, node)

    def judge(self, node: int) -> float:
        """The number that decides whether `node` is kept."""
        return coin(self.seed, self.round, JUDGE, node)

    def final(self) -> float:
        """The number that draws the token which ends the round."""
        return coin(self.seed, self.round, FINAL, 0)

    def baseline(self) -> float:
        """The number that draws a token of plain decoding."""
        return coin(self.seed, self.round, BASELINE, 0)
