"""Earlier occurrences of a text's last tokens; `check` repeats the drafter's search with them.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence of the text's last `length` tokens, beginning at `start`."""

    start: int
    length: int

    @property
    def end(self) -> int:
        """The position where the continuation starts."""
        return self.start + self.length


def longest_match(context: Sequence[int], shortest: int, longest: int) -> Match | None:
    """Return the earliest occurrence of the longest suffix that occurs before the end, or None."""
    text = list(context)
    for length in range(min(longest, len(text) - 1), shortest - 1, -1):
        suffix = text[-length:]
        for start in range(len(text) - length):
            if text[start] == suffix[0] and text[start : start + length] == suffix:
                return Match(start, length)
    return None
