"""The parts of a decoder, and running its layers one by one.

Heads read hidden states, and early exit runs layers one by one. transformers documents neither
where a network keeps its layers nor how to call one. If a part is not found, callers report that
this kind of model cannot be used for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import (
    Cache,
)

from specviz.adapters.transformers.caches import with_cache

Rotary = tuple[Tensor, Tensor]  # cosines and sines of the rotary angles, (B, r, head size) each


def decoder_layers(model: Any) -> Any | None:
    """Return the decoder layers in order, or None if the architecture keeps them elsewhere."""
    return _part(model, ("layers", "h"))


def final_norm(model: Any) -> Any | None:
    """Return the norm before the output projection, or None if it is elsewhere."""
    return _part(model, ("norm", "ln_f", "final_layer_norm"))


def _part(model: Any, names: Sequence[str]) -> Any | None:
    """Return the first part that the base model or its text decoder has under one of the names."""
    bases = [model.base_model]
    if hasattr(model, "get_decoder"):  # of a model that also reads images (Gemma 3 from 4B on)
        bases.append(model.get_decoder())
    found = (getattr(base, name, None) for base in bases for name in names)
    return next((part for part in found if part is not None), None)


def steppable_decoder(model: Any) -> Any | None:
    """Return the decoder if its layers can be run one by one as a Llama's, or None.

    It has `embed_tokens`, `layers`, `norm`, and what `rotary_angles` needs.
    """
    base = model.base_model
    parts = ("embed_tokens", "layers", "norm", "rotary_emb")
    return base if all(hasattr(base, part) for part in parts) else None


LLAMA_LIKE: Final = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
)
FIXED_ANGLES: Final = ("default", "linear", "llama3", "yarn")  # independent of the text's length


def llama_decoder(model: Any) -> Any | None:
    """Return the decoder of a Llama, or of a Llama with biases or query and key norms.

    None for any other network, for one with a sliding window, and if a part of a layer is not
    found. The network's own forward is then used, which is slower on a CPU.
    """
    kind, config = type(model), model.config
    if kind.__name__ not in LLAMA_LIKE or not kind.__module__.startswith("transformers."):
        return None
    angles = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    usual = config.hidden_act == "silu" and angles in FIXED_ANGLES and kinds == {"full_attention"}
    decoder = steppable_decoder(model)
    if not usual or getattr(config, "sliding_window", None) or decoder is None:
        return None
    attention = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim")
    mlp = ("gate_proj", "up_proj", "down_proj")
    whole = all(
        all(hasattr(layer.self_attn, name) for name in attention)
        and all(hasattr(layer.mlp, name) for name in mlp)
        for layer in decoder.layers
    )
    return decoder if whole else None


def rotary_angles(decoder: Any, hidden: Tensor, positions: Tensor) -> Rotary:
    """Return what `run_layer` rotates rows by.

    Args:
        decoder: The decoder.
        hidden: (B, r, h), for its dtype.
        positions: (B, r).
    """
    angles: Rotary = decoder.rotary_emb(hidden, position_ids=positions)
    return angles


def run_layer(
    layer: nn.Module,
    hidden: Tensor,
    rotary: Rotary,
    mask: Tensor,
    kept: Cache | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """Run one decoder layer on rows, which extends its own part of the cache.

    Args:
        layer: The layer.
        hidden: (B, r, h).
        rotary: The rotation of the rows.
        mask: Additive, (B, 1, r, rows of the cache + r).
        kept: The cache, or None.
        positions: (B, r), for layers that need them.

    Returns:
        (B, r, h).
    """
    placed = {} if positions is None else {"position_ids": positions}
    out = layer(
        hidden,
        attention_mask=mask,
        position_embeddings=rotary,
        **placed,
        **with_cache(layer, kept),
    )
    rows: Tensor = out[0] if isinstance(out, tuple) else out
    return rows


def attention_inputs(layer: Any, hidden: Tensor, rotary: Rotary) -> tuple[Tensor, Tensor, Tensor]:
    """Return a Llama layer's rotated queries, keys, and values, (B, heads, r, head size) each."""
    attention, rows = layer.self_attn, layer.input_layernorm(hidden)
    queries, keys, values = (
        projection(rows).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    return _rotated(queries, rotary), _rotated(keys, rotary), values


def attention_scale(layer: Any) -> float:
    """Return the factor of a Llama layer's attention scores."""
    return float(layer.self_attn.scaling)


def layer_output(layer: Any, hidden: Tensor, mixed: Tensor) -> Tensor:
    """Return a Llama layer's output, (B, r, h).

    Args:
        layer: The layer.
        hidden: The layer's input, (B, r, h).
        mixed: The result of its attention, (B, heads, r, head size).
    """
    hidden = hidden + layer.self_attn.o_proj(mixed.transpose(1, 2).flatten(2))
    out: Tensor = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    return out


def _rotated(rows: Tensor, rotary: Rotary) -> Tensor:
    """Rotate (B, heads, r, size) as Llama's attention does: the halves of a row are its pairs."""
    cosines, sines = (each.unsqueeze(1) for each in rotary)
    first, second = rows.chunk(2, dim=-1)
    return rows * cosines + torch.cat([-second, first], dim=-1) * sines
