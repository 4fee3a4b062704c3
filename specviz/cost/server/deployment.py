"""Where a server runs, which it does not say: machine, model, drafter, context and batch.

Rule: names are of the presets; whatever cannot be is refused with a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specviz.cost import sources
from specviz.cost.model_shape import ModelShape
from specviz.cost.roofline import Serving
from specviz.cost.server.outlook import Outlook, outlook
from specviz.cost.server.stats import ServerStats
from specviz.cost.sources import drafters

LIMITS: Final[Mapping[str, tuple[str, int, int]]] = {  # how it is called, least, most
    "cards": ("The number of cards", 1, 64),
    "context": ("The context", 0, 131_072),
    "batch": ("The batch size", 1, 512),
    "gamma": ("γ", 1, 64),
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """cards share the work of a pass. context: tokens in each cache. batch: sequences in a pass.

    gamma: guesses in a draft. batch, gamma: None for what the server says.
    """

    hardware: str
    model: str
    dtype: str
    drafter: str
    cards: int = 1
    context: int = 512
    batch: int | None = None
    gamma: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("hardware", sources.machines()), ("model", sources.models())):
            _known(getattr(self, name), list(known), name)
        _known(self.dtype, list(sources.machines()[self.hardware].peak), "number format there")
        _known(self.drafter, list(drafters(self.model)), f"drafter for {self.model}")
        for name, (called, least, most) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{called} lies between {least} and {most:,}, not at {value:,}.")

    @property
    def serving(self) -> Serving:
        """The target on the machine, at the peaks of its data sheet."""
        machine = sources.machines()[self.hardware].hardware
        shape = sources.models()[self.model].shape
        return Serving(shape, machine, self.dtype, self.context, self.cards)

    @property
    def draft(self) -> ModelShape | None:
        """The drafter's shape; None where drafting costs nothing."""
        return drafters(self.model)[self.drafter][1]

    def batch_of(self, told: ServerStats) -> int:
        """The batch that was chosen, or the server's own; 1 where nobody says one."""
        return self.batch or min(told.batch or 1, LIMITS["batch"][2])

    def outlook(self, told: ServerStats) -> Outlook:
        """What another γ would bring here. Raises Unreadable where it cannot be said."""
        gamma = told.length or self.gamma
        return outlook(told, self.serving, self.batch_of(told), self.draft, gamma)


def _known(value: str, names: list[str], kind: str) -> None:
    if value not in names:
        raise ValueError(f"{value!r:.60} is no {kind}; there are {', '.join(names)}.")
