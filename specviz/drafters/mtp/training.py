"""What sequential modules are trained to do on a frozen target.

DeepSeek trains module k on rows of its predecessor's states (2412.19437, section 2.2). A module
that is used again reads its own output: it is trained on that too, a few steps deep, each row
behind the true rows and its own earlier ones, as when it drafts (EAGLE-3's training-time test).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from torch import Tensor

from specviz.adapters.transformers import growing_cache
from specviz.drafters.kit.checkpoint import rope_theta
from specviz.drafters.kit.layers import causal_mask, seen_alone
from specviz.drafters.kit.training import Family, TargetOutputs, future_loss, weighted
from specviz.drafters.mtp.head import MTPConfig, MTPModules
from specviz.models.target import Target

STEPS: Final = 4  # trained and measured so deep
FALLING: Final = 0.8  # a step's weight against the one before: late guesses are rarely reached


def loss(head: MTPModules, outputs: TargetOutputs) -> Tensor:
    """The weighted mean over steps; step s, from 1, guesses i + s + 1 at row i."""
    parts = [future_loss(row, outputs, s + 2) for s, row in enumerate(guesses(head, outputs))]
    return weighted(parts, FALLING)


def guesses(head: MTPModules, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py."""
    return list(unroll(head, outputs, max(STEPS, head.config.num_nextn_predict_layers)))


def unroll(head: MTPModules, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Logits (B, T - steps, V) of steps s = 1, 2, …, along the text, as a session has them."""
    many, rows = head.config.num_nextn_predict_layers, outputs.tokens.shape[1] - steps
    hidden, cache = outputs.final[:, :rows], growing_cache()
    for step in range(1, steps + 1):
        again = max(0, step - many)  # how often the last module has read its own output by now
        tokens = outputs.tokens[:, step : step + rows]
        joined = head.module(step).join(hidden, tokens, outputs.embed)
        mask = seen_alone(rows, again, joined) if again else causal_mask(rows, 0, joined)
        positions = torch.arange(again, again + rows, device=joined.device)[None]
        hidden = head.run(step, joined, positions, mask, cache)
        yield head.module(step).logits(hidden, outputs.head)


def build(target: Target, _counts: Tensor) -> MTPModules:
    """A new module for this target, shaped as its layers."""
    shape = target.model.config
    config = MTPConfig(
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        intermediate_size=shape.intermediate_size,
        rms_norm_eps=shape.rms_norm_eps,
        rope_theta=rope_theta(target.model),
        made_for=target.card.hash,
    )
    return MTPModules.new(config, target.model)


TRAINING: Final = Family("mtp", build, loss, guesses, sampled=True)
