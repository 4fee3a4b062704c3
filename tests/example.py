"""The worked example of five tokens, and small context-dependent models, for tests of the rules."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.verification.distributions import logits_to_probs

P = torch.tensor([0.40, 0.25, 0.20, 0.10, 0.05], dtype=torch.float64)
Q = torch.tensor([0.10, 0.45, 0.15, 0.25, 0.05], dtype=torch.float64)

WARPERS = [
    Sampling(1.0),
    Sampling(0.6),
    Sampling(1.4, top_k=2),
    Sampling(1.0, top_p=0.7),
    Sampling(0.8, top_k=2, top_p=0.6),
]


def model(seed: int, size: int, sampling: Sampling) -> Callable[[tuple[int, ...]], Tensor]:
    """A context-dependent model over `size` tokens; its logits are warped as in a run."""

    def next_law(context: tuple[int, ...]) -> Tensor:
        key = seed
        for token in context:
            key = key * 31 + token + 1
        generator = torch.Generator().manual_seed(key)
        return logits_to_probs(
            torch.randn(size, generator=generator, dtype=torch.float64) * 2, sampling
        )

    return next_law
