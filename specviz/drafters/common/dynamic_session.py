"""Dynamic draft trees (EAGLE-2, 2406.16858): expand the likeliest guesses, then keep the best.

Candidates are the head's top tokens whatever the temperature: a point mass, fixed before any coin.
The tree follows the text and the head alone, never the target's opinion of a guess, which is what
keeps its shape from biasing the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from specviz.drafters.common.dynamic_tree import (
    DeviceLevelPass,
    DeviceTree,
    DynamicTree,
    read_top_tokens,
    replay,
)
from specviz.drafters.common.proposal_builder import fit_vocabulary
from specviz.engine.protocol import Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.transfer import UploadBatch


class HeadReader(Protocol):
    """One run's head. name: what errors call it. device: where it is. passes: of it, since the last
    text. work: rows that it read, until somebody sets it back.
    """

    name: str
    device: torch.device
    passes: int
    work: Work

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """These states and tokens were verified."""
        ...

    def read_text(self, length: int) -> Tensor:
        """Forget the last tree, read what is new of a text of `length` tokens: logits (1, V)."""
        ...

    def read_level(
        self, nodes: Sequence[int], tokens: Sequence[int], parents: Sequence[int]
    ) -> Tensor:
        """Read nodes whose parents were read: logits (n, V). tokens, parents: of the whole tree."""
        ...

    def plan_text(self, length: int, parcel: UploadBatch) -> Callable[[], Tensor]:
        """`text`, as what is to be called for it: what it needs of the host is in the parcel."""
        ...

    def plan_device_levels(self, many: int, levels: int, parcel: UploadBatch) -> DeviceLevelPass:
        """Levels of so many nodes each, after the root's, to be called level by level."""
        ...


def logits_after_nodes(
    reader: HeadReader,
    length: int,
    tokens: Sequence[int],
    parents: Sequence[int],
    nodes: Sequence[int],
) -> Tensor:
    """Logits (n, V) of what follows these nodes, by a head that reads a text of `length` tokens."""
    return reader.read_level(nodes, tokens, parents) if nodes[0] else reader.read_text(length)


class DynamicSession:
    """The head's cache of the text, cut back before every proposal."""

    drawn = Drawn.POINT_MASS
    max_depth = MAX_GAMMA

    def __init__(
        self,
        reader: HeadReader,
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
        self.branches = min(self.budget, self.fan_out) > 1
        self.remark = dict(remark or {})

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. One pass of the head a level, over `fan_out` nodes at most.

        Score by node: the head's probability after its parent. Evidence by node: the probability of
        its whole path, and the place that this gave it among all guesses that were weighed.
        """
        self.reader.work = Work()
        growth = DynamicTree([context[-1]])
        wanted = growth.levels(max_tokens - 1, self.fan_out, self.budget, self.eos)
        if self.reader.device.type == "cuda" and max_tokens > 1:  # a read would make the host wait
            replay(growth, self._ahead(len(context), max_tokens - 1), wanted, self.reader.name)
            return self._proposal(growth)
        for level in wanted:
            logits = self.logits_after(context, growth.tokens, growth.parents, level)
            growth.add_children(level, read_top_tokens(logits, self.fan_out, self.reader.name))
        return self._proposal(growth)

    def _ahead(self, length: int, deepest: int) -> DeviceTree:
        """All levels under a text of `length` tokens, none of which the host has read."""
        parcel, many = UploadBatch(self.reader.device), min(self.fan_out, self.vocab_size)
        text = self.reader.plan_text(length, parcel)
        deeper = self.reader.plan_device_levels(many, deepest - 1, parcel)
        ends = parcel.put(torch.tensor(self.eos, dtype=torch.long))
        picking = DeviceTree(many, ends())
        picking.guess(fit_vocabulary(text(), self.vocab_size))
        for _ in range(deepest - 1):
            picking.guess(fit_vocabulary(deeper(*picking.pick()), self.vocab_size))
        return picking

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """See `Foresight`."""
        return fit_vocabulary(
            logits_after_nodes(self.reader, len(context), tokens, parents, nodes), self.vocab_size
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`. State i and token i are a row of the head as they come."""
        states.check_length(len(tokens))
        self.reader.add_states(states, tokens)

    def _proposal(self, growth: DynamicTree) -> Proposal:
        """The best of what was builder, with what a reader can be shown of it."""
        tree, best = growth.tree(self.budget)
        kept, place = sorted(best), {node: i for i, node in enumerate(best)}
        score: dict[int, float] = {}
        evidence: dict[int, dict[str, Any]] = {0: self._remark(growth, kept)}
        for node, old in enumerate(kept[1:], start=1):
            total = growth.totals[old]
            score[node] = math.exp(total - growth.totals[growth.parents[old]])
            evidence[node] = {"path": math.exp(total), "place": place[old]}
        work = self.reader.work
        return Proposal(tree, self.drawn, score=score, evidence=evidence, work=work)

    def _remark(self, growth: DynamicTree, kept: Sequence[int]) -> dict[str, Any]:
        weighed = len(growth.tokens) - 1
        passes = self.reader.passes if weighed else 0
        found = {"form": "dynamic", "weighed": weighed, "kept": len(kept) - 1, "passes": passes}
        return found | self.remark
