"""A parent index that is off by one: the tree that then goes to the target, and what it is worth.

A reviewer's worry about trees kept as index arithmetic. Mask and positions follow from the wrong
parents, so the target judges other texts than the drafter meant. What it judges it judges rightly:
the text stays exact, and only the acceptance falls; nothing crashes and nothing warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from specviz.cost import tree_formula as law
from specviz.settings.chance import Chance
from specviz.trace.rule_specs import Drawn
from specviz.trees.parameters import Parameters
from specviz.verification import make_rule
from specviz.verification.tree import DraftTree

SIZE: Final = Parameters(4, 3, 10)  # of the tree that every position keeps an exhibit of


def shift_parents(parents: Sequence[int]) -> list[int]:
    """Every guess below the first level hangs under the node before its parent."""
    return [parent - 1 if parent >= 1 else parent for parent in parents]


def kept_nodes(
    parents: Sequence[int], tokens: Sequence[int], p: Sequence[float], chance: Chance
) -> list[int]:
    """The nodes that one throw keeps, by the rule for fixed guesses. p: as for `length`.

    All that the target gives to other tokens is one lump, which no guess has.
    """
    words = sorted(set(tokens))
    laws = torch.zeros(len(tokens), len(words) + 1, dtype=torch.float64)
    places = [words.index(token) for token in tokens]
    for node in range(1, len(tokens)):
        laws[parents[node], places[node]] = p[node]
    laws[:, -1] = (1.0 - laws.sum(-1)).clamp(min=0.0)
    tree = DraftTree(tuple(places), tuple(parents))
    judged = make_rule("point-mass").judge(tree, Drawn.POINT_MASS, laws, {}, chance)
    return list(judged.path)


def expected_length(parents: Sequence[int], tokens: Sequence[int], p: Sequence[float]) -> float:
    """The expected accepted length. p: by node, the target's chance of its token after its parent.

    A token that stands under a parent twice is worth nothing the second time.
    """
    seen: set[tuple[int, int]] = set()
    keep = [1.0]
    for node in range(1, len(parents)):
        twin = (parents[node], tokens[node])
        keep.append(0.0 if twin in seen else p[node])
        seen.add(twin)
    return sum(law.path_probabilities(parents, keep)) - 1.0
