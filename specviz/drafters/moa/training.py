"""What a Mixture of Attentions head is trained to do: bear a memory that stands still (2410.03804).

T-bounded masks: a query k tokens after the memory's end sees memory up to there, for every k from 1
to the depth of a house tree and every place in the text at once. The memory is computed once, self-
attention once; depths differ in queries alone, which is why training as it drafts costs so little.
(The public code draws where each stretch begins; here all beginnings count.) The tokens between are
the text's: on the target's own text they are what a kept guess would be.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import torch
import torch.nn.functional as functional
from torch import Tensor

from specviz.drafters.kit.layers import causal
from specviz.drafters.kit.training import EVERY, Family, TargetOutputs, future_loss, weighted
from specviz.drafters.moa.config import MoaConfig
from specviz.drafters.moa.head import MoaHead, beside, recall
from specviz.models.target import Target

STEPS: Final = 5  # trained and measured so deep
FALLING: Final = 0.8  # a step's weight against the one before: late guesses are rarely reached
FEATURE_WEIGHT: Final = 1.0  # this and the next as in the public code
LAW_WEIGHT: Final = 0.1


def loss(head: MoaHead, outputs: TargetOutputs, steps: int = STEPS) -> Tensor:
    """Weighted mean over the steps of SmoothL1 to the target's final state and its law."""
    parts = []
    for depth, output in enumerate(unroll(head, outputs, steps), start=1):
        feature = functional.smooth_l1_loss(output.float(), outputs.final[:, depth:].float())
        law = future_loss(outputs.head(output), outputs, depth + 1)
        parts.append(FEATURE_WEIGHT * feature + LAW_WEIGHT * law)
    return weighted(parts, FALLING)


def guesses(head: MoaHead, outputs: TargetOutputs, depth: int = STEPS) -> list[Tensor]:
    """Logits (B, T - d, V) by depth d = 1, 2, ..., for `agreement`."""
    return [outputs.head(output) for output in unroll(head, outputs, depth)]


def unroll(head: MoaHead, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Outputs (B, T - k, h) of steps k = 1, 2, ...: row t has memory up to t, tokens up to t + k.

    It speaks of token t + k + 1. Stops where the text is too short.
    """
    length = outputs.tokens.shape[1]
    where = torch.arange(length, device=outputs.tokens.device)
    heard = head.self_attention(outputs.embed(outputs.tokens), where, causal)
    rows = {k: (a.transpose(1, 2), b.transpose(1, 2)) for k, (a, b) in outputs.keys_values.items()}
    remembered = head.remember(beside(rows), where)
    for step in range(1, min(steps, length - 1) + 1):
        sees = torch.ones(length - step, length, dtype=torch.bool, device=where.device).tril()
        yield head.cross_attention(heard[:, step:], where[step:], recall(remembered, sees))


def build(target: Target, _counts: Tensor) -> MoaHead:
    """A new head of the house size for this target."""
    return MoaHead(MoaConfig.like(target))


TRAINING: Final = Family("moa", build, loss, guesses, keys_values=(EVERY,))
