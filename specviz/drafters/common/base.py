"""What most drafters have in common: two bases, one for those with weights of their own, one for
those without.

Rule: a row of the catalogue names a class by its dotted path, and `load(title, folder, target)`
makes a drafter of it: `folder` has its weights and is None where its row has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from specviz.drafters.common.checkpoint import card_of, made_for
from specviz.models.checkpoint import MadeFor, check_made_for
from specviz.models.passes import CaptureSpec
from specviz.models.target import Target
from specviz.trace.events import ModelCard
from specviz.trace.work import Weights


class Weightless:
    """Fits any target; nothing to load. A subclass has a `name` and `begin`, as `Drafter` says."""

    name: str
    made_for: MadeFor = None
    capture = CaptureSpec()

    def __init__(self, title: str | None = None) -> None:
        """title: what it is shown as; its name where None."""
        self.card = ModelCard(title or self.name, self.name, 0, 0, None)

    @classmethod
    def load(cls, title: str, folder: Path | None, target: Target) -> Self:
        """The drafter, shown as `title`."""
        return cls(title)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. None: it looks things up, or lets rows ride in the target's passes."""
        return Weights(0, 0)


class HeadDrafter:
    """A trained head in eval mode, on the target's device and in its dtype.

    A subclass has a `name`, the `network` that its folder holds (an `nn.Module` with a `config`
    that says `made_for`, and `load(folder, target)`), and `begin`, as `Drafter` says. taps: the
    final states, where a subclass does not say otherwise.
    """

    name: str
    network: ClassVar[Any]
    capture = CaptureSpec(final=True)

    def __init__(self, head: Any, card: ModelCard) -> None:
        self.head = head
        self.card = card
        self.made_for: MadeFor = head.config.made_for

    @classmethod
    def load(cls, title: str, folder: Path, target: Target) -> Self:
        """The head in `folder`, shown as `title`. Raises NotAvailable, Unsuitable.

        Whom it is made for is asked before its tensors are read: those of a head for another
        target do not fit, and that would be the wrong thing to say.
        """
        check_made_for(title, made_for(folder), target.card.name, target.card.hash)
        head = cls.network.load(folder, target)
        return cls.around(head, card_of(head, title, cls.name, folder), target)

    @classmethod
    def around(cls, head: Any, card: ModelCard, target: Target) -> Self:
        """The drafter of a head that was read for this target."""
        return cls(head, card)
