"""Two rules on one tree and one chance: down from the root, or up from the leaves.

Guesses are drawn from the drafter's law cut to its top few, a setting that runs have too, so all
that has q is in a field; everything else of p is one lump, in which q is 0, so that nothing of the
arithmetic is lost by lumping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from specviz.drafters.common.candidates import distinct_draws
from specviz.settings.chance import Chance
from specviz.trace.rule_specs import Drawn
from specviz.trees.grown_tree import GrownTree
from specviz.trees.parameters import BadTree
from specviz.trees.recorded_position import Path, RecordedPosition, Row
from specviz.verification import Verdict, make_rule
from specviz.verification.distributions import draw_each
from specviz.verification.exact import verdicts
from specviz.verification.tree import DraftTree

TOP_Q: Final = 3  # tokens that q keeps
MAX_DEPTH: Final = 3
SHAPES: Final = ((2, 2), (3, 2), (2, 2, 1), (3, 1, 1), (2, 1), (1, 1, 1))
SAMPLING_MODES: Final = {"sampled": Drawn.SAMPLED, "without-replacement": Drawn.WITHOUT_REPLACEMENT}


@dataclass(frozen=True)
class SampledTree:
    """A drawn tree with its laws over a small vocabulary, the last place of which is all others.

    tree: its tokens are places in `vocabulary`. p: (n, W), q: by parent, (W,).
    """

    tree: DraftTree
    vocabulary: list[int]
    drawn: Drawn
    p: Tensor
    q: dict[int, Tensor]

    def rules(self) -> dict[str, str]:
        """The two rules that fit, by direction."""
        down = "speculative" if self.drawn is Drawn.SAMPLED else "without-replacement"
        return {"top-down": down, "traversal": "traversal"}

    def verdicts(self, chance: Chance) -> dict[str, Verdict]:
        """What either rule decides on the same coins."""
        return {
            way: make_rule(rule).judge(self.tree, self.drawn, self.p, self.q, chance)
            for way, rule in self.rules().items()
        }

    def expected(self) -> dict[str, float]:
        """The accepted length of this very tree, over all coins, exactly."""
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
    """A field as two models over a small vocabulary."""

    def __init__(self, field: RecordedPosition) -> None:
        self.field = field
        self.vocabulary = sorted({token for row in field.rows.values() for token in row.tokens})
        self.place = {token: at for at, token in enumerate(self.vocabulary)}

    def p(self, path: Path) -> Tensor:
        """The target's law after a path, (W,), the last place being all other tokens.

        Raises BadTree where the field does not know it.
        """
        row = self._row(path)
        law = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        law[[self.place[token] for token in row.tokens]] = torch.tensor(row.p).double()
        law[-1] = max(0.0, 1.0 - float(law.sum()))
        return law / law.sum()

    def q(self, path: Path) -> Tensor:
        """The drafter's law after a path, cut to its top few, (W,). Raises BadTree."""
        row = self._row(path)
        law = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        logs = torch.tensor(row.logs[:TOP_Q], dtype=torch.float64)
        law[[self.place[token] for token in row.tokens[:TOP_Q]]] = logs.softmax(-1)
        return law

    def _row(self, path: Path) -> Row:
        row = self.field.rows.get(path)
        if row is None:
            raise BadTree("This position was not recorded so deep.")
        return row

    def greedy(self, path: Path) -> Tensor:
        """The target's law at temperature 0, (W,): one-hot, on the lump where it is not a guess."""
        law, top = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64), self._row(path).top
        law[self.place.get(top, -1)] = 1.0
        return law

    def verify(self, one: GrownTree, chance: Chance, cold: bool) -> Verdict:
        """What becomes of a tree of fixed guesses. cold: at temperature 0, else at 1.

        Nodes are those of `one.tree`. After a leaf that the field does not know, only the lump
        follows.
        """
        lump = torch.zeros(len(self.vocabulary) + 1, dtype=torch.float64)
        lump[-1] = 1.0
        say = self.greedy if cold else self.p
        paths = [one.path(node) for node in one.kept]
        p = torch.stack([say(path) if path in self.field.rows else lump for path in paths])
        places = [0, *(self.place[token] for token in one.tree.tokens[1:])]
        tree = DraftTree(tuple(places), one.tree.parents)
        return make_rule("point-mass").judge(tree, Drawn.POINT_MASS, p, {}, chance)

    def draft(self, widths: Sequence[int], drawn: Drawn, chance: Chance) -> SampledTree:
        """A tree drawn by chance: so many guesses under every node, by depth. Raises BadTree."""
        tokens, level = [self.field.root], [0]
        paths: list[Path] = [()]
        parents, q = [-1], dict[int, Tensor]()
        for width in widths:
            first = len(parents)
            for node in [n for n in level if not n or tokens[n] not in self.field.eos]:
                q[node] = self.q(paths[node])
                coins = [chance.draft(len(parents) + i) for i in range(width)]
                for place in sample_guesses(q[node], coins, drawn):
                    parents.append(node)
                    tokens.append(self.vocabulary[place])
                    paths.append((*paths[node], self.vocabulary[place]))
            level = list(range(first, len(parents)))
        places = [0, *(self.place[token] for token in tokens[1:])]
        tree = DraftTree(tuple(places), tuple(parents))
        p = torch.stack([self.p(path) for path in paths])
        return SampledTree(tree, self.vocabulary, drawn, p, q)


def sample_guesses(law: Tensor, coins: Sequence[float], drawn: Drawn) -> list[int]:
    """Guesses from one law, a coin each; without replacement no token twice."""
    if drawn is Drawn.SAMPLED:
        return [made.token for made in draw_each([law] * len(coins), coins)]
    some = coins[: int((law > 0).sum())]
    return distinct_draws(law[None], [some], law[None]).tokens[0]


@dataclass(frozen=True, slots=True)
class Average:
    """Over many drawn trees. lengths: mean expected accepted length by direction. error: standard
    error of traversal's gain."""

    trees: int
    lengths: dict[str, float]
    error: float


def average(
    world: PositionModels, widths: Sequence[int], drawn: Drawn, trees: int, seed: int
) -> Average:
    """Both rules on many trees, each with all of its coins: a tree that suits one may not suit the
    other, only their means are ordered."""
    found = [world.draft(widths, drawn, Chance(seed, number)).expected() for number in range(trees)]
    gains = torch.tensor([one["traversal"] - one["top-down"] for one in found])
    means = {way: sum(one[way] for one in found) / trees for way in found[0]}
    error = float(gains.std() / trees**0.5) if trees > 1 else 0.0
    return Average(trees, means, error)
