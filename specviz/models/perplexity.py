"""Measure how unusual a text is for a model, in bits per token."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final

import torch

from specviz.models.target import Target

BIT: Final = log(2)


@torch.inference_mode()
def bits_per_token(target: Target, ids: Sequence[int]) -> float | None:
    """Return the mean cross-entropy of all tokens but the first, in bits (Shannon 1948).

    Two to this power is the perplexity. The result is None for fewer than two tokens.
    """
    if len(ids) < 2:
        return None
    logits = target.model(torch.tensor([list(ids)], device=target.device)).logits[0, :-1]
    following = torch.tensor(list(ids)[1:], device=logits.device).unsqueeze(-1)
    return float(-logits.float().log_softmax(-1).gather(-1, following).mean() / BIT)
