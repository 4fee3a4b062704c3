"""Parent indices that are off by one: the tree that the target then gets, and its expected length.

A reviewer's concern about trees kept as index arithmetic. Mask and positions follow the wrong
parents, so the target judges texts that the drafter did not mean. Its verdicts are right, so the
text stays exact and only acceptance falls; nothing crashes and nothing warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import torch

from specviz.cost import tree_formula
from specviz.settings.chance import Chance
from specviz.trace.rule_specs import Drawn
from specviz.trees.parameters import Parameters
from specviz.verification import make_rule
from specviz.verification.tree import DraftTree

SIZE: Final = Parameters(4, 3, 10)  # size of the tree that is recorded off by one


def shift_parents(parents: Sequence[int]) -> list[int]:
    """Attach every guess below the first level to the node before its parent."""
    return [parent - 1 if parent >= 1 else parent for parent in parents]


def kept_nodes(
    parents: Sequence[int], tokens: Sequence[int], p: Sequence[float], chance: Chance
) -> list[int]:
    """Return the nodes that are accepted for one u, by the rule for guesses that are not sampled.

    All that the target gives to other tokens is one combined token, which no guess has.

    Args:
        parents: The tree.
        tokens: Tokens by node.
        p: By node, the target's probability of its token after its parent.
        chance: The source of u.
    """
    words = sorted(set(tokens))
    probs = torch.zeros(len(tokens), len(words) + 1, dtype=torch.float64)
    places = [words.index(token) for token in tokens]
    for node in range(1, len(tokens)):
        probs[parents[node], places[node]] = p[node]
    probs[:, -1] = (1.0 - probs.sum(-1)).clamp(min=0.0)
    tree = DraftTree(tuple(places), tuple(parents))
    judged = make_rule("point-mass").judge(tree, Drawn.POINT_MASS, probs, {}, chance)
    return list(judged.path)


def expected_length(parents: Sequence[int], tokens: Sequence[int], p: Sequence[float]) -> float:
    """Return the expected accepted length.

    A token that appears twice after the same parent counts only once.

    Args:
        parents: The tree.
        tokens: Tokens by node.
        p: By node, the target's probability of its token after its parent.
    """
    seen: set[tuple[int, int]] = set()
    keep = [1.0]
    for node in range(1, len(parents)):
        twin = (parents[node], tokens[node])
        keep.append(0.0 if twin in seen else p[node])
        seen.add(twin)
    return sum(tree_formula.path_probabilities(parents, keep)) - 1.0
