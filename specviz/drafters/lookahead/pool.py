"""A pool of n-grams by first token, and the tree of those that begin with the text's last token.

One rule: a first token keeps its G newest n-grams, and one that is found again counts as new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.verification.tree import DraftTree


@dataclass(frozen=True, slots=True)
class Found:
    """An n-gram, and where it was found last: in which round, in which column of the window."""

    tokens: tuple[int, ...]
    round: int
    column: int


class Pool:
    """One run's n-grams; at most `guesses` (G) for each first token."""

    def __init__(self, guesses: int) -> None:
        self.guesses = guesses
        self.by_first: dict[int, dict[tuple[int, ...], Found]] = {}  # the oldest first

    def __len__(self) -> int:
        return sum(map(len, self.by_first.values()))

    def add(self, found: Found) -> None:
        """Put an n-gram in, as the newest of its first token; the oldest gives way to a G + 1st."""
        kept = self.by_first.setdefault(found.tokens[0], {})
        kept.pop(found.tokens, None)
        kept[found.tokens] = found
        if len(kept) > self.guesses:
            del kept[next(iter(kept))]

    def after(self, token: int) -> list[Found]:
        """The n-grams that begin with `token`, the oldest first."""
        return list(self.by_first.get(token, {}).values())


def merged(
    root: int, ngrams: Sequence[Found], depth: int, ends: Sequence[int]
) -> tuple[DraftTree, list[int]]:
    """The n-grams, which begin with `root`, as one tree: common beginnings are common nodes.

    No deeper than `depth`, nothing after one of `ends`; siblings stand in the order of `ngrams`.
    The list says, for node 1 and on, which of `ngrams` put it there.
    """
    tokens, parents, origins = [root], [-1], []
    known: dict[tuple[int, int], int] = {}
    for index, ngram in enumerate(ngrams):
        node = 0
        for token in ngram.tokens[1 : depth + 1]:
            if (node, token) not in known:
                known[node, token] = len(tokens)
                tokens.append(token)
                parents.append(node)
                origins.append(index)
            node = known[node, token]
            if token in ends:
                break
    return DraftTree(tuple(tokens), tuple(parents)), origins
