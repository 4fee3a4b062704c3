"""EAGLE (2401.15077): a one-layer head guesses the target's next feature, and from it the token.

A static tree: its shape is known before any token is. Sampled: siblings one after another without
replacement from q, the law that the target's own output head makes of the guessed feature, under
the run's temperature, top-k and top-p. Greedy (and at temperature 0): the top tokens, a point mass.

EAGLE-2 (2406.16858) is the same head, and a tree that follows its confidence: it grows level by
level from the likeliest guesses; of all guesses weighed, the likeliest are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.dynamic_session import DynamicSession, logits_after_nodes
from specviz.drafters.common.features import FeatureReader
from specviz.drafters.common.proposal_builder import (
    Level,
    LevelPass,
    ProposalBuilder,
    TreeShape,
    build_tree,
    candidate_kind,
    fit_vocabulary,
)
from specviz.drafters.eagle.head import EagleHead
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import CaptureSpec, ExtraRows, States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal_lm_weights, matrix_weights
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.settings.specs import MAX_GAMMA
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


class Eagle(HeadDrafter):
    """EAGLE's head in eval mode, on the target's device and in its dtype."""

    name = "eagle"
    network = EagleHead
    head: EagleHead

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """See `Drafter`. Raises Unsuitable where the target has another width."""
        self.head.config.check_fit(self.card.name, target.target)
        reader = eagle_reader(self.head, target.target, self.card.name)
        return EagleSession(reader, target.target, settings)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. The output head is the target's."""
        return Weights(matrix_weights(self.head), causal_lm_weights(target.model).head)


class EagleSession:
    """The head's cache of the text, cut back before every proposal. Shape: see `width_under`."""

    max_depth = MAX_GAMMA

    def __init__(self, reader: FeatureReader, target: Target, settings: Settings) -> None:
        self.reader = reader
        self.vocab_size = target.vocab_size
        self.eos = target.eos
        self.settings = settings
        self.drawn = candidate_kind(settings)
        self.branches = settings.branches

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`. One pass of the head a level; nodes are numbered level by level.

        Score by node: the head's probability at temperature 1. Evidence by node: its rank among
        siblings, from 0, and on how many guessed features in a row the guess rests.
        """
        self.reader.work = Work()
        builder = ProposalBuilder(self.reader.name, context[-1], self.settings, self.eos, chance)
        build_tree(
            builder, self, context, TreeShape(max_tokens - 1, partial(width_under, self.settings))
        )
        return self._proposal(builder)

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

    @property
    def device(self) -> torch.device:
        """See `Reads`."""
        return self.reader.device

    def plan_level(self, context: Sequence[int], level: Level, parcel: UploadBatch) -> LevelPass:
        """See `Reads`."""
        if level.nodes == (0,):
            text = self.reader.plan_text(len(context), parcel)
            return lambda _: fit_vocabulary(text(), self.vocab_size)
        after = self.reader.plan_level(level.nodes, level.parents, parcel)
        return lambda words: fit_vocabulary(after(words), self.vocab_size)

    def discard_from(self, node: int) -> None:
        """See `Reads`."""
        self.reader.discard_from(node)

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`. State i and token i are a row of the head as they come."""
        states.check_length(len(tokens))
        self.reader.add_states(states, tokens)

    def _proposal(self, builder: ProposalBuilder) -> Proposal:
        """What was builder, with what a reader can be shown of it."""
        evidence: dict[int, dict[str, Any]] = {
            node: {"rank": path[-1], "guessed_features": len(path) - 1}
            for node, path in enumerate(builder.paths)
            if node
        }
        passes = self.reader.passes if len(builder.tokens) > 1 else 0
        evidence[0] = {"form": "features", "passes": passes}
        return Proposal(
            builder.tree(),
            self.drawn,
            builder.q,
            builder.draws,
            builder.score,
            evidence,
            work=self.reader.work,
        )


def eagle_reader(head: EagleHead, target: Target, name: str) -> FeatureReader:
    """A run's reader: states after the final norm in, the target's own output head on top."""

    def final(states: States) -> Tensor:
        assert states.final is not None
        return states.final

    return FeatureReader(head, target, final, target.model.get_output_embeddings(), name)


def width_under(settings: Settings, ranks: Sequence[int]) -> int:
    """How many guesses stand under a node. ranks: those on its path, from 0; none for the root.

    As many as the settings give its depth, less one for every better sibling on the way: the
    likelier a path, the more of the tree it gets. [4, 3, 3, 2] and γ 4 make 25 guesses, as many as
    EAGLE's own tree has, in nearly its shape. Ranks say nothing of the target: rules stay exact.
    """
    return max(0, settings.width(len(ranks)) - sum(ranks))


class Eagle2(Eagle):
    """EAGLE's own head: one file of weights serves both."""

    name = "eagle2"

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """See `Drafter`. Raises Unsuitable where the target has another width."""
        self.head.config.check_fit(self.card.name, target.target)
        reader = eagle_reader(self.head, target.target, self.card.name)
        return DynamicSession(reader, target.target, settings)


class Eagle3(HeadDrafter):
    """EAGLE-3's head in eval mode, on the target's device and in its dtype.

    taps: outputs of the layers that the head's config names, counted from 1, before the final norm.
    """

    name = "eagle3"
    network = Eagle3Head
    head: Eagle3Head

    def __init__(self, head: Eagle3Head, card: ModelCard) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(layers=head.config.tap_layers)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """See `Drafter`. Raises Unsuitable where the target has another width."""
        head = self.head
        head.config.check_fit(self.card.name, target.target)

        def fused(states: States) -> Tensor:
            return head.fuse(states.layers)

        reader = FeatureReader(head, target.target, fused, head.logits, self.card.name)
        remark = {"tap_layers": list(self.capture.layers), "draft_vocabulary": len(head.d2t)}
        return DynamicSession(reader, target.target, settings, remark)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. Layers' states are fused on the way in; its output head is its own."""
        fuse, own = matrix_weights(self.head.fc), matrix_weights(self.head.lm_head)
        return Weights(matrix_weights(self.head) - fuse - own, own, fuse)
