"""The work of a pass: how many rows a model reads, and how many weights each row uses.

The code that calls a network counts its rows. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Work:
    """Rows (tokens) that a model's own networks read.

    Attributes:
        head: Rows whose logits were computed.
        entry: Rows made from the target's states before the first layer.
        correction: Rows whose logits a small head corrected, one guess after another; None for a
            drafter without such a head.
    """

    body: int = 0
    head: int = 0
    entry: int = 0
    correction: int | None = None

    def __add__(self, other: Work) -> Work:
        counts = [each for each in (self.correction, other.correction) if each is not None]
        return Work(
            self.body + other.body,
            self.head + other.head,
            self.entry + other.entry,
            sum(counts) if counts else None,
        )


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights that each row of a `Work` of the same model uses.

    Attributes:
        head: Weights for logits; those of the target's output head if the drafter uses that one.
        entry: Weights of a separate matrix that converts the target's states to rows, if there is
            one.
        correction: Weights of the small head that corrects logits, if there is one.
    """

    body: int
    head: int
    entry: int = 0
    correction: int | None = None
