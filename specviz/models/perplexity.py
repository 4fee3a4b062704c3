"""How unlike a text is to what a model was trained on: the bits that it would take to name it."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Final

import torch

from specviz.models.target import Target

BIT: Final = log(2)


@torch.inference_mode()
def bits_per_token(target: Target, ids: Sequence[int]) -> float | None:
    """Mean bits a token, the first one left out (Shannon 1948); None of fewer than two tokens."""
    if len(ids) < 2:
        return None
    logits = target.model(torch.tensor([list(ids)], device=target.device)).logits[0, :-1]
    told = torch.tensor(list(ids)[1:], device=logits.device).unsqueeze(-1)
    return float(-logits.float().log_softmax(-1).gather(-1, told).mean() / BIT)
