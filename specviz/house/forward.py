"""A training pass through a Llama's own modules, with layer dropout and early exits.

Rule: with nothing dropped it computes what transformers' forward computes.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.adapters.transformers import (
    LlamaDecoderLayer,
    Rotary,
    attention_inputs,
    attention_scale,
    layer_output,
    rotary_angles,
)

LARGEST_BLOCK = 128  # queries a block: with causality, half of the scores are never computed


class TrainingForward:
    """Runs a model's layers one by one, so that exits can be read and layers dropped.

    `fast` compiles the layers, which needs a C++ compiler on CPU.
    """

    def __init__(self, model: LlamaForCausalLM, fast: bool) -> None:
        self.model = model
        self._layer = torch.compile(_layer, dynamic=False) if fast else _layer
        self._cross_entropy = (
            torch.compile(_cross_entropy, dynamic=False) if fast else (_cross_entropy)
        )
        self._distillation = (
            torch.compile(_distillation, dynamic=False) if fast else (_distillation)
        )

    def states(self, ids: Tensor, keep: Tensor | None = None) -> list[Tensor]:
        """The (rows, length, width) output of every layer, before the final norm.

        `keep` is (layers, rows) of bool: where it is false, a row skips the layer.
        """
        trunk = self.model.model
        hidden = trunk.embed_tokens(ids)
        if torch.is_autocast_enabled(ids.device.type):
            hidden = hidden.to(torch.get_autocast_dtype(ids.device.type))
        positions = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        rotary = rotary_angles(trunk, hidden, positions)
        states = []
        for index, layer in enumerate(trunk.layers):
            kept = None if keep is None else keep[index, :, None, None]
            hidden = self._layer(layer, hidden, rotary, kept)
            states.append(hidden)
        return states

    def cross_entropy(self, state: Tensor, targets: Tensor) -> Tensor:
        """The mean loss (nats a token) of the shared norm and head on a layer's output."""
        return self._cross_entropy(self.model, state, targets)

    def distillation(self, state: Tensor, teacher_logits: Tensor) -> Tensor:
        """The mean KL(teacher || this model), nats a token, at the last layer's output."""
        return self._distillation(self.model, state, teacher_logits)


def dropout_rates(layers: int, largest: float) -> list[float]:
    """LayerSkip's rate for each layer: 0 at the first, rising exponentially to `largest`."""
    return [largest * (math.exp(i * math.log(2) / (layers - 1)) - 1) for i in range(layers)]


def kept_layers(rates: list[float], rows: int, seed: int, step: int) -> Tensor:
    """Draw (layers, rows) of bool, a function of (seed, step): true where a row runs a layer."""
    draws = np.random.default_rng([seed, step, 1]).random((len(rates), rows))
    return torch.from_numpy(draws >= np.asarray(rates)[:, None])


def _layer(
    layer: LlamaDecoderLayer,
    hidden: Tensor,
    rotary: Rotary,
    kept: Tensor | None,
) -> Tensor:
    queries, keys, values = attention_inputs(layer, hidden, rotary)
    mixed = _causal_attention(queries, keys, values, attention_scale(layer))
    output = layer_output(layer, hidden, mixed)
    return output if kept is None else torch.where(kept, output, hidden)


def _causal_attention(queries: Tensor, keys: Tensor, values: Tensor, scaling: float) -> Tensor:
    """Plain attention in blocks of queries: 1.6 times torch's fused kernel on the CPU."""
    length = queries.shape[2]
    mixed = []
    for begin in range(0, length, LARGEST_BLOCK):
        end = min(length, begin + LARGEST_BLOCK)
        scores = queries[:, :, begin:end] @ keys[:, :, :end].transpose(-1, -2)
        future = torch.full((end - begin, end), -math.inf, device=scores.device).triu(begin + 1)
        weights = (scores.float() * scaling + future).softmax(-1).to(values.dtype)
        mixed.append(weights @ values[:, :, :end])
    return torch.cat(mixed, dim=2)


def _logits(model: LlamaForCausalLM, state: Tensor) -> Tensor:
    logits: Tensor = model.lm_head(model.model.norm(state))
    return logits.flatten(0, 1).float()


def _cross_entropy(model: LlamaForCausalLM, state: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(_logits(model, state), targets.flatten())


def _distillation(model: LlamaForCausalLM, state: Tensor, teacher_logits: Tensor) -> Tensor:
    log_q = functional.log_softmax(_logits(model, state), dim=-1)
    log_p = functional.log_softmax(teacher_logits.float(), dim=-1)
    return (log_p.exp() * (log_p - log_q)).sum(-1).mean()
