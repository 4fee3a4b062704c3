"""A proposal in the making: guesses of a model drafter, put under nodes a level at a time.

Rule: a read makes the host wait for the device. So guesses are put under guesses that the host has
not read; where some of these turn out to be none, what stands on them is left out and made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, pairwise
from typing import Protocol

import torch
from torch import Tensor

from specviz.drafters.common.candidates import Coins, Guesses, Ranked, Sampled, Told, dealt
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.verification import Drawn
from specviz.verification.distributions import Draw
from specviz.verification.transfer import UploadBatch, to_host
from specviz.verification.tree import DraftTree

Ranks = tuple[int, ...]  # of a node's path from the root: each guess's place among its siblings
Width = Callable[[Ranks], int]  # how many guesses stand under a node


@dataclass(frozen=True, slots=True)
class Level:
    """Nodes to be read in one pass, before anything is known of the guesses under them.

    above: by node, its parent. widths: by node, how many guesses are put under it, or none. first:
    the number of the first of them.
    """

    nodes: tuple[int, ...]
    above: tuple[int, ...]
    widths: tuple[int, ...]
    first: int


@dataclass(frozen=True, slots=True)
class Shape:
    """How a tree grows. deepest: no guess stands deeper. width: if not the settings' at a depth.

    whole: nodes under which nothing is guessed are read as well.
    """

    deepest: int
    width: Width | None = None
    whole: bool = False


class Growing:
    """See `Proposal`. tokens, parents: by node, as in DraftTree. paths: by node, its ranks.

    drawn: how its guesses are made. newest: the nodes of the deepest level.
    """

    def __init__(
        self, who: str, root: int, settings: Settings, eos: Sequence[int], chance: Chance
    ) -> None:
        """who: what errors call whoever guesses. root: the text's newest token."""
        self.who, self.settings, self.eos, self.chance = who, settings, eos, chance
        self.drawn = kind(settings)
        self.tokens, self.parents = [root], [-1]
        self.paths: list[Ranks] = [()]
        self.q: dict[int, Tensor] = {}
        self.draws: dict[int, Draw] = {}
        self.score: dict[int, float] = {}
        self.newest = range(1)
        self._unread: list[tuple[Level, Guesses]] = []

    def levels(self, shape: Shape) -> Iterator[Level]:
        """All levels that are still wanted, as if no further guess ended its path."""
        width = shape.width or self._width
        above, paths = list(self.parents), list(self.paths)
        level, closed = self.newest, {node for node in self.newest if self.ends(node)}
        while True:
            closed |= {node for node in level if len(paths[node]) >= shape.deepest}
            wide = {node: 0 if node in closed else width(paths[node]) for node in level}
            if not any(wide.values()):
                return
            nodes = tuple(node for node in level if wide[node] or shape.whole)
            first = len(paths)
            parents, widths = (tuple(of[node] for node in nodes) for of in (above, wide))
            yield Level(nodes, parents, widths, first)
            for node in nodes:
                above += [node] * wide[node]
                paths += [(*paths[node], rank) for rank in range(wide[node])]
            level = range(first, len(paths))

    def coins(self, level: Level, parcel: UploadBatch | None) -> Coins | None:
        """The coins of a level's guesses; None where none are drawn. parcel: see `Coins`."""
        if self.drawn is Drawn.POINT_MASS:
            return None
        many = [width for width in level.widths if width]
        return Coins(dealt(many, partial(self._flip, level.first)), parcel)

    def put(self, level: Level, logits: Tensor, coins: Coins | None) -> Guesses:
        """Put guesses under a level's nodes. logits: (n, V), of what follows each. See `settle`."""
        widths = [width for width in level.widths if width]
        if len(widths) < len(logits):
            logits = torch.stack(
                [row for row, wide in zip(logits, level.widths, strict=True) if wide]
            )
        made = self._made(level, widths, logits, coins)
        self._unread.append((level, made))
        return made

    def settle(self) -> None:
        """Read at once what was put. Raises BadScores.

        Left out are levels that stand on guesses which are others than was thought, or which end
        their path.
        """
        unread, self._unread = self._unread, []
        asked = [guesses.asked for _, guesses in unread]
        values = iter(to_host(*chain(*asked)))
        for (level, guesses), some in zip(unread, asked, strict=True):
            mine = [next(values) for _ in some]
            under = [node for node, width in zip(level.nodes, level.widths, strict=True) if width]
            if any(self.ends(node) for node in under):
                return
            told = guesses.told(mine, self.who)
            self._add(under, told, guesses.laws)
            if not told.settled:
                return

    def ends(self, node: int) -> bool:
        """Whether nothing is guessed under a node: the text ends there, or the model is unsure."""
        unsure = self.score.get(node, 1.0) < self.settings.confidence
        return bool(node) and (unsure or self.tokens[node] in self.eos)

    def tree(self) -> DraftTree:
        """The tree so far."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))

    def _made(
        self, level: Level, widths: Sequence[int], logits: Tensor, coins: Coins | None
    ) -> Guesses:
        """So many guesses by row of logits (n, V)."""
        if coins is None:
            return Ranked(logits, widths)
        flip = partial(self._flip, level.first)
        return Sampled(logits, self.settings.sampling, coins, flip)

    def _width(self, ranks: Ranks) -> int:
        """How many guesses the settings put under every node of a depth."""
        return self.settings.width(len(ranks))

    def _flip(self, first: int, number: int) -> float:
        """The coin of a level's guess; the level's first is node `first`."""
        return self.chance.draft(first + number)

    def _add(self, nodes: Sequence[int], told: Told, laws: Sequence[Tensor] | Tensor) -> None:
        """Number guesses under each of these nodes in the order tried."""
        first = len(self.tokens)
        self.q |= dict(zip(nodes, laws, strict=False))
        self.draws |= dict(enumerate(chain.from_iterable(told.draws), first))
        self.score |= dict(enumerate(chain.from_iterable(told.chances), first))
        for node, some in zip(nodes, told.tokens, strict=True):
            self.tokens += some
            self.parents += [node] * len(some)
            self.paths += [(*self.paths[node], rank) for rank in range(len(some))]
        self.newest = range(first, len(self.tokens))


def kind(settings: Settings) -> Drawn:
    """How a draft model's candidates are drawn under these settings."""
    if settings.candidates == "greedy" or settings.sampling.greedy:
        return Drawn.POINT_MASS
    return Drawn.WITHOUT_REPLACEMENT if settings.branches else Drawn.SAMPLED


