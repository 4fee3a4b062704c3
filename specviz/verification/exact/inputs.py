"""Numbers as a distribution: checked, converted to float64 and normalized before any test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

ROUNDING: Final = 1e-2  # how far a sum may be from 1; bfloat16 rounds a softmax this much


class NotADistribution(ValueError):
    """Numbers that are not a distribution; the message is a sentence for the user."""


def as_distribution(values: Sequence[float] | Tensor, who: str = "The distribution") -> Tensor:
    """Convert probabilities to a distribution (V,) in float64 on the host that sums to exactly 1.

    Conversion comes before any test; otherwise rounding in a low precision would look like loss.

    Raises:
        NotADistribution: If there are no numbers, one is negative or not finite, or the sum is not
            near 1.
    """
    probs = torch.as_tensor(values).detach().cpu().to(torch.float64)
    if probs.dim() != 1 or not len(probs):
        raise NotADistribution(
            f"{who} needs one probability for each token, and at least one token."
        )
    if not bool(probs.isfinite().all()) or bool((probs < 0).any()):
        raise NotADistribution(f"{who} must have only probabilities between 0 and 1.")
    total = probs.sum().item()
    if not math.isclose(total, 1.0, abs_tol=ROUNDING):
        raise NotADistribution(f"{who} sums to {total:.4g}, not 1.")
    return probs / total


def normalize_weights(weights: Sequence[float] | Tensor, who: str = "The distribution") -> Tensor:
    """Convert weights of any positive sum, such as dragged bars, to a distribution.

    Raises:
        NotADistribution: If the sum is not positive and finite.
    """
    probs = torch.as_tensor(weights).detach().cpu().to(torch.float64)
    total = probs.sum().item()
    if not math.isfinite(total) or total <= 0:
        raise NotADistribution(f"{who} has no weight: at least one bar must be above 0.")
    return as_distribution(probs / total, who)


def as_pair(p: Sequence[float] | Tensor, q: Sequence[float] | Tensor) -> tuple[Tensor, Tensor]:
    """Convert p and q to distributions over the same tokens. Raises NotADistribution."""
    target = as_distribution(p, "The target's distribution p")
    draft = as_distribution(q, "The draft's distribution q")
    if len(target) != len(draft):
        raise NotADistribution(f"p has {len(target):,} tokens, but q has {len(draft):,}.")
    return target, draft
