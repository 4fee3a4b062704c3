"""A parent index that is off by one: the tree that then goes to the target, and what it is worth.

A reviewer's worry about trees kept as index arithmetic. Mask and positions follow from the wrong
parents, so the target judges other texts than the drafter meant. What it judges it judges rightly:
the text stays exact, and only the acceptance falls; nothing crashes and nothing warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specviz.cost import trees as law
from specviz.trees.parameters import Parameters

SIZE: Final = Parameters(4, 3, 10)  # of the tree that every position keeps an exhibit of


def shifted(parents: Sequence[int]) -> list[int]:
    """Every guess below the first level hangs under the node before its parent."""
    return [parent - 1 if parent >= 1 else parent for parent in parents]


def length(parents: Sequence[int], tokens: Sequence[int], p: Sequence[float]) -> float:
    """The expected accepted length. p: by node, the target's chance of its token after its parent.

    A token that stands under a parent twice is worth nothing the second time.
    """
    seen: set[tuple[int, int]] = set()
    keep = [1.0]
    for node in range(1, len(parents)):
        twin = (parents[node], tokens[node])
        keep.append(0.0 if twin in seen else p[node])
        seen.add(twin)
    return sum(law.reached(parents, keep)) - 1.0
