"""Where a server runs, which it does not report: machine, model, drafter, context and batch size.

Names are those of the presets; invalid values are refused with a sentence.
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

LIMITS: Final[Mapping[str, tuple[str, int, int]]] = {  # name in errors, minimum, maximum
    "cards": ("The number of devices", 1, 64),
    "context": ("The context", 0, 131_072),
    "batch": ("The batch size", 1, 512),
    "gamma": ("γ", 1, 64),
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """A server's deployment.

    Attributes:
        hardware: Name of a machine.
        model: Name of the target.
        dtype: Number format of weights and cache.
        drafter: Name of a drafter for that target.
        cards: Devices that share the work of a pass.
        context: Tokens in each KV cache.
        batch: Sequences per pass; None for the number that the server reports.
        gamma: The draft length; None for the length that the server reports.
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
        _known(
            self.dtype,
            list(sources.machines()[self.hardware].peak),
            "number format of this machine",
        )
        _known(self.drafter, list(drafters(self.model)), f"drafter for {self.model}")
        for name, (called, least, most) in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise ValueError(f"{called} must be between {least} and {most:,}, not {value:,}.")

    @property
    def serving(self) -> Serving:
        """The target on the machine, at the peaks of its data sheet."""
        machine = sources.machines()[self.hardware].hardware
        shape = sources.models()[self.model].shape
        return Serving(shape, machine, self.dtype, self.context, self.cards)

    @property
    def draft(self) -> ModelShape | None:
        """The drafter's shape; None if drafting costs nothing."""
        return drafters(self.model)[self.drafter][1]

    def batch_of(self, stats: ServerStats) -> int:
        """Return the chosen batch size, else the one the server reports, else 1."""
        return self.batch or min(stats.batch or 1, LIMITS["batch"][2])

    def outlook(self, stats: ServerStats) -> Outlook:
        """Predict the speed-up by γ. Raises UnreadableStats if that is impossible."""
        gamma = stats.length or self.gamma
        return outlook(stats, self.serving, self.batch_of(stats), self.draft, gamma)


def _known(value: str, names: list[str], kind: str) -> None:
    if value not in names:
        raise ValueError(f"{value!r:.60} is not a known {kind}; choose one of {', '.join(names)}.")
