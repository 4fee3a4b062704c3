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
    """A head that reads a text and draft trees within one run.

    Attributes:
        name: Name of the head in error messages.
        device: Device of the head.
        passes: Passes of the head since the last text.
        work: Rows computed since the counter was last reset.
    """

    name: str
    device: torch.device
    passes: int
    work: Work

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Add verified tokens and the states that predicted them."""
        ...

    def read_text(self, length: int) -> Tensor:
        """Drop the last tree and read a text's new tokens; return the next token's logits (1, V).

        Args:
            length: Number of tokens of the whole text.
        """
        ...

    def read_level(
        self, nodes: Sequence[int], tokens: Sequence[int], parents: Sequence[int]
    ) -> Tensor:
        """Read nodes whose parents were read before; return the logits (n, V) after each.

        Args:
            nodes: The nodes.
            tokens: Token of each node of the whole tree.
            parents: Parent of each node of the whole tree.
        """
        ...

    def plan_text(self, length: int, uploads: UploadBatch) -> Callable[[], Tensor]:
        """Prepare `read_text`, and return a function that runs it.

        Args:
            length: Tokens of the text.
            uploads: Uploads what the pass needs from the host.
        """
        ...

    def plan_device_levels(self, count: int, levels: int, uploads: UploadBatch) -> DeviceLevelPass:
        """Prepare the levels of a dynamic tree below the root; they are run one after another.

        Args:
            count: Nodes per level.
            levels: Number of levels.
            uploads: Uploads what the passes need from the host.
        """
        ...


def logits_after_nodes(
    reader: HeadReader,
    length: int,
    tokens: Sequence[int],
    parents: Sequence[int],
    nodes: Sequence[int],
) -> Tensor:
    """Return a head's logits (n, V) after these nodes of a tree under a text of `length` tokens."""
    return reader.read_level(nodes, tokens, parents) if nodes[0] else reader.read_text(length)


class DynamicSession:
    """A session of a head that drafts dynamic trees.

    Args:
        reader: Runs the head on nodes of the tree.
        target: The target.
        settings: Settings of the run.
        remark: Further fields for the trace of every proposal.
    """

    drawn = Drawn.POINT_MASS
    max_depth = MAX_GAMMA

    def __init__(
        self,
        reader: HeadReader,
        target: Target,
        settings: Settings,
        remark: Mapping[str, Any] | None = None,
    ) -> None:
        """Create a session that has not read a text."""
        self.reader = reader
        self.vocab_size = target.vocab_size
        self.eos = target.eos
        self.budget: int = settings.budget
        self.fan_out: int = settings.fan_out
        self.branches = min(self.budget, self.fan_out) > 1
        self.remark = dict(remark or {})

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`.

        The head makes one pass per level, over at most `fan_out` nodes.

        Recorded for each guess: its probability after its parent (the score), the probability of
        its path, and the path's rank among all guesses considered.
        """
        self.reader.work = Work()
        growth = DynamicTree([context[-1]])
        wanted = growth.levels(max_tokens - 1, self.fan_out, self.budget, self.eos)
        if self.reader.device.type == "cuda" and max_tokens > 1:  # copies make the host wait
            replay(growth, self._ahead(len(context), max_tokens - 1), wanted, self.reader.name)
            return self._proposal(growth)
        for level in wanted:
            logits = self.logits_after(context, growth.tokens, growth.parents, level)
            growth.add_level(level, *rank_tokens(logits, self.fan_out, self.reader.name))
        return self._proposal(growth)

    def _ahead(self, length: int, deepest: int) -> DeviceTree:
        """Compute all levels under a text of `length` tokens, copying none to the host."""
        uploads, count = UploadBatch(self.reader.device), min(self.fan_out, self.vocab_size)
        text = self.reader.plan_text(length, uploads)
        deeper = self.reader.plan_device_levels(count, deepest - 1, uploads)
        ends = uploads.put(torch.tensor(self.eos, dtype=torch.long))
        picking = DeviceTree(count, ends())
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
        """Implement `NodePredictor.logits_after`."""
        return fit_vocabulary(
            logits_after_nodes(self.reader, len(context), tokens, parents, nodes), self.vocab_size
        )

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`: state i and token i form one row of the head's input."""
        states.check_length(len(tokens))
        self.reader.add_states(states, tokens)

    def _proposal(self, growth: DynamicTree) -> Proposal:
        """Return the best guesses as a proposal, with the data that the page shows."""
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
