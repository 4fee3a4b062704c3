"""Verify draft trees at a recorded position.

Two rules are compared: a tree is sampled and judged from the root down and from the leaves up, with
the same u. q is restricted to the drafter's few top tokens, so the recording contains all of q. All
tokens that were not recorded are combined into one, for which q is 0, so the result is exact.

The module also shows what happens if parent indices are off by one, a known error in code that
computes these indices. Attention mask and positions then use the wrong parents, so the target
scores paths that the drafter did not propose. Each verdict is correct for these paths, so the
output distribution stays exact and only acceptance decreases: nothing crashes or warns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NotRequired, TypedDict

import torch
from torch import Tensor

from specviz.cost import tree_formula
from specviz.drafters.common.candidates import distinct_draws
from specviz.settings.chance import Chance
from specviz.trace.rule_specs import Drawn
from specviz.trees.grown_tree import GrownTree
from specviz.trees.recorded_position import Path, RecordedPosition, Row
from specviz.trees.shapes import BadTree, Parameters
from specviz.verification import Verdict, make_rule
from specviz.verification.distributions import draw_each
from specviz.verification.exact import verdicts
from specviz.verification.tree import DraftTree

TOP_Q: Final = 3  # number of tokens that q is restricted to
MAX_DEPTH: Final = 3
SHAPES: Final = ((2, 2), (3, 2), (2, 2, 1), (3, 1, 1), (2, 1), (1, 1, 1))
SAMPLING_MODES: Final = {"sampled": Drawn.SAMPLED, "without-replacement": Drawn.WITHOUT_REPLACEMENT}


class Scores(TypedDict):
    """A guess's q and the target's p of it, after its parent; the root has none."""

    p: NotRequired[float]
    q: NotRequired[float]


@dataclass(frozen=True)
class SampledTree:
    """A sampled tree with its distributions over a small vocabulary.

    Attributes:
        tree: The tree; its tokens are indices into `vocabulary`.
        vocabulary: Token ids by index; the index after the last id represents all other tokens.
        drawn: How siblings were sampled.
        p: (n, W), the target's distribution after each node.
        q: For each parent, the distribution (W,) that its children were sampled from.
    """

    tree: DraftTree
    vocabulary: list[int]
    drawn: Drawn
    p: Tensor
    q: dict[int, Tensor]

    def scores(self, node: int) -> Scores:
        """Return a node's scores."""
        if not node:
            return {}
        parent, token = self.tree.parents[node], self.tree.tokens[node]
        return {"p": float(self.p[parent][token]), "q": float(self.q[parent][token])}

    def rules(self) -> dict[str, str]:
        """Return the two rules, by direction."""
        down = "speculative" if self.drawn is Drawn.SAMPLED else "without-replacement"
        return {"top-down": down, "traversal": "traversal"}

    def verdicts(self, chance: Chance) -> dict[str, Verdict]:
        """Return the verdict of each rule for the same u."""
        return {
            way: make_rule(rule).judge(self.tree, self.drawn, self.p, self.q, chance)
            for way, rule in self.rules().items()
        }

    def expected(self) -> dict[str, float]:
        """Return the exact expected accepted length of this tree by each rule, over all u."""
        return {
            way: sum(
                mass * len(verdict.path)
                for mass, verdict in verdicts(
                    make_rule(rule), self.tree, self.drawn, self.p, self.q
                )
            )
            for way, rule in self.rules().items()
        }


