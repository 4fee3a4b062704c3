"""JetSpec (2606.18394): a tree grown from one pass over a causal block of masks.

The network is DFlash's with one difference: a position of the block attends to no later position.
The pass gives the most probable tokens of each depth, `fan_out` of them (`tree_width` in JetSpec's
code). From these, the tree grows best first: the guess with the highest sum of log-probabilities
on its path gets all candidates of the next depth under it, until there are `budget` guesses.
(JetSpec's budget counts the root as well; its tree_depth is γ.)

What the score of a path means: the block contains masks, not guesses. So a position cannot know
which token was chosen before it, and all nodes of a depth have the same candidates; a path's score
is a product of probabilities that do not depend on each other. The paper speaks of branches that
are conditioned on their tokens, but its published code (`accum_logp`) grows the tree as described
here, and its conditioned pass, which reads guesses in place of masks, is an experiment there.

The candidates do not depend on random numbers, so the guesses are a point mass.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import torch
from torch import Tensor

from specviz.drafters.common.dynamic_tree import split_rows, top_log_probs
from specviz.drafters.common.rank_paths import DepthPredictor
from specviz.drafters.common.session import Session
from specviz.drafters.common.training import Family
from specviz.drafters.dflash import BlockReader, DFlash
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DFlashHead, guesses, loss, start_from_dflash
from specviz.engine.protocol import Proposal
from specviz.models.planned import compute_planned
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


@dataclass(frozen=True)
class JetSpecConfig(DFlashConfig):
    """Config of a JetSpec head: that of a DFlash head, with `causal_head`."""

    implemented: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **DFlashConfig.implemented,
        "causal": (True,),
        "is_causal": (True,),
        "causal_head": (True,),
    }
    nested: ClassVar[tuple[str, ...]] = (*DFlashConfig.nested, "causal_head")

    causal_head: bool = True


class JetSpecHead(DFlashHead):
    """DFlash's network and training with a causal mask in the block."""

    family = "jetspec"
    config_type = JetSpecConfig
    config: JetSpecConfig
    causal = True


class JetSpec(DFlash):
    """The JetSpec drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "jetspec"
    network = JetSpecHead

    def session(self, target: Target, settings: Settings) -> JetSpecSession:
        """Implement `HeadDrafter.session`."""
        return JetSpecSession(self, target, settings)


class JetSpecSession(DepthPredictor, Session):
    """A session that grows a tree in every round."""

    def __init__(self, drafter: JetSpec, target: Target, settings: Settings) -> None:
        self.reader = BlockReader(drafter.head, target)
        super().__init__(target, settings, self.reader)
        self.name, self.size = drafter.card.name, drafter.head.config.block_size
        self.max_depth = self.size - 1
        self.branches = min(settings.budget, settings.fan_out) > 1

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # A score is a probability at temperature 1. Recorded for each guess: the ranks of the
        # guesses on its path among the candidates of their depths, and the sum of their
        # log-probabilities. Recorded for the proposal: how many states and masks the pass read, and
        # the candidates of each depth up to γ.
        self.reader.work = Work()
        depth = min(self.max_depth, max_tokens - 1)
        remark: dict[str, Any] = {"form": "best-first", "block": self.size, "passes": 0}
        grown = BestFirstTree(context[-1], [], [])
        if depth > 0:
            grown = BestFirstTree(context[-1], *self._candidates(context, depth))
            grown.grow(self.settings.budget, self.target.eos)
            read = {"states": self.reader.read, "masks": self.size - 1}
            remark |= {"passes": 1, **read, "places": grown.places()}
        score: dict[int, float] = {}
        evidence: dict[int, dict[str, Any]] = {0: remark}
        for node, path in enumerate(grown.paths[1:], start=1):
            score[node] = math.exp(grown.logs[len(path) - 1][path[-1]])
            evidence[node] = {"path": list(path), "total": round(grown.totals[node], 6)}
        shown = [token for row in grown.ranked for token in row]
        tree, work = grown.tree(), self.reader.work
        return Proposal(tree, self.drawn, score=score, evidence=evidence, shown=shown, work=work)

    def _candidates(
        self, context: Sequence[int], depth: int
    ) -> tuple[list[list[int]], list[list[float]]]:
        uploads, width = UploadBatch(self.target.device), self.settings.fan_out
        predict = self._plan(context, uploads)
        _, (logs, ids) = compute_planned(
            self.reader.cache.memory,
            (type(self), depth, width),
            self.target,
            uploads,
            lambda: (None, list(top_log_probs(predict()[:depth], width))),
        )
        return split_rows(logs, ids, self.name)

    def _plan(self, context: Sequence[int], uploads: UploadBatch) -> Callable[[], Tensor]:
        # Logits (D, V) of all depths.
        block = self.reader.plan(context, uploads)
        self.reader.work += Work(head=self.max_depth)
        project = self.target.model.get_output_embeddings()
        return lambda: project(block()[1:])

    def predict_depths(self, context: Sequence[int]) -> Tensor:
        """Implement `DepthPredictor.predict_depths`; one pass over the block."""
        return self._plan(context, UploadBatch(self.target.device))()


class BestFirstTree:
    """A tree that grows best first from the candidates of each depth.

    Args:
        ranked: For each depth, the candidates in descending order.

    Attributes:
        paths: For each node, the ranks of the guesses on its path.
        totals: For each node, the sum of the log-probabilities on its path.
    """

    def __init__(
        self, root: int, ranked: Sequence[Sequence[int]], logs: Sequence[Sequence[float]]
    ) -> None:
        self.ranked, self.logs = ranked, logs
        self.tokens, self.parents = [root], [-1]
        self.paths: list[tuple[int, ...]] = [()]
        self.totals = [0.0]

    def grow(self, budget: int, ends: Collection[int]) -> None:
        """Add guesses until there are `budget`; equal sums are taken in the order of creation."""
        waiting = [(0.0, 0)]
        while waiting and len(self.tokens) <= budget:
            total, node = heapq.heappop(waiting)
            depth = len(self.paths[node])
            if depth == len(self.ranked) or (node and self.tokens[node] in ends):
                continue
            left = budget + 1 - len(self.tokens)
            for rank, token in enumerate(self.ranked[depth][:left]):
                new = -total + self.logs[depth][rank]
                heapq.heappush(waiting, (-new, len(self.tokens)))
                self.tokens.append(token)
                self.parents.append(node)
                self.paths.append((*self.paths[node], rank))
                self.totals.append(new)

    def tree(self) -> DraftTree:
        """Return the tree."""
        return DraftTree(tuple(self.tokens), tuple(self.parents))

    def places(self) -> list[list[dict[str, Any]]]:
        """Return the candidates of each depth with their probabilities, to nine digits."""
        return [
            [
                {"token": token, "p": float(f"{math.exp(log):.9g}")}
                for token, log in zip(row, logs, strict=True)
            ]
            for row, logs in zip(self.ranked, self.logs, strict=True)
        ]


def build(target: Target, _counts: Tensor) -> JetSpecHead:
    """Build a small head for this target, which starts as a DFlash head."""
    head = JetSpecHead(JetSpecConfig.house(target))
    start_from_dflash(head, target)
    return head


TRAINING: Final = Family("jetspec", build, loss, guesses)
