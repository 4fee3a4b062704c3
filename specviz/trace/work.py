"""How much a pass is: rows that went through a model, and the weights that each of them met.

Rule: rows are counted where the network is called, by whoever calls it. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """Rows (tokens) that a model's own networks read.

    body: all. head: those whose logits were wanted. entry: those made of the target's states on the
    way in.
    """

    body: int = 0
    head: int = 0
    entry: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(self.body + other.body, self.head + other.head, self.entry + other.entry)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights that a row meets, as the `Work` of the same model is counted.

    body: in a pass. head: where logits are wanted; of a drafter that borrows it, the target's.
    entry: on the way in from the target's states, where that is a matrix of its own.
    """

    body: int
    head: int
    entry: int = 0
