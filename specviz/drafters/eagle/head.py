"""EAGLE's head (2401.15077; EAGLE-2, 2406.16858, uses the same): it guesses the target's features.

A feature is the target's state after its final norm. Row t pairs feature f_t with the embedding of
token t + 1 and guesses f_{t+1}; the target's own output head makes of that the law of token t + 2.
The layer has no norm before its attention, and its output is a feature as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.common.checkpoint import restore, write
from specviz.drafters.common.layers import Attention, Mix, Mlp, Unrolled, weight_of
from specviz.drafters.common.layouts.table import read_head
from specviz.drafters.common.training import DEPTH, Family, TargetOutputs
from specviz.drafters.eagle.config import EagleConfig
from specviz.models.fast_linear import FastLinear
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm
from specviz.models.products import Array
from specviz.models.target import Target


class EagleLayer(nn.Module):
    """A Llama layer that lacks the norm before its attention."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config, config.hidden_size)
        self.mlp = Mlp(config)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """(B, n, h) to (B, n, h)."""
        rows = rows + self.self_attn(rows, positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


class EagleHead(nn.Module):
    """fc and one layer. Names as in the public checkpoints.

    embed_tokens: the file's own embedding; None, as in house files, where the target's serves.
    """

    def __init__(self, config: EagleConfig, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide = config.hidden_size
        self.embed_tokens = nn.Embedding(config.vocab_size, wide) if own_embedding else None
        self.fc = nn.Linear(2 * wide, wide, bias=config.bias)
        self.layers = nn.ModuleList([EagleLayer(config)])

    def forward(self, features: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Features f_t and embeddings of the tokens t + 1, (B, n, h) each, to guesses of f_{t+1}.

        positions: (n,), of the rows t; for a guess, that of its parent plus one.
        """
        rows = self.fc(torch.cat([words, features], dim=-1))
        for layer in self.layers:
            rows = layer(rows, positions, mix)
        out: Tensor = rows
        return out

    def compute(
        self, states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
    ) -> Array:
        """Implement `NumpyHead.compute`."""
        assert isinstance(self.fc, FastLinear)
        rows, eps = self.fc.product(np.concatenate([words, states], 1)), self.config.rms_norm_eps
        for i, layer in enumerate(cast(Sequence[EagleLayer], self.layers)):
            attention, mlp = layer.self_attn.fast, layer.mlp.fast
            assert attention is not None
            assert mlp is not None
            rows = rows + attention(rows, turn, sees, cache, i)
            rows = rows + mlp(rms_norm(rows, weight_of(layer.post_attention_layernorm), eps))
        return rows

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [layer.self_attn for layer in cast(Sequence[EagleLayer], self.layers)]

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors in bf16. See `load`."""
        write(folder, self.config.to_json(), self)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The head in `folder`, on the target's device, in its dtype, ready to draft.

        Raises NotAvailable or Unsuitable with a sentence; a tensor that does not fit is named.
        """
        found = read_head(folder, "eagle")
        config = EagleConfig.from_json(found.name, found.config)
        config.check_fit(found.name, target)
        head = cls(config, own_embedding="embed_tokens.weight" in found.tensors)
        restore(found.name, head, found.tensors, target.model)
        return head


def unroll(head: Any, states: Tensor, frozen: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Outputs (B, T - 1 - s, h) of steps s = 0, 1, ..., each from those before.

    states: (B, T, h), the target's, as the head takes them. Stops where the text is too short.
    """
    mix, length = Unrolled(), frozen.tokens.shape[1]
    embed = frozen.embed if head.embed_tokens is None else head.embed_tokens
    words = embed(frozen.tokens)
    for step in range(min(steps, length - 1)):
        rows = length - 1 - step
        positions = torch.arange(step, step + rows, device=words.device)
        states = head(states[:, :rows], words[:, step + 1 :], positions, mix)
        yield states


LAW_WEIGHT = 0.1  # the paper's; features come first


def loss(head: EagleHead, frozen: TargetOutputs) -> Tensor:
    """SmoothL1 to the feature f_{t+1}, and a little cross-entropy to the target's law there.

    One step from true features, as published; the paper also adds noise to the features, and this
    does not, since a loss here is a function of the batch alone.
    """
    (output,) = unroll(head, frozen.final, frozen, 1)
    feature = functional.smooth_l1_loss(output.float(), frozen.final[:, 1:].float())
    guessed = frozen.head(output).float().log_softmax(-1)
    law = -(frozen.logits[:, 1:].softmax(-1) * guessed).sum(-1).mean()
    return feature + LAW_WEIGHT * law


def guesses(head: EagleHead, frozen: TargetOutputs, depth: int) -> list[Tensor]:
    """Logits (B, T - d, V) by depth d = 1, 2, ..., for `agreement`."""
    return [frozen.head(output) for output in unroll(head, frozen.final, frozen, depth)]


def build(target: Target, _counts: Tensor) -> EagleHead:
    """A new head for this target; without a bias in fc, since vLLM reads none."""
    return EagleHead(replace(EagleConfig.like(target), bias=False))


TRAINING: Final = Family(
    "eagle", build, loss, guesses=lambda head, frozen: guesses(head, frozen, DEPTH), sampled=True
)
