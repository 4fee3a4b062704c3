"""Sizes and shapes of draft trees, in the conventions of SGLang, EAGLE, JetSpec and this program.

A dynamic tree has three parameters, which have other names in every program. Here `depth` counts
levels of guesses and `budget` counts guesses. SGLang's num_draft_tokens, EAGLE's total_tokens and
JetSpec's budget include the root, and EAGLE's depth is one less, since it counts the passes after
the first.

A static shape is its list of parents, as in `DraftTree`: node 0 is the root, and siblings are in
the order in which they are tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.cost import tree_formula
from specviz.settings.published_trees import PUBLISHED_TREES
from specviz.settings.settings import MAX_GUESSES
from specviz.settings.suggestion import did_you_mean
from specviz.trace.depths import node_depths


class BadTree(ValueError):
    """Raised if a tree cannot be grown or read; the message is a sentence."""


def check_range(called: str, value: Any, least: int, most: int) -> int:
    """Return `value` if it is an integer within the limits. Raises BadTree if not."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadTree(f"{called} must be an integer from {least} to {most}, not {value!r:.40}.")
    return value


DEEPEST: Final = 16
WIDEST: Final = 16


@dataclass(frozen=True, slots=True)
class Parameters:
    """The size of a dynamic tree; numbers out of range raise BadTree.

    Attributes:
        width: Guesses per node, and nodes per level that are expanded.
        budget: Guesses that are kept.
    """

    depth: int
    width: int
    budget: int

    def __post_init__(self) -> None:
        check_range("The depth", self.depth, 1, DEEPEST)
        check_range("The branching (top-k)", self.width, 1, WIDEST)
        check_range("The budget", self.budget, 1, MAX_GUESSES)

    @classmethod
    def sglang(cls, steps: int, topk: int, num_draft_tokens: int) -> Self:
        """Convert --speculative-num-steps, -eagle-topk and -num-draft-tokens."""
        check_range(
            "num_draft_tokens, which includes the root,", num_draft_tokens, 2, MAX_GUESSES + 1
        )
        return cls(steps, topk, num_draft_tokens - 1)

    @classmethod
    def eagle(cls, total_tokens: int, depth: int, top_k: int) -> Self:
        """Convert total_tokens, depth and top_k of SafeAILab's EAGLE-2 and EAGLE-3."""
        check_range("total_tokens, which includes the root,", total_tokens, 2, MAX_GUESSES + 1)
        check_range("EAGLE’s depth", depth, 0, DEEPEST - 1)
        return cls(depth + 1, top_k, total_tokens - 1)

    @classmethod
    def jetspec(cls, tree_depth: int, tree_width: int, budget: int) -> Self:
        """Convert tree_depth, tree_width and budget of JetSpec (2606.18394)."""
        check_range("JetSpec’s budget, which includes the root,", budget, 2, MAX_GUESSES + 1)
        return cls(tree_depth, tree_width, budget - 1)

    @classmethod
    def of(cls, data: Any) -> Self:
        """Parse a size with the names of one program; ours are depth, width and budget."""
        ways: dict[tuple[str, ...], Callable[..., Self]] = {
            ("depth", "width", "budget"): cls,
            ("steps", "topk", "num_draft_tokens"): cls.sglang,
            ("total_tokens", "depth", "top_k"): cls.eagle,
            ("tree_depth", "tree_width", "budget"): cls.jetspec,
        }
        for names, build in ways.items():
            if isinstance(data, Mapping) and set(data) == set(names):
                return build(**data)
        known = "; ".join(", ".join(names) for names in ways)
        raise BadTree(f"A dynamic tree has three numbers, with the names of one engine: {known}.")

    def check_vocabulary(self, size: int) -> None:
        """Raise BadTree if top-k exceeds the number of tokens."""
        if self.width > size:
            sentence = f"Top-k {self.width} exceeds the {size} tokens that the drafter knows."
            raise BadTree(sentence)

    @property
    def names(self) -> dict[str, dict[str, int]]:
        """The three numbers under the names of each program."""
        return {
            "specviz": {"gamma": self.depth, "fan_out": self.width, "budget": self.budget},
            "SGLang": {
                "steps": self.depth,
                "topk": self.width,
                "num_draft_tokens": self.budget + 1,
            },
            "EAGLE": {
                "total_tokens": self.budget + 1,
                "depth": self.depth - 1,
                "top_k": self.width,
            },
            "JetSpec": {
                "tree_depth": self.depth,
                "tree_width": self.width,
                "budget": self.budget + 1,
            },
        }

    @property
    def pool(self) -> int:
        """The number of guesses considered if no branch ends early: k + (d − 1) k²."""
        return self.width + (self.depth - 1) * self.width**2


# Title and size. Presets named SGLang are its defaults by model, and 60 tokens are EAGLE's default.
PRESETS: Final[tuple[tuple[str, Parameters], ...]] = (
    ("House: depth 5, best 24", Parameters(5, 6, 24)),
    ("SGLang 6, 10, 60", Parameters.sglang(6, 10, 60)),
    ("SGLang 5, 4, 8 (Llama, Grok)", Parameters.sglang(5, 4, 8)),
    ("SGLang 3, 1, 4: a chain", Parameters.sglang(3, 1, 4)),
    ("EAGLE-2: 60 tokens, depth 5, k 10", Parameters.eagle(60, 5, 10)),
)


