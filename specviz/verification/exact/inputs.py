"""Numbers as a law: checked, in float64, and made to sum to 1 before any test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

ROUNDING: Final = 1e-2  # a sum this near to 1 was meant to be 1; bfloat16 rounds a softmax so


class NotADistribution(ValueError):
    """Numbers that are no distribution; the message is a sentence for who gave them."""


def as_distribution(values: Sequence[float] | Tensor, who: str = "The law") -> Tensor:
    """Probabilities as a law (V,) in float64 on the host, scaled to sum to 1 exactly.

    Conversion comes before any test, or the rounding of a low precision would pass for loss.
    Raises NoLaw where there are none, one is no number or below 0, or their sum is not near 1.
    """
    law = torch.as_tensor(values).detach().cpu().to(torch.float64)
    if law.dim() != 1 or not len(law):
        raise NotADistribution(
            f"{who} needs one probability for each token, and at least one token."
        )
    if not bool(law.isfinite().all()) or bool((law < 0).any()):
        raise NotADistribution(
            f"{who} holds something that is no probability: each lies between 0 and 1."
        )
    total = law.sum().item()
    if not math.isclose(total, 1.0, abs_tol=ROUNDING):
        raise NotADistribution(f"{who} sums to {total:.4g}, not to 1.")
    return law / total


def normalize_weights(weights: Sequence[float] | Tensor, who: str = "The law") -> Tensor:
    """Weights such as dragged bars, of any sum above 0, as a law. Raises NoLaw."""
    law = torch.as_tensor(weights).detach().cpu().to(torch.float64)
    total = law.sum().item()
    if not math.isfinite(total) or total <= 0:
        raise NotADistribution(
            f"{who} has no weight to share out: one bar at least must stand above 0."
        )
    return as_distribution(law / total, who)


def as_pair(p: Sequence[float] | Tensor, q: Sequence[float] | Tensor) -> tuple[Tensor, Tensor]:
    """p and q as laws over the same tokens. Raises NoLaw."""
    target, draft = (
        as_distribution(p, "The target's law p"),
        as_distribution(q, "The draft's law q"),
    )
    if len(target) != len(draft):
        raise NotADistribution(f"p is over {len(target):,} tokens and q over {len(draft):,}.")
    return target, draft
