"""Drafts that copy earlier tokens: matches and n-grams; `check` repeats what the drafters do.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
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


def merge_ngrams(
    ngrams: Sequence[Sequence[int]], depth: int, ends: Container[int]
) -> tuple[list[int], list[int], list[int]]:
    """Merge n-grams that begin with the root into a tree that has each common prefix once.

    Returns for each node from 1 on its token, its parent, and the index of the n-gram that added
    it.

    Args:
        ngrams: The n-grams, in the order in which siblings are tested.
        depth: The most guesses in a row.
        ends: Tokens that end a text.
    """
    tokens: list[int] = []
    parents: list[int] = []
    origins: list[int] = []
    known: dict[tuple[int, int], int] = {}
    for index, ngram in enumerate(ngrams):
        node = 0
        for token in ngram[1 : depth + 1]:
            if (node, token) not in known:
                tokens.append(token)
                parents.append(node)
                origins.append(index)
                known[node, token] = len(tokens)
            node = known[node, token]
            if token in ends:
                break
    return tokens, parents, origins
