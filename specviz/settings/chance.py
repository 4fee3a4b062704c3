"""Chance is data: every coin of a run is a number that can be computed again.

A coin is a hash of (seed, round, purpose, node), so a run replays exactly, a test needs no luck,
and no two decisions share a number. (Keyed by position without the round, block verification
would be lossy.) Standard library only.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

DRAFT: Final = "draft"  # draws the candidate at a node from the drafter's law q
JUDGE: Final = "judge"  # decides whether the candidate at a node is kept
FINAL: Final = "final"  # draws the one token that the target adds to a round
BASELINE: Final = "baseline"  # draws a token of plain decoding


def random_u(seed: int, round: int, purpose: str, node: int) -> float:
    """A number in [0, 1) with 53 random bits, fixed by its four keys."""
    text = struct.pack(">qqq", seed, round, node) + purpose.encode()
    bits = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    return (bits >> 11) * 2.0**-53


def u_key(round: int, purpose: str, node: int) -> str:
    """How a coin is named where one is chosen by hand: "3 judge 2"."""
    return f"{round} {purpose} {node}"


@dataclass(frozen=True, slots=True)
class Chance:
    """The coins of one round.

    chosen: coins that a person laid instead of letting them fall ("what if?"), by `u_key`.
    """

    seed: int
    round: int
    chosen: Mapping[str, float] = field(default_factory=dict)

    def draft(self, node: int) -> float:
        """The number that draws the candidate at `node` from q."""
        return self._coin(DRAFT, node)

    def judge(self, node: int) -> float:
        """The number that decides whether `node` is kept."""
        return self._coin(JUDGE, node)

    def final(self) -> float:
        """The number that draws the token which ends the round."""
        return self._coin(FINAL, 0)

    def baseline(self) -> float:
        """The number that draws a token of plain decoding."""
        return self._coin(BASELINE, 0)

    def _coin(self, purpose: str, node: int) -> float:
        fallen = self.chosen.get(u_key(self.round, purpose, node))
        return random_u(self.seed, self.round, purpose, node) if fallen is None else fallen
