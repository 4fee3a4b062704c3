"""EAGLE's head (2401.15077; also used by EAGLE-2, 2406.16858) and its training.

A feature is the target's hidden state after its final norm. Row t pairs the feature f_t with the
embedding of token t + 1 and predicts f_{t+1}, from which the target's own output head computes the
distribution of token t + 2. The layer has no norm before its attention, and its output is
used as a feature without a norm.

In training, drafts are unrolled along a known text without sampling. In step s, row t, the head has
the target's states up to token t and the text's tokens up to t + 1 + s, and predicts token t + 2 +
s. A session does the same along a draft path that equals the text; training does it for all rows at
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, Self, cast

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.common.checkpoint import HeadNetwork
from specviz.drafters.common.features import NumpyPass
from specviz.drafters.common.layers import Attention, Mix, Mlp, Unrolled, weight_of
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.training import DEPTH, Family, TargetOutputs
from specviz.drafters.eagle.config import EagleConfig
from specviz.models.fast_linear import FastLinear
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm
from specviz.models.products import Array
from specviz.models.target import Target


class EagleLayer(nn.Module):
    """A Llama layer without the norm before its attention."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config, config.hidden_size)
        self.mlp = Mlp(config)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map (B, n, h) to (B, n, h)."""
        rows = rows + self.self_attn(rows, positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


class EagleHead(HeadNetwork):
    """fc and one layer, named as in the public checkpoints.

    Args:
        config: Its config.
        own_embedding: Whether it has its own embeddings instead of the target's.
    """

    family = "eagle"
    config_type = EagleConfig
    config: EagleConfig

    def __init__(self, config: EagleConfig, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide = config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, wide) if own_embedding else None
        self.fc = nn.Linear(2 * wide, wide, bias=config.bias)
        self.layers = nn.ModuleList([EagleLayer(config)])

    def forward(self, features: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Predict the features f_{t+1}, (B, n, h).

        Args:
            features: f_t, (B, n, h).
            words: Embeddings of the tokens t + 1, (B, n, h).
            positions: Positions of the rows t, (n,); for a guess, its parent's plus one.
            mix: See `Attention.forward`.
        """
        rows = self.fc(torch.cat([words, features], dim=-1))
        for layer in self.layers:
            rows = layer(rows, positions, mix)
        out: Tensor = rows
        return out

    def numpy_pass(self) -> NumpyPass:
        """Implement `NumpyHead.numpy_pass`."""
        assert isinstance(self.fc, FastLinear)
        fc, eps = self.fc.product, self.config.rms_norm_eps
        parts = [
            (layer.self_attn.fast, layer.mlp.fast, weight_of(layer.post_attention_layernorm))
            for layer in cast(Sequence[EagleLayer], self.layers)
        ]

        def compute(
            states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
        ) -> Array:
            rows = fc(np.concatenate([words, states], 1))
            for i, (attention, mlp, norm) in enumerate(parts):
                assert attention is not None
                assert mlp is not None
                rows = rows + attention(rows, turn, sees, cache, i)
                rows = rows + mlp(rms_norm(rows, norm, eps))
            return rows

        return compute

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [layer.self_attn for layer in cast(Sequence[EagleLayer], self.layers)]

    @classmethod
    def like_file(cls, found: Head, config: EagleConfig) -> Self:
        """Implement `HeadNetwork.like_file`."""
        return cls(config, own_embedding="embed_tokens.weight" in found.tensors)


def unroll(head: Any, states: Tensor, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Yield the outputs (B, T - 1 - s, h) of steps s = 0, 1, …, as far as the text reaches.

    Args:
        head: The head.
        states: The target's states as the head reads them, (B, T, h).
        outputs: The target's outputs.
        steps: Maximum number of steps.
    """
    mix, length = Unrolled(), outputs.tokens.shape[1]
    embed = outputs.embed if head.embed_tokens is None else head.embed_tokens
    words = embed(outputs.tokens)
    for step in range(min(steps, length - 1)):
        rows = length - 1 - step
        positions = torch.arange(step, step + rows, device=words.device)
        states = head(states[:, :rows], words[:, step + 1 :], positions, mix)
        yield states


DISTRIBUTION_WEIGHT = 0.1  # as in the paper


def loss(head: EagleHead, outputs: TargetOutputs) -> Tensor:
    """Return SmoothL1 to the feature f_{t+1}, plus cross-entropy to the target's distribution.

    One step from the target's features, as published. The paper also adds noise to the features;
    here the loss depends on the batch alone.
    """
    (output,) = unroll(head, outputs.final, outputs, 1)
    feature = functional.smooth_l1_loss(output.float(), outputs.final[:, 1:].float())
    guessed = outputs.head(output).float().log_softmax(-1)
    cross_entropy = -(outputs.logits[:, 1:].softmax(-1) * guessed).sum(-1).mean()
    return feature + DISTRIBUTION_WEIGHT * cross_entropy


def guesses(head: EagleHead, outputs: TargetOutputs, depth: int) -> list[Tensor]:
    """Return logits by depth, (B, T - d, V) each, as `overlaps` takes them."""
    return [outputs.head(output) for output in unroll(head, outputs.final, outputs, depth)]


def build(target: Target, _counts: Tensor) -> EagleHead:
    """Build a new head for this target; fc has no bias, since vLLM reads none."""
    return EagleHead(replace(EagleConfig.like(target), bias=False))


TRAINING: Final = Family(
    "eagle", build, loss, guesses=lambda head, outputs: guesses(head, outputs, DEPTH), sampled=True
)
