"""The speed law for trees: a round brings one token for every node on the accepted path.

A tree is its parents, as in `DraftTree`: node 0 is the last committed token with parent -1, every
other node is a guess and comes after its parent, siblings in the order tried. Each node has the
chance of being the accepted child once its parent was accepted; siblings exclude each other, so
their chances sum to 1 at most. Independence between levels is assumed: Sequoia's positional view
(2402.12374); for real models it is an approximation. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from specviz.cost import formula
from specviz.cost.checks import check_not_negative, check_probability
from specviz.trace.depths import node_depths

SLACK = 1e-9  # chances computed in floating point may sum to a little more than 1


def expected_tokens(parents: Sequence[int], keep: Sequence[float]) -> float:
    """Tokens that a round brings on average: the sum over nodes, root included, of `reached`.

    keep: by node, the chance that it is the accepted child once its parent was; node 0's is not
    read. The accepted length is one less. A chain with equal chances gives 1 + α + … + α^γ.
    """
    return sum(path_probabilities(parents, keep))


def path_probabilities(parents: Sequence[int], keep: Sequence[float]) -> list[float]:
    """By node, the chance that it is on the accepted path: the product of `keep` from the root."""
    _check_probabilities(parents, keep)
    chances = [1.0]
    for node, parent in enumerate(parents):
        if node:
            chances.append(chances[parent] * keep[node])
    return chances


def acceptance_by_depth(parents: Sequence[int], keep: Sequence[float]) -> list[float]:
    """By length from 1 up, the chance that a round accepts at least so many guesses."""
    levels = depths(parents)
    found = [0.0] * max(levels)
    for level, value in zip(levels, path_probabilities(parents, keep), strict=True):
        if level:
            found[level - 1] += value
    return found


def acceptance_by_position(parents: Sequence[int], chances: Sequence[float]) -> list[float]:
    """`keep` where only the place among siblings matters: the first child's chance, the second's, …

    A node with more children than there are chances has no chance for the last ones.
    """
    places = _sibling_ranks(parents)
    return [1.0, *(chances[place] if place < len(chances) else 0.0 for place in places[1:])]


def depths(parents: Sequence[int]) -> list[int]:
    """By node, its distance from the root."""
    _check_order(parents)
    return node_depths(parents)


def regular_tree_tokens(chances: Sequence[float], depth: int) -> float:
    """Expected tokens of a full tree: a chain whose α is A = Σ chances, (1 − A^(d+1)) / (1 − A)."""
    return formula.expected_tokens(_sum_siblings(chances), depth)


def full_tree(widths: Sequence[int]) -> list[int]:
    """Parents of the tree in which every node at depth d has widths[d] children, level by level."""
    parents, level = [-1], [0]
    for width in widths:
        if width < 0:
            raise ValueError(f"A node cannot have {width} children.")
        parents += [node for node in level for _ in range(width)]
        level = list(range(len(parents) - len(level) * width, len(parents)))
    return parents


def best_tree(chances: Sequence[float], nodes: int, depth: int | None = None) -> list[int]:
    """Parents of the tree with the most expected tokens for its number of guesses.

    chances: by place among siblings, never rising. Every guess adds its own `reached`, and no child
    has more than its parent, so taking the likeliest guess each time is best. depth: levels at
    most; the tree is smaller than asked for where no more fit.
    """
    check_not_negative("The number of guesses", nodes)
    _sum_siblings(chances)
    if not chances or any(a < b for a, b in pairwise(chances)):
        raise ValueError("There must be chances by place, and none above the one before it.")
    parents, levels = [-1], [0]
    waiting = [(-chances[0], 0, 0, 1.0)]  # likeliest first; the parent, the place under it, its own
    while waiting and len(parents) <= nodes:
        _, parent, place, above = heappop(waiting)
        here = above * chances[place]
        levels.append(levels[parent] + 1)
        if depth is None or levels[-1] < depth:
            heappush(waiting, (-here * chances[0], len(parents), 0, here))
        if place + 1 < len(chances):
            heappush(waiting, (-above * chances[place + 1], parent, place + 1, above))
        parents.append(parent)
    return parents


def _sibling_ranks(parents: Sequence[int]) -> list[int]:
    """By node, how many siblings stand before it."""
    _check_order(parents)
    seen: dict[int, int] = {}
    places = []
    for parent in parents:
        places.append(seen.get(parent, 0))
        seen[parent] = places[-1] + 1
    return places


def _check_probabilities(parents: Sequence[int], keep: Sequence[float]) -> None:
    """Refuses chances that no accepted path can have."""
    _check_order(parents)
    if len(keep) != len(parents):
        raise ValueError(f"{len(parents)} nodes need as many chances, and there are {len(keep)}.")
    siblings: list[list[float]] = [[] for _ in parents]
    for parent, value in zip(parents[1:], keep[1:], strict=True):
        siblings[parent].append(value)
    for values in siblings:
        _sum_siblings(values)


def _sum_siblings(chances: Sequence[float]) -> float:
    """The chance that one of these siblings is accepted: they exclude each other."""
    total = sum(check_probability("The chance of a node", value) for value in chances)
    if total > 1.0 + SLACK:
        raise ValueError(f"Only one sibling can be accepted, and the chances sum to {total:g}.")
    return min(1.0, total)


def _check_order(parents: Sequence[int]) -> None:
    if not parents or parents[0] != -1:
        raise ValueError("A tree starts with its root, whose parent is -1.")
    if not all(0 <= parent < node for node, parent in enumerate(parents) if node):
        raise ValueError("A node's parent must come before it.")