Path = tuple[int, ...]
MAX_CHARACTERS: Final = 20_000  # maximum characters of a file


def chain(length: int) -> list[int]:
    """Return the parents of a chain."""
    check_range("The length of a chain", length, 1, MAX_GUESSES)
    return list(range(-1, length))


def regular_tree(width: int, depth: int) -> list[int]:
    """Return a tree in which every inner node has `width` children.

    Raises BadTree if it is too large.
    """
    check_range("The branching", width, 1, MAX_GUESSES)
    check_range("The depth", depth, 1, MAX_GUESSES)
    size = sum(width**level for level in range(1, depth + 1))
    if size > MAX_GUESSES:
        sentence = f"{width} children per node and {depth} levels make {size:,} guesses"
        raise BadTree(f"{sentence}; a tree can have at most {MAX_GUESSES}.")
    return tree_formula.full_tree([width] * depth)


def published_tree(name: str) -> list[int]:
    """Return a published shape. Raises BadTree if there is none with this name."""
    if name not in PUBLISHED_TREES:
        known = ", ".join(PUBLISHED_TREES)
        hint = did_you_mean(name, PUBLISHED_TREES)
        raise BadTree(f"No published shape is called {name!r:.40}; there is {known}.{hint}")
    return parents_of(PUBLISHED_TREES[name].paths)


def optimal_tree(chances: Sequence[float], guesses: int, depth: int | None = None) -> list[int]:
    """Return the tree of this size with the most expected tokens, given acceptance by rank.

    A node's gain is the product of the acceptance along its path. A child never gains more than its
    parent, so repeatedly adding the best node gives the same tree as Sequoia's dynamic program
    (2402.12374).

    Args:
        chances: Measured acceptance by rank. It should decrease; increases are treated as noise.
        guesses: Size of the tree.
        depth: Maximum number of levels; None for no limit.
    """
    check_range("The number of guesses", guesses, 1, MAX_GUESSES)
    if not chances or not all(0.0 <= chance <= 1.0 for chance in chances):
        raise BadTree("Acceptance by rank must be a list of probabilities from 0 to 1.")
    falling = [min(chances[: rank + 1]) for rank in range(len(chances))]
    return tree_formula.best_tree(falling, guesses, depth)


def parents_of(paths: Sequence[Sequence[int]]) -> list[int]:
    """Convert rank paths to parents. Raises BadTree if a path's parent is missing."""
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
    """Return the rank path of each node from 1: ranks among siblings, from the root down."""
    paths: list[Path] = [()]
    for parent, rank in zip(parents[1:], tree_formula.sibling_ranks(parents)[1:], strict=True):
        paths.append((*paths[parent], rank))
    return paths[1:]


def from_text(text: Any) -> list[int]:
    """Parse a JSON list of parents (-1 for the root) or of rank paths.

    The nodes in a list of parents may be in any order; they are renumbered so that parents come
    first. Raises BadTree if the text does not describe a tree, for instance because of a cycle.
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
    """Renumber a tree so that parents come before children.

    Raises BadTree if this is not a tree.
    """
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
    for node in order:  # the list grows during the loop
        order += below[node]
    if len(order) < size:
        unreachable = sorted(set(range(size)) - set(order))
        listed = ", ".join(map(str, unreachable[:6]))
        raise BadTree(f"Nodes {listed} do not lead to the root: their parents form a cycle.")
    new = {old: index for index, old in enumerate(order)}
    return [-1, *(new[parents[old]] for old in order[1:])]


NONE: Final = -1  # there is no such node


def linked_list(parents: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the left-child, right-sibling list of a tree, as SGLang's build_tree_kernel writes it.

    These are the first child of each node and the sibling tested after it; -1 if there is none.
    """
    first, after = [NONE] * len(parents), [NONE] * len(parents)
    newest: dict[int, int] = {}  # last child so far of each parent
    for node, parent in enumerate(parents):
        if not node:
            continue
        if parent in newest:
            after[newest[parent]] = node
        else:
            first[parent] = node
        newest[parent] = node
    return first, after


def retrieve_indices(parents: Sequence[int]) -> list[list[int]]:
    """Return one row per leaf: the path from the root, padded with -1 (as in EAGLE and Medusa)."""
    inner = set(parents)
    leaves = [node for node in range(len(parents)) if node not in inner]
    rows = [path(parents, leaf) for leaf in leaves]
    longest = max(map(len, rows))
    return [[*row, *[NONE] * (longest - len(row))] for row in rows]


def path(parents: Sequence[int], node: int) -> list[int]:
    """Return the nodes from the root to `node`, both included."""
    up = [node]
    while up[-1]:
        up.append(parents[up[-1]])
    return up[::-1]


def mask(parents: Sequence[int]) -> list[list[int]]:
    """Return, for each row, the nodes that it attends to: itself and its ancestors."""
    return [path(parents, node) for node in range(len(parents))]


def positions(parents: Sequence[int], length: int = 0) -> list[int]:
    """Return the position of each node: `length` + its depth."""
    return [length + depth for depth in node_depths(list(parents))]
