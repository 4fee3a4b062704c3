"""Dynamic draft trees (EAGLE-2, 2406.16858): expand the likeliest guesses, then keep the best.

Candidates are the head's top tokens whatever the temperature: a point mass, fixed before any coin.
The tree follows the text and the head alone, never the target's opinion of a guess, which is what
keeps its shape from biasing the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.chance import Chance
from specviz.drafters.base import Proposal
from specviz.drafters.draft_model import fit
from specviz.drafters.schedule import schedule
from specviz.settings import Settings
from specviz.states import Riders, States
from specviz.target import Target
from specviz.tree import Growth
from specviz.verification import Drawn


class Reader(Protocol):
    """One run's head. passes: of the head, since the last text."""

    passes: int

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
        self.schedule = schedule(settings)
        self.drafted = 0  # how deep the last proposal went

    @torch.inference_mode()
    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        """See `DraftSession`. One pass of the head a level, over `fan_out` nodes at most.

        Score by node: the head's probability after its parent. Evidence by node: the probability of
        its whole path, and the place that this gave it among all guesses that were weighed.
        """
        growth = Growth([context[-1]])
        level = [0]
        for depth in range(min(self.schedule.gamma, room - 1)):
            if depth:
                level = growth.frontier(self.fan_out, self.budget, self.eos)
            if not level:
                break
            self._expand(growth, level, len(context))
        return self._proposal(growth)

    def commit(self, tokens: Sequence[int], states: States, riders: Riders | None = None) -> None:
        """See `DraftSession`. State i and token i are a row of the head as they come."""
        self.reader.take(states, tokens)
        self.schedule.observe(self.drafted, min(len(tokens) - 1, self.drafted))
        self.drafted = 0

    def _expand(self, growth: Growth, level: Sequence[int], length: int) -> None:
        """Put the head's `fan_out` top tokens under every node of a level."""
        if level[0] == 0:
            logits = self.reader.text(length)
        else:
            logits = self.reader.level(level, growth.tokens, growth.parents)
        logs = fit(logits, self.vocab_size).float().log_softmax(-1).clamp(max=0)
        values, ids = logs.topk(min(self.fan_out, logs.shape[-1]))
        possible = values.isfinite().sum(-1).tolist()  # a reduced vocabulary may have fewer
        for node, row, tokens, some in zip(
            level, values.cpu(), ids.tolist(), possible, strict=True
        ):
            growth.add(node, tokens[:some], row[:some])

    def _proposal(self, growth: Growth) -> Proposal:
        """The best of what was grown, with what a reader can be shown of it."""
        tree, kept = growth.tree(self.budget)
        self.drafted = max(tree.depths)
        place = {node: i for i, node in enumerate(growth.best(self.budget))}
        score: dict[int, float] = {}
        evidence: dict[int, dict[str, Any]] = {0: self._remark(growth, kept)}
        for node, old in enumerate(kept[1:], start=1):
            total = growth.totals[old]
            score[node] = math.exp(total - growth.totals[growth.parents[old]])
            evidence[node] = {"path": math.exp(total), "place": place[old]}
        return Proposal(tree, self.drawn, score=score, evidence=evidence)

    def _remark(self, growth: Growth, kept: Sequence[int]) -> dict[str, Any]:
        weighed = len(growth.tokens) - 1
        passes = self.reader.passes if weighed else 0
        found = {"weighed": weighed, "kept": len(kept) - 1, "passes": passes}
        return found | self.remark
