"""A separate small model with the target's tokenizer, which drafts a tree level by level.

Sampled candidates are drawn from q, the small model's distribution under the run's temperature,
top-k and top-p. Siblings are sampled without replacement (2402.14160, 2401.06706), for which
recursive rejection is exact. Greedy candidates, and all candidates at temperature 0, are the top
tokens, a point mass. A chain is a tree with one guess under each node. A guess below the confidence
limit of the settings ends its path but is itself kept: if unlikely guesses were dropped, the
remaining ones would no longer follow q (transformers' dynamic speculation keeps it too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.proposal_builder import Level, TreeShape
from specviz.drafters.common.session import LevelPass, LevelSession
from specviz.drafters.common.tree_reader import TreeReader
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.attention import context_length
from specviz.models.checkpoint import MadeFor
from specviz.models.graphs import Memory
from specviz.models.passes import CaptureSpec, causal_lm_weights
from specviz.models.target import Target, TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree


class DraftModel:
    """A transformers causal LM in eval mode that has the target's token ids."""

    name = "draft-model"
    made_for: MadeFor = None
    capture = CaptureSpec()

    def __init__(self, model: Any, card: ModelCard) -> None:
        self.model = model
        self.card = card
        self.max_length = context_length(model)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`."""
        return DraftModelSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        return causal_lm_weights(self.model)


def own_ids(tokens: Sequence[int], rows: int) -> list[int]:
    """Return tokens; those beyond a table of embeddings become its last row (`OwnEmbedding`)."""
    return [min(token, rows - 1) for token in tokens]


class DraftModelSession(LevelSession):
    """A session with the small model's cache, which every proposal first truncates to the text."""

    max_depth = MAX_GAMMA

    def __init__(self, drafter: DraftModel, target: TargetRun, settings: Settings) -> None:
        super().__init__(drafter.card.name, target.target, settings)
        self.reader = TreeReader(drafter.model, drafter.card.name)
        self.rows: int = drafter.model.get_input_embeddings().weight.shape[0]

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # The model makes one pass per level; nodes are numbered level by level. A node's score is
        # the small model's probability at temperature 1.
        self.reader.work = Work()
        proposal = self.build(context, TreeShape(max_tokens - 1, whole=True), chance).proposal()
        if len(proposal.tree) > 1:
            self.reader.tree = self.draft_tree(proposal.tree)
        return replace(proposal, work=self.reader.work)

    def logits_after(
        self,
        context: Sequence[int],
        tokens: Sequence[int],
        parents: Sequence[int],
        nodes: Sequence[int],
    ) -> Tensor:
        """Implement `NodePredictor.logits_after`."""
        logits = super().logits_after(context, tokens, parents, nodes)
        if nodes[0]:
            self.reader.tree = self.draft_tree(DraftTree(tuple(tokens), tuple(parents)))
        return logits

    def plan_level(self, context: Sequence[int], level: Level, uploads: UploadBatch) -> LevelPass:
        """Implement `LevelSession.plan_level`."""
        if level.nodes == (0,):
            text = self.reader.plan_text(self.draft_text(context), uploads)
            return lambda _: text()
        after = self.reader.plan_level(level.nodes, level.parents, uploads)
        return lambda words: after(self.draft_words(words))

    @property
    def memory(self) -> Memory | None:
        """Implement `LevelSession.memory`."""
        return self.reader.memory

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`."""
        self.reader.discard_from(node)

    def draft_text(self, context: Sequence[int]) -> Sequence[int]:
        """Return the text in the draft model's tokens; here only those beyond its table change."""
        return own_ids(context, self.rows)

    def draft_words(self, words: Tensor) -> Tensor:
        """Return guesses (n,) in the draft model's tokens; here they are unchanged."""
        return words

    def draft_tree(self, tree: DraftTree) -> DraftTree:
        """Return a tree in the draft model's tokens; here it is unchanged."""
        return tree
