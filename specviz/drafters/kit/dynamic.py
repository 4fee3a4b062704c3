"""Dynamic draft trees (EAGLE-2, 2406.16858): expand the likeliest guesses, then keep the best.

Candidates are the head's top tokens whatever the temperature: a point mass, fixed before any coin.
The tree follows the text and the head alone, never the target's opinion of a guess, which is what
keeps its shape from biasing the text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.drafters.kit.growing import fit
from specviz.engine.protocol import Proposal
from specviz.models.passes import Riders, States
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.crossing import read
from specviz.verification.tree import DraftTree


class Reader(Protocol):
    """One run's head. passes: of the head, since the last text. work: rows that it read, until
    somebody sets it back.
    """

    passes: int
    work: Work

    def take(self, states: States, tokens: Sequence[int]) -> None:
        """These states and tokens were verified."""
        ...

    def text(self, length: int) -> Tensor:
        """Forget the last tree, read what is new of a text of `length` tokens: logits (1, V)."""
        ...

    def level(self, nodes: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Read nodes whose parents were read: logits (n, V). tokens, parents: of the whole tree."""
        ...


class DynamicSession:
    """The head's cache of the text, cut back before every proposal."""

    drawn = Drawn.POINT_MASS

    def __init__(
        self,
        reader: Reader,
        target: Target,
        settings: Settings,
        remark: Mapping[str, Any] | None = None,
    ) -> None:
        """remark: what else a reader can be shown about every try."""
        self.reader = reader
        self.vocab_size = target.vocab_size
        self.eos = target.eos
        self.budget: int = settings.budget
        self.fan_out: int = settings.fan_out
        self.remark = dict(remark or {})

    @torch.inference_mode()
    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        """See `DraftSession`. One pass of the head a level, over `fan_out` nodes at most.

        Score by node: the head's probability after its parent. Evidence by node: the probability of
        its whole path, and the place that this gave it among all guesses that were weighed.
        """
        self.reader.work = Work()
        growth = Growth([context[-1]])
        level = [0]
        for depth in range(room - 1):
            if depth:
                level = growth.frontier(self.fan_out, self.budget, self.eos)
            if not level:
                break
            self._expand(growth, level, len(context))
        return self._proposal(growth)

    def commit(self, tokens: Sequence[int], states: States, riders: Riders | None = None) -> None:
        """See `DraftSession`. State i and token i are a row of the head as they come."""
        states.cover(len(tokens))
        self.reader.take(states, tokens)

    def _expand(self, growth: Growth, level: Sequence[int], length: int) -> None:
        """Put the head's `fan_out` top tokens under every node of a level."""
        if level[0] == 0:
            logits = self.reader.text(length)
        else:
            logits = self.reader.level(level, growth.tokens, growth.parents)
        logs = fit(logits, self.vocab_size).float().log_softmax(-1).clamp(max=0)
        values, ids = read(*logs.topk(min(self.fan_out, logs.shape[-1])))
        possible = values.isfinite().sum(-1).tolist()  # a reduced vocabulary may have fewer
        for node, row, tokens, some in zip(level, values, ids.tolist(), possible, strict=True):
            growth.add(node, tokens[:some], row[:some])

    def _proposal(self, growth: Growth) -> Proposal:
        """The best of what was grown, with what a reader can be shown of it."""
        tree, kept = growth.tree(self.budget)
        place = {node: i for i, node in enumerate(growth.best(self.budget))}
        score: dict[int, float] = {}
        evidence: dict[int, dict[str, Any]] = {0: self._remark(growth, kept)}
        for node, old in enumerate(kept[1:], start=1):
            total = growth.totals[old]
            score[node] = math.exp(total - growth.totals[growth.parents[old]])
            evidence[node] = {"path": math.exp(total), "place": place[old]}
        work = self.reader.work
        return Proposal(tree, self.drawn, score=score, evidence=evidence, work=work)

    def _remark(self, growth: Growth, kept: Sequence[int]) -> dict[str, Any]:
        weighed = len(growth.tokens) - 1
        passes = self.reader.passes if weighed else 0
        found = {"form": "dynamic", "weighed": weighed, "kept": len(kept) - 1, "passes": passes}
        return found | self.remark


@dataclass(slots=True)
class Growth:
    """A pool of guesses of which the likeliest become the draft tree (EAGLE-2, 2406.16858).

    By node, in the order made: token, parent, depth, and total, the sum of the log-probabilities on
    its path as the drafter gave them. Totals are sums of float32 logs, not products, and not of
    half precision, where many of them tie.
    """

    tokens: list[int]  # [root] to begin with, as the others
    parents: list[int] = field(default_factory=lambda: [-1])
    depths: list[int] = field(default_factory=lambda: [0])
    totals: list[float] = field(default_factory=lambda: [0.0])

    def add(self, parent: int, tokens: Sequence[int], log_probs: Tensor) -> None:
        """Put guesses under `parent` in the order tried. log_probs: (n,), float32.

        Raises ValueError for logs in another precision, above 0 or NaN: no parent could be sure to
        rank before its children.
        """
        if log_probs.dtype is not torch.float32 or not bool((log_probs <= 0).all()):
            raise ValueError("Log-probabilities must be float32 and at most 0.")
        self.tokens += tokens
        self.parents += [parent] * len(tokens)
        self.depths += [self.depths[parent] + 1] * len(tokens)
        self.totals += (self.totals[parent] + log_probs).tolist()

    def best(self, budget: int) -> list[int]:
        """The root and the `budget` likeliest guesses, likeliest first.

        Ties: the shallower, then the older, so that a node never comes without its ancestors.
        """
        order = sorted(
            range(1, len(self.tokens)), key=lambda n: (-self.totals[n], self.depths[n], n)
        )
        return [0, *order[:budget]]

    def frontier(self, width: int, budget: int, ends: Collection[int]) -> list[int]:
        """The nodes to go on from: the `width` likeliest of the deepest level, likeliest first.

        Those that end a text are left out, and those outside the `budget` likeliest: what would
        stand under them could not be kept. Empty where growing is over.
        """
        deepest = max(self.depths)
        level = [n for n in self.best(budget) if self.depths[n] == deepest]
        return [n for n in level if self.tokens[n] not in ends][:width]

    def tree(self, budget: int) -> tuple[DraftTree, list[int]]:
        """The `budget` likeliest guesses as a tree, and which nodes of the pool they are."""
        kept = sorted(self.best(budget))  # in the order made: parents before children
        whole = DraftTree(tuple(self.tokens), tuple(self.parents))
        return whole.kept(kept), kept  # raises where an ancestor is missing
