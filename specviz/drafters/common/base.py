"""Base classes of drafters: one for drafters without weights, one for trained heads.

A row of the catalogue names a drafter class by its dotted path. The class method
`load(title, folder, target)` builds the drafter; `folder` holds its weights, and is None for a row
without weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from specviz.drafters.common.checkpoint import card_of, made_for
from specviz.engine.protocol import DraftSession
from specviz.models.checkpoint import MadeFor, check_made_for
from specviz.models.passes import CaptureSpec, causal_lm_weights, matrix_weights
from specviz.models.target import Target, TargetRun
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights


class Weightless:
    """A drafter without weights, which fits any target.

    A subclass has a `name` and implements `Drafter.begin`.

    Args:
        title: Displayed name; the drafter's own name if None.
    """

    name: str
    made_for: MadeFor = None
    capture = CaptureSpec()

    def __init__(self, title: str | None = None) -> None:
        """Create the model card."""
        self.card = ModelCard(title or self.name, self.name, 0, 0, None)

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """Return the drafter with `title` as its displayed name."""
        return cls(title)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`: this drafter has no weights."""
        return Weights(0, 0)


class HeadDrafter:
    """A trained head in eval mode, on the target's device and in its dtype.

    A subclass has a `name`, implements `session`, and sets `network` to the class of the heads in
    its folders: an `nn.Module` with the method `load(folder, target)` and a `config` that has the
    field `made_for` and the method `check_fit(name, target)`. The target's final hidden states are
    captured for it, or the outputs of the layers that its config lists as `tap_layers`, unless the
    subclass overrides that.
    """

    name: str
    network: ClassVar[Any]
    capture = CaptureSpec(final=True)

    def __init__(self, head: Any, card: ModelCard) -> None:
        self.head = head
        self.card = card
        self.made_for: MadeFor = head.config.made_for
        if taps := getattr(head.config, "tap_layers", ()):
            self.capture = CaptureSpec(layers=taps)

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """Load the head in `folder`, with `title` as its displayed name.

        Before the tensors are read, the target is compared with the one that the head was trained
        for. Loading the tensors for another target would fail too, but with a less helpful error.

        Raises:
            NotAvailable: If the folder has no weights.
            Unsuitable: If the head does not fit the target.
        """
        check_made_for(title, made_for(folder), target.card.name, target.card.hash)
        head = cls.network.load(folder, target)
        return cls.from_head(head, card_of(head, title, cls.name, folder), target)

    @classmethod
    def from_head(cls, head: Any, card: ModelCard, target: Target) -> Self:
        """Return a drafter for a head that is already loaded for this target."""
        return cls(head, card)

    def begin(self, target: TargetRun, settings: Settings) -> DraftSession:
        """Implement `Drafter.begin`.

        Raises:
            Unsuitable: If the head does not fit the target.
        """
        self.head.config.check_fit(self.card.name, target.target)
        return self.session(target.target, settings)

    def session(self, target: Target, settings: Settings) -> DraftSession:
        """Start a session for one run on a target that the head fits."""
        raise NotImplementedError

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights` for a head that uses the target's output head."""
        return Weights(matrix_weights(self.head), causal_lm_weights(target.model).head)
