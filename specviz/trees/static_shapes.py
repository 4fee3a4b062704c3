"""Shapes of static trees: chains, k-ary trees, published ones, custom ones, and optimal ones.

A shape is its list of parents, as in `DraftTree`: node 0 is the root, siblings are in the order
tried.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from specviz.cost import tree_formula
from specviz.settings.published_trees import PUBLISHED_TREES
from specviz.settings.settings import MAX_GUESSES
from specviz.trees.parameters import BadTree, check_range

Path = tuple[int, ...]
MAX_CHARACTERS: Final = 20_000  # characters of a file


def chain(length: int) -> list[int]:
    """Return a chain."""
    check_range("The length of a chain", length, 1, MAX_GUESSES)
    return list(range(-1, length))


def regular(width: int, depth: int) -> list[int]:
    """Return a tree in which every inner node has `width` children. Raises BadTree."""
    check_range("The branching", width, 1, MAX_GUESSES)
    check_range("The depth", depth, 1, MAX_GUESSES)
    size = sum(width**level for level in range(1, depth + 1))
    if size > MAX_GUESSES:
        sentence = f"{width} children per node and {depth} levels make {size:,} guesses"
        raise BadTree(f"{sentence}; a tree can have at most {MAX_GUESSES}.")
    return tree_formula.full_tree([width] * depth)


def published(name: str) -> list[int]:
    """Return a published shape. Raises BadTree."""
    if name not in PUBLISHED_TREES:
        raise BadTree(
            f"No published shape is called {name!r:.40}; there is {', '.join(PUBLISHED_TREES)}."
        )
    return parents_of(PUBLISHED_TREES[name].paths)


def optimised(chances: Sequence[float], guesses: int, depth: int | None = None) -> list[int]:
    """Return the tree of this size with the most expected tokens, by acceptance by rank (Sequoia).

    A node's gain is the product of the chances along its path. No child gains more than its
    parent, so adding the best node each time gives the result of Sequoia's dynamic program
    (2402.12374).

    Args:
        chances: Acceptance by rank as measured; increases caused by noise are removed.
        guesses: Size of the tree.
        depth: The most levels; None for no limit.
    """
    check_range("The number of guesses", guesses, 1, MAX_GUESSES)
    if not chances or not all(0.0 <= chance <= 1.0 for chance in chances):
        raise BadTree("Acceptance by rank must be a list of probabilities from 0 to 1.")
    falling = [min(chances[: rank + 1]) for rank in range(len(chances))]
    return tree_formula.best_tree(falling, guesses, depth)


def parents_of(paths: Sequence[Sequence[int]]) -> list[int]:
    """Convert rank paths to parents. Raises BadTree if a prefix of a path is missing."""
    ordered = sorted({tuple(path) for path in paths}, key=lambda path: (len(path), path))
    if not ordered or len(ordered) > MAX_GUESSES:
        raise BadTree(f"A tree has 1 to {MAX_GUESSES} guesses, not {len(ordered)}.")
    nodes: dict[Path, int] = {(): 0}
    parents = [-1]
    for path in ordered:
        if not path or min(path) < 0 or path[:-1] not in nodes:
            above = list(path[:-1])
            raise BadTree(f"The rank path {list(path)} needs the path {above} in the tree.")
        nodes[path] = len(parents)
        parents.append(nodes[path[:-1]])
    return parents


def paths_of(parents: Sequence[int]) -> list[Path]:
    """Return the rank path of each node from 1: ranks among siblings from the root down."""
    children: dict[int, int] = {}
    paths: list[Path] = [()]
    for parent in parents[1:]:
        rank = children.get(parent, 0)
        children[parent] = rank + 1
        paths.append((*paths[parent], rank))
    return paths[1:]


def from_text(text: Any) -> list[int]:
    """Parse a JSON list of parents (-1 for the root) or of rank paths.

    Nodes of a list of parents may be in any order; they are renumbered, parents first. Raises
    BadTree with a sentence, for instance for a cycle.
    """
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise BadTree(f"A tree must be JSON text of at most {MAX_CHARACTERS:,} characters.")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise BadTree("This is not valid JSON.") from problem
    if isinstance(data, list) and data and all(_is_path(row) for row in data):
        return parents_of(data)
    if not isinstance(data, list) or not all(type(row) is int for row in data):
        raise BadTree("A tree must be a list of parents, as in [-1, 0, 0, 1], or of rank paths.")
    return in_order(data)


def _is_path(row: Any) -> bool:
    return isinstance(row, list) and all(type(rank) is int for rank in row)


def in_order(parents: Sequence[int]) -> list[int]:
    """Renumber a tree so that parents come before children. Raises BadTree if it is no tree."""
    size = len(parents)
    if not 2 <= size <= MAX_GUESSES + 1:
        raise BadTree(f"A tree has a root and 1 to {MAX_GUESSES} guesses, not {max(0, size - 1)}.")
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    if len(roots) != 1:
        raise BadTree(f"A tree has one root, whose parent is -1, not {len(roots)}.")
    wrong = next((n for n, parent in enumerate(parents) if not -1 <= parent < size), None)
    if wrong is not None:
        raise BadTree(f"Node {wrong} has parent {parents[wrong]}, which does not exist.")
    below: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent >= 0:
            below[parent].append(node)
    order = [roots[0]]
    for node in order:  # grows while it is walked
        order += below[node]
    if len(order) < size:
        unreachable = sorted(set(range(size)) - set(order))
        listed = ", ".join(map(str, unreachable[:6]))
        raise BadTree(f"Nodes {listed} do not lead to the root: their parents form a cycle.")
    new = {old: place for place, old in enumerate(order)}
    return [-1, *(new[parents[old]] for old in order[1:])]
