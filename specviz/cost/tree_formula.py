"""The speed-up formula for draft trees: a round adds one token per node on the accepted path.

A tree is given by its list of parents, as in `DraftTree`: node 0 is the last committed token, with
parent -1; every other node is a draft token and comes after its parent; siblings are in the order
in which they are tested. The probability of a node is the probability that it is the accepted child
if its parent was accepted. At most one sibling is accepted, so the probabilities of siblings sum to
at most 1. Levels are assumed independent, as in Sequoia (2402.12374), which is an approximation for
real models.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import pairwise

from specviz.cost.formula import check_not_negative, check_probability
from specviz.trace.depths import node_depths

SLACK = 1e-9  # sums of probabilities may exceed 1 by this much, because of rounding


def path_probabilities(parents: Sequence[int], keep: Sequence[float]) -> list[float]:
    """Return, for each node, the probability that it is on the accepted path.

    Their sum is the mean tokens per round, the target's own included; a chain with equal
    probabilities gives 1 + α + … + α^γ. keep: for each node, the probability that it is the
    accepted child if its parent was accepted; the value for node 0 is ignored.
    """
    _check_probabilities(parents, keep)
    chances = [1.0]
    for node, parent in enumerate(parents):
        if node:
            chances.append(chances[parent] * keep[node])
    return chances


def acceptance_by_position(parents: Sequence[int], chances: Sequence[float]) -> list[float]:
    """Return each node's probability; `chances` are those of the ranks among siblings, then 0."""
    ranks = sibling_ranks(parents)
    return [1.0, *(chances[rank] if rank < len(chances) else 0.0 for rank in ranks[1:])]


def depths(parents: Sequence[int]) -> list[int]:
    """Return, for each node, its distance from the root."""
    _check_order(parents)
    return node_depths(parents)


def full_tree(widths: Sequence[int]) -> list[int]:
    """Return the tree in which every node at depth d has widths[d] children, level by level."""
    parents, level = [-1], [0]
    for width in widths:
        if width < 0:
            raise ValueError(f"A node cannot have {width} children.")
        parents += [node for node in level for _ in range(width)]
        level = list(range(len(parents) - len(level) * width, len(parents)))
    return parents


def best_tree(chances: Sequence[float], nodes: int, depth: int | None = None) -> list[int]:
    """Return the tree of this size with the most expected tokens.

    A child's path probability is never larger than its parent's, so it is optimal to take the most
    probable node each time.

    Args:
        chances: Acceptance by rank among siblings, in descending order.
        nodes: Number of draft tokens; the tree is smaller if `depth` allows fewer.
        depth: Maximum number of levels; None for no limit.
    """
    check_not_negative("The number of draft tokens", nodes)
    _sum_siblings(chances)
    if not chances or any(a < b for a, b in pairwise(chances)):
        raise ValueError("Acceptance by rank must be given, and must not increase.")
    parents, levels = [-1], [0]
    waiting = [(-chances[0], 0, 0, 1.0)]  # -path probability, parent, rank, parent's
    while waiting and len(parents) <= nodes:
        _, parent, rank, parent_probability = heappop(waiting)
        here = parent_probability * chances[rank]
        levels.append(levels[parent] + 1)
        if depth is None or levels[-1] < depth:
            heappush(waiting, (-here * chances[0], len(parents), 0, here))
        if rank + 1 < len(chances):
            heappush(
                waiting,
                (-parent_probability * chances[rank + 1], parent, rank + 1, parent_probability),
            )
        parents.append(parent)
    return parents


def sibling_ranks(parents: Sequence[int]) -> list[int]:
    """Return, for each node, its rank among its siblings."""
    _check_order(parents)
    seen: dict[int, int] = {}
    ranks = []
    for parent in parents:
        ranks.append(seen.get(parent, 0))
        seen[parent] = ranks[-1] + 1
    return ranks


def _check_probabilities(parents: Sequence[int], keep: Sequence[float]) -> None:
    _check_order(parents)
    if len(keep) != len(parents):
        raise ValueError(
            f"{len(parents)} nodes need {len(parents)} probabilities, not {len(keep)}."
        )
    siblings: list[list[float]] = [[] for _ in parents]
    for parent, value in zip(parents[1:], keep[1:], strict=True):
        siblings[parent].append(value)
    for values in siblings:
        _sum_siblings(values)


def _sum_siblings(chances: Sequence[float]) -> float:
    total = sum(check_probability("The probability of a node", value) for value in chances)
    if total > 1.0 + SLACK:
        raise ValueError(
            f"Only one alternative can be accepted, but the probabilities sum to {total:g}."
        )
    return min(1.0, total)


def _check_order(parents: Sequence[int]) -> None:
    if not parents or parents[0] != -1:
        raise ValueError("A tree starts with its root, whose parent is -1.")
    if not all(0 <= parent < node for node, parent in enumerate(parents) if node):
        raise ValueError("A node's parent must come before it.")
