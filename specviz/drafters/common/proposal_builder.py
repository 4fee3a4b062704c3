"""Builds a proposal of a draft model or head, level by level.

Copying a value to the host makes the host wait for the device. So guesses can be added under
guesses that the host has not read yet. If some of these unread guesses turn out to differ from what
was assumed, or to end their path, the levels that depend on them are dropped and built again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.candidates import (
    Candidates,
    CandidateValues,
    Coins,
    SampledCandidates,
    TopCandidates,
    coins_by_node,
)
from specviz.engine.protocol import Proposal
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification import Drawn
from specviz.verification.distributions import Draw, logits_to_probs
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree

Ranks = tuple[int, ...]  # ranks on a node's path: the rank of each guess among its siblings
HostValues = Sequence[Tensor]  # tensors on the host
Width = Callable[[Ranks], int]  # number of guesses under a node


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes that one pass of the model reads, before the guesses under them are known.

    Attributes:
        widths: How many guesses are added under each node, possibly none.
        first: Node number of the first of these guesses.
    """

    nodes: tuple[int, ...]
    parents: tuple[int, ...]
    widths: tuple[int, ...]
    first: int


@dataclass(frozen=True, slots=True)
class TreeShape:
    """The shape of a tree.

    Attributes:
        width: Returns the number of guesses under a node; if None, the settings give it for each
            depth.
        whole: Whether the model also reads nodes that get no guesses.
    """

    max_depth: int
    width: Width | None = None
    whole: bool = False


class ProposalBuilder:
    """Collects the guesses of one round for a `Proposal`.

    Attributes:
        paths: Ranks of the guesses on each node's path.
        q: For each parent, the distribution (V,) that its children were drawn from.
        score: Probability of each node at temperature 1.
        newest: Nodes of the deepest level.
    """

    def __init__(
        self, name: str, root: int, settings: Settings, eos: Sequence[int], chance: Chance
    ) -> None:
        self.name, self.settings, self.eos, self.chance = name, settings, eos, chance
        self.drawn = candidate_kind(settings, settings.branches)
        self.tokens, self.parents = [root], [-1]
        self.paths: list[Ranks] = [()]
        self.q: dict[int, Tensor] = {}
        self.draws: dict[int, Draw] = {}
        self.score: dict[int, float] = {}
        self.newest = range(1)

    def levels(self, shape: TreeShape) -> Iterator[Level]:
        """Yield the levels that are left to build, assuming that no guess ends its path."""
        width = shape.width or self._width
        all_parents, paths = list(self.parents), list(self.paths)
        level, closed = self.newest, {node for node in self.newest if self.ends(node)}
        while True:
            closed |= {node for node in level if len(paths[node]) >= shape.max_depth}
            wide = {node: 0 if node in closed else width(paths[node]) for node in level}
            if not any(wide.values()):
                return
            nodes = tuple(node for node in level if wide[node] or shape.whole)
            first = len(paths)
            parents, widths = (tuple(of[node] for node in nodes) for of in (all_parents, wide))
            yield Level(nodes, parents, widths, first)
            for node in nodes:
                all_parents += [node] * wide[node]
                paths += [(*paths[node], rank) for rank in range(wide[node])]
            level = range(first, len(paths))

    def coins(self, level: Level, uploads: UploadBatch | None) -> Coins | None:
        """Return the random numbers of a level's guesses; None if nothing is sampled."""
        if self.drawn is Drawn.POINT_MASS:
            return None
        counts = [width for width in level.widths if width]
        return Coins(coins_by_node(counts, partial(self._uniform, level.first)), uploads)

    def candidates(self, level: Level, logits: Tensor, coins: Coins | None) -> Candidates:
        """Return guesses under a level's nodes, given logits (n, V); top tokens without coins."""
        widths = [width for width in level.widths if width]
        if len(widths) < len(logits):
            logits = torch.stack(
                [row for row, wide in zip(logits, level.widths, strict=True) if wide]
            )
        if coins is None:
            return TopCandidates(logits, widths)
        distributions = logits_to_probs(logits, self.settings.sampling)
        return SampledCandidates.draw(distributions, coins, logits.float().softmax(-1))

    def add(self, levels: Sequence[Level], guesses: Sequence[Candidates], host: HostValues) -> None:
        """Add the guesses of several levels.

        If a guess differs from the token that deeper levels assumed, or ends its path, the levels
        below it are dropped.

        Raises BadScores if the logits are not finite.

        Args:
            levels: The levels.
            guesses: The guesses under each of them.
            host: The values of all that is pending of them, in order.
        """
        values = iter(host)
        for level, some in zip(levels, guesses, strict=True):
            mine = list(islice(values, len(some.pending)))
            under = [node for node, width in zip(level.nodes, level.widths, strict=True) if width]
            if any(self.ends(node) for node in under):
                return
            found = some.resolve(mine, self.name)
            self._append(under, found, some.distributions)
            if not found.confirmed:
                return

    def ends(self, node: int) -> bool:
        """Return whether a path ends at this node: an end-of-text token or low confidence."""
        unsure = self.score.get(node, 1.0) < self.settings.confidence
        return bool(node) and (unsure or self.tokens[node] in self.eos)

    def tree(self) -> DraftTree:
        """Return the tree of the guesses so far."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))

    def proposal(self, **more: Any) -> Proposal:
        """Return the guesses as a proposal, with these further fields."""
        return Proposal(self.tree(), self.drawn, self.q, self.draws, self.score, **more)

    def _width(self, ranks: Ranks) -> int:
        return self.settings.width(len(ranks))

    def _uniform(self, first: int, number: int) -> float:
        # u of guess `number`, from 0, in a level whose first guess is node `first`.
        return self.chance.draft(first + number)

    def _append(
        self,
        nodes: Sequence[int],
        found: CandidateValues,
        distributions: Sequence[Tensor] | Tensor,
    ) -> None:
        # In the order in which the rule tests them.
        first = len(self.tokens)
        self.q |= dict(zip(nodes, distributions, strict=False))
        self.draws |= dict(enumerate(chain.from_iterable(found.draws), first))
        self.score |= dict(enumerate(chain.from_iterable(found.probs), first))
        for node, some in zip(nodes, found.tokens, strict=True):
            self.tokens += some
            self.parents += [node] * len(some)
            self.paths += [(*self.paths[node], rank) for rank in range(len(some))]
        self.newest = range(first, len(self.tokens))


def candidate_kind(settings: Settings, branches: bool) -> Drawn:
    """Return how a draft model's candidates are drawn, with or without siblings."""
    if settings.candidates == "greedy" or settings.sampling.greedy:
        return Drawn.POINT_MASS
    return Drawn.WITHOUT_REPLACEMENT if branches else Drawn.SAMPLED


def fit_vocabulary(logits: Tensor, size: int) -> Tensor:
    """Cut or pad logits (..., W) to (..., size), since models pad a vocabulary differently."""
    missing = size - logits.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
    return logits[..., :size] if missing else logits
