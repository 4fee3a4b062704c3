"""A session that drafts dynamic trees (EAGLE-2, 2406.16858).

It expands the most probable guesses and keeps the best of them. Candidates are the head's top
tokens at any temperature, a point mass that does not depend on u. The tree depends on the text and
the head only, never on the target's probability of a guess, so its shape does not bias the text.
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
    rank_tokens,
    replay,
)
from specviz.drafters.common.proposal_builder import Level
from specviz.drafters.common.session import LevelPass, LevelSession, StateReader
from specviz.engine.protocol import Proposal
from specviz.models.graphs import Memory
from specviz.models.planned import compute_planned
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.work import Work
from specviz.verification import Drawn
from specviz.verification.transfer import UploadBatch


class HeadReader(StateReader, Protocol):
    """A head that reads a text and draft trees within one run; see `LevelSession`."""

    name: str
    passes: int
    work: Work
    outputs: Any

    @property
    def memory(self) -> Memory | None:
        """The fixed memory of its passes."""
        ...

    def plan_text(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        """Prepare to read a text's new tokens: logits (1, V) after the newest, node 0."""
        ...

    def plan_level(
        self, nodes: Sequence[int], above: Sequence[int], uploads: UploadBatch
    ) -> LevelPass:
        """Prepare a pass over nodes whose parents were read: from tokens (n,) to logits (n, V)."""
        ...

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Prepare the levels of a tree below the root, `count` nodes each, in turn."""
        ...


class HeadSession(LevelSession):
    """A session of a head that reads the target's states and nodes of a tree."""

    max_depth = MAX_GAMMA

    def __init__(self, reader: HeadReader, target: Target, settings: Settings) -> None:
        super().__init__(reader.name, target, settings, reader)
        self.reader = reader

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.reader.memory

    @property
    def outputs(self) -> Any:
        """Implement `LevelSession.outputs`."""
        return self.reader.outputs

    @outputs.setter
    def outputs(self, outputs: Any) -> None:
        self.reader.outputs = outputs

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`."""
        if level.nodes == (0,):
            text = self.reader.plan_text(context, uploads)
            return lambda _: text()
        return self.reader.plan_level(level.nodes, level.parents, uploads)


class DynamicSession(HeadSession):
    """A session that drafts dynamic trees."""

    def __init__(
        self,
        reader: HeadReader,
        target: Target,
        settings: Settings,
        remark: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a session that has not read a text."""
        super().__init__(reader, target, settings)
        self.drawn = Drawn.POINT_MASS
        self.budget: int = settings.budget
        self.fan_out: int = settings.fan_out
        self.branches = min(self.budget, self.fan_out) > 1
        self.remark = dict(remark or {})

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # The head makes one pass per level, over at most `fan_out` nodes. Recorded for each guess:
        # its probability after its parent (the score), the probability of its path, and the path's
        # rank among all guesses considered.
        self.reader.work = Work()
        growth = DynamicTree([context[-1]])
        wanted = growth.levels(max_tokens - 1, self.fan_out, self.budget, self.target.eos)
        if self.target.device.type == "cuda" and max_tokens > 1:  # copies make the host wait
            replay(growth, self._levels(context, max_tokens - 1), wanted, self.name)
            return self._proposal(growth)
        for level in wanted:
            logits = self.logits_after(context, growth.tokens, growth.parents, level)
            growth.add(level, *rank_tokens(logits, self.fan_out, self.name))
        return self._proposal(growth)

    def _levels(self, context: Sequence[int], deepest: int) -> list[Tensor]:
        uploads, count = UploadBatch(self.target.device), min(self.fan_out, self.target.vocab_size)
        text = self.reader.plan_text(context, uploads)
        deeper = self.reader.plan_device_levels(count, deepest - 1, uploads)
        ends = uploads.put(torch.tensor(self.target.eos, dtype=torch.long))

        def draft() -> tuple[None, list[Tensor]]:
            tree = DeviceTree(count, ends())
            tree.guess(self.fit_logits(text()))
            for depth in range(deepest - 1):
                tree.guess(self.fit_logits(deeper(depth, *tree.pick())))
            return None, tree.tensors

        key = (type(self), deepest)
        return compute_planned(self.memory, key, self.target, uploads, draft)[1]

    def _proposal(self, growth: DynamicTree) -> Proposal:
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