def fit(logits: Tensor, size: int) -> Tensor:
    """Logits (..., W) over the first `size` ids: models pad one vocabulary to different sizes."""
    missing = size - logits.shape[-1]
    if missing > 0:
        return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
    return logits[..., :size]


Reading = Callable[[Tensor], Tensor]  # a level's tokens (n,) to logits (n, V)


class Reads(Protocol):
    """A session whose model reads a text and then a tree, level by level. device: where it does."""

    @property
    def device(self) -> torch.device:
        """See above."""
        ...

    def planned(self, context: Sequence[int], level: Level, parcel: UploadBatch) -> Reading:
        """The pass over a level, to be made after those that were planned before.

        What it needs of the host travels in the parcel. The root's reads the text, whatever it is
        called with.
        """
        ...

    def forget(self, node: int) -> None:
        """Nodes from this on were read in vain: they are none, or come again."""
        ...


def grow(grown: Growing, reads: Reads, context: Sequence[int], shape: Shape) -> None:
    """Grow a tree to its end."""
    ahead = reads.device.type == "cuda" and not grown.settings.confidence
    while levels := list(islice(grown.levels(shape), None if ahead else 1)):
        _put(grown, reads, context, levels)
        grown.settle()
        if levels[-1].nodes[0] >= grown.newest.start:
            reads.forget(grown.newest.start)


def _put(grown: Growing, reads: Reads, context: Sequence[int], levels: Sequence[Level]) -> None:
    """Put guesses under these levels."""
    parcel = UploadBatch(reads.device)
    known = parcel.put(torch.tensor([grown.tokens[node] for node in levels[0].nodes]))
    passes = [reads.planned(context, level, parcel) for level in levels]
    along = parcel if reads.device.type == "cuda" else None  # MPS has no float64: see `leading`
    coins = [grown.coins(level, along) for level in levels]
    guesses = grown.put(levels[0], passes[0](known()), coins[0])
    for at, (before, level) in enumerate(pairwise(levels), 1):
        words = guesses.words
        chosen = torch.stack([words[node - before.first] for node in level.nodes])
        guesses = grown.put(level, passes[at](chosen), coins[at])