class PositionModels:
    """The predictions at a recorded position, as two models over a small vocabulary."""

    def __init__(self, position: RecordedPosition) -> None:
        self.position = position
        self.vocabulary = sorted({token for row in position.rows.values() for token in row.tokens})
        self.index_of = {token: at for at, token in enumerate(self.vocabulary)}

    def p(self, path: Path) -> Tensor:
        """Return p after a path, (W,), the last entry for all other ids.

        Raises BadTree if the path was not recorded.
        """
        row = self._row(path)
        probs = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        probs[[self.index_of[token] for token in row.tokens]] = torch.tensor(row.p).double()
        probs[-1] = max(0.0, 1.0 - float(probs.sum()))
        return probs / probs.sum()

    def q(self, path: Path) -> Tensor:
        """Return the drafter's restricted distribution after a path, (W,).

        Raises BadTree if the path was not recorded.
        """
        row = self._row(path)
        probs = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        logs = torch.tensor(row.logs[:TOP_Q], dtype=torch.float64)
        probs[[self.index_of[token] for token in row.tokens[:TOP_Q]]] = logs.softmax(-1)
        return probs

    def _row(self, path: Path) -> Row:
        row = self.position.rows.get(path)
        if row is None:
            raise BadTree("This position was not recorded to this depth.")
        return row

    def greedy(self, path: Path) -> Tensor:
        """Return the target's distribution at temperature 0, (W,): one-hot."""
        probs, top = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64), self._row(path).top
        probs[self.index_of.get(top, -1)] = 1.0
        return probs

    def verify(self, grown: GrownTree, chance: Chance, cold: bool) -> Verdict:
        """Judge a tree of guesses that were not sampled.

        The verdict refers to nodes of `grown.tree`. After a leaf whose predictions were not
        recorded, the combined token has probability 1.

        Args:
            grown: The tree.
            chance: The source of u.
            cold: Whether to judge at temperature 0 instead of 1.
        """
        others = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        others[-1] = 1.0
        distribution_after = self.greedy if cold else self.p
        paths = [grown.path(node) for node in grown.kept]
        p = torch.stack(
            [distribution_after(path) if path in self.position.rows else others for path in paths]
        )
        indices = [0, *(self.index_of[token] for token in grown.tree.tokens[1:])]
        tree = DraftTree(tuple(indices), grown.tree.parents)
        return make_rule("point-mass").judge(tree, Drawn.POINT_MASS, p, {}, chance)

    def draft(self, widths: Sequence[int], drawn: Drawn, chance: Chance) -> SampledTree:
        """Sample a tree with `widths[d]` guesses under each node of depth d."""
        tokens, level = [self.position.root], [0]
        paths: list[Path] = [()]
        parents, q = [-1], dict[int, Tensor]()
        for width in widths:
            first = len(parents)
            for node in [n for n in level if not n or tokens[n] not in self.position.eos]:
                q[node] = self.q(paths[node])
                coins = [chance.draft(len(parents) + i) for i in range(width)]
                for index in sample_guesses(q[node], coins, drawn):
                    parents.append(node)
                    tokens.append(self.vocabulary[index])
                    paths.append((*paths[node], self.vocabulary[index]))
            level = list(range(first, len(parents)))
        indices = [0, *(self.index_of[token] for token in tokens[1:])]
        tree = DraftTree(tuple(indices), tuple(parents))
        p = torch.stack([self.p(path) for path in paths])
        return SampledTree(tree, self.vocabulary, drawn, p, q)


def sample_guesses(probs: Tensor, coins: Sequence[float], drawn: Drawn) -> list[int]:
    """Sample guesses from one distribution, with one u each; without replacement, all differ."""
    if drawn is Drawn.SAMPLED:
        return [draw.token for draw in draw_each([probs] * len(coins), coins)]
    used = coins[: int((probs > 0).sum())]
    return distinct_draws(probs[None], [used], probs[None]).tokens[0]


@dataclass(frozen=True, slots=True)
class Average:
    """Results over many sampled trees.

    Attributes:
        lengths: Mean of the expected accepted length, by rule.
        error: Standard error of the difference between the rules.
    """

    trees: int
    lengths: dict[str, float]
    error: float


def average(
    models: PositionModels, widths: Sequence[int], drawn: Drawn, trees: int, seed: int
) -> Average:
    """Average the expected lengths by both rules over many sampled trees."""
    found = [
        models.draft(widths, drawn, Chance(seed, number)).expected() for number in range(trees)
    ]
    gains = torch.tensor([lengths["traversal"] - lengths["top-down"] for lengths in found])
    means = {way: sum(lengths[way] for lengths in found) / trees for way in found[0]}
    error = float(gains.std() / trees**0.5) if trees > 1 else 0.0
    return Average(trees, means, error)


SIZE: Final = Parameters(4, 3, 10)  # size of the tree whose parents are off by one


def shift_parents(parents: Sequence[int]) -> list[int]:
    """Return parents with a deliberate error: below the first level, each index is one too low."""
    return [parent - 1 if parent >= 1 else parent for parent in parents]


def accepted_nodes(
    parents: Sequence[int], tokens: Sequence[int], p: Sequence[float], chance: Chance
) -> list[int]:
    """Return the nodes that the point-mass rule accepts with these random numbers.

    The target's probability of all tokens outside the tree is combined into one token.

    Args:
        parents: The tree.
        tokens: Token of each node.
        p: The target's probability of each node's token after its parent.
        chance: The source of u.
    """
    words = sorted(set(tokens))
    probs = torch.zeros(len(tokens), len(words) + 1, dtype=torch.float64)
    indices = [words.index(token) for token in tokens]
    for node in range(1, len(tokens)):
        probs[parents[node], indices[node]] = p[node]
    probs[:, -1] = (1.0 - probs.sum(-1)).clamp(min=0.0)
    tree = DraftTree(tuple(indices), tuple(parents))
    judged = make_rule("point-mass").judge(tree, Drawn.POINT_MASS, probs, {}, chance)
    return list(judged.path)


def expected_length(parents: Sequence[int], tokens: Sequence[int], p: Sequence[float]) -> float:
    """Return the expected accepted length; equal tokens after the same parent count once."""
    seen: set[tuple[int, int]] = set()
    keep = [1.0]
    for node in range(1, len(parents)):
        twin = (parents[node], tokens[node])
        keep.append(0.0 if twin in seen else p[node])
        seen.add(twin)
    return sum(tree_formula.path_probabilities(parents, keep)) - 1.0
