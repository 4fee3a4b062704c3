"""EAGLE, EAGLE-2 and EAGLE-3.

EAGLE (2401.15077): a one-layer head predicts the target's next hidden state (feature), from which
the target's own output head computes q. The tree is static: its shape does not depend on the
tokens. Sampled siblings are drawn from q without replacement, under the run's temperature, top-k
and top-p. Greedy candidates, and all candidates at temperature 0, are the top tokens, a point mass.

EAGLE-2 (2406.16858) uses the same head with a dynamic tree, which grows level by level from the
most probable guesses; of all guesses considered, the most probable are kept.

EAGLE-3 (2503.01840) reads three of the target's layers and drafts a dynamic tree. It is trained on
its own outputs, so its later guesses are better than EAGLE's. It proposes only the tokens of a
smaller vocabulary, which makes its output head cheap; the target still samples from all tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.dynamic_session import DynamicSession, HeadSession
from specviz.drafters.common.features import FeatureReader
from specviz.drafters.common.proposal_builder import TreeShape
from specviz.drafters.eagle.head import EagleHead
from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.engine.protocol import DraftSession, Proposal
from specviz.models.passes import States, matrix_weights
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work


class Eagle(HeadDrafter):
    """The EAGLE drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "eagle"
    network = EagleHead
    head: EagleHead

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        reader = eagle_reader(self.head, target, self.card.name)
        return EagleSession(reader, target, settings)


class EagleSession(HeadSession):
    """A session that caches the text's rows and drafts static trees (see `width_under`)."""

    reader: FeatureReader

    @torch.inference_mode()
    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        # The head makes one pass per level; nodes are numbered level by level. A node's score is
        # the head's probability at temperature 1. Recorded for each node: its rank among siblings,
        # from 0, and how many consecutive predicted features it depends on.
        self.reader.work = Work()
        shape = TreeShape(max_tokens - 1, partial(width_under, self.settings))
        builder = self.build(context, shape, chance)
        evidence: dict[int, dict[str, Any]] = {
            node: {"rank": path[-1], "guessed_features": len(path) - 1}
            for node, path in enumerate(builder.paths)
            if node
        }
        passes = self.reader.passes if len(builder.tokens) > 1 else 0
        evidence[0] = {"form": "features", "passes": passes}
        return builder.proposal(evidence=evidence, work=self.reader.work)

    def discard_from(self, node: int) -> None:
        """Implement `LevelSession.discard_from`."""
        self.reader.discard_from(node)


def eagle_reader(head: EagleHead, target: Target, name: str) -> FeatureReader:
    """Return a reader that reads the target's final states and uses its output head."""

    def final(states: States) -> Tensor:
        assert states.final is not None
        return states.final

    return FeatureReader(head, target, final, target.model.get_output_embeddings(), name)


def width_under(settings: Settings, ranks: Sequence[int]) -> int:
    """Return the number of guesses under a node.

    This is the width that the settings give for its depth, minus 1 for every better sibling of a
    guess on the path, so more probable paths get more guesses. Widths [4, 3, 3, 2] and γ = 4 give
    25 guesses, as many as in EAGLE's own tree, whose shape is nearly the same. Ranks do not depend
    on the target, so the rules stay exact. ranks: ranks on the node's path, from 0; empty for the
    root.
    """
    return max(0, settings.width(len(ranks)) - sum(ranks))


class Eagle2(Eagle):
    """EAGLE-2, which uses EAGLE's own weights."""

    name = "eagle2"

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        reader = eagle_reader(self.head, target, self.card.name)
        return DynamicSession(reader, target, settings)


class Eagle3(HeadDrafter):
    """The EAGLE-3 drafter: a head in eval mode, on the target's device and in its dtype."""

    name = "eagle3"
    network: ClassVar[Any] = Eagle3Head
    head: Eagle3Head

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Implement `HeadDrafter.session`."""
        head = self.head

        def fused(states: States) -> Tensor:
            return head.fuse(states.layers)

        reader = FeatureReader(head, target, fused, head.logits_function(), self.card.name)
        remark = {"tap_layers": list(self.capture.layers), "draft_vocabulary": len(head.d2t)}
        return DynamicSession(reader, target, settings, remark)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # `fc` runs only when the target's hidden states are read, so it is counted separately. The
        # output head is the drafter's own.
        fuse, own = matrix_weights(self.head.fc), matrix_weights(self.head.lm_head)
        return Weights(matrix_weights(self.head) - fuse - own, own, fuse)
