"""EAGLE-3 (2503.01840): a head that reads three of the target's layers, and a dynamic tree.

It learned on its own outputs, so it bears its own guesses better than EAGLE; and it proposes only
the tokens of a smaller vocabulary, which makes its output head cheap. What it cannot propose, the
target still draws.
"""

from __future__ import annotations

from torch import Tensor

from specviz.drafters.eagle.head3 import Eagle3Head
from specviz.drafters.kit.base import HeadDrafter
from specviz.drafters.kit.dynamic import DynamicSession
from specviz.drafters.kit.features import FeatureReader
from specviz.engine.protocol import DraftSession
from specviz.models.passes import CaptureSpec, States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import matrices
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights


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
        fuse, own = matrices(self.head.fc), matrices(self.head.lm_head)
        return Weights(matrices(self.head) - fuse - own, own, fuse)
