"""Find the parts of a decoder, run its layers one by one, and find its sliding windows.

Heads read hidden states, and early exit runs single layers. transformers documents neither the
attributes that hold the layers nor how to call a layer. If a part is not found, callers report that
this model does not support the feature.

The config defines which layers have a window, by `layer_types`, or by `sliding_window` for all
layers, as in `create_masks_for_generate` of transformers. A forward takes a dict with one mask per
kind of layer, or a single mask if all layers are of one kind. None of this is documented, so
`passes_masks_on` tests it. If the test fails, callers limit the length of a text to the window. If
no mask is passed, transformers builds one from the sizes of the cache.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import (
    Cache,
    PreTrainedConfig,
    PreTrainedModel,
)

from specviz.adapters.transformers.caches import with_cache

Rotary = tuple[Tensor, Tensor]  # cosines and sines of the rotary angles, (B, r, head size) each


def decoder_layers(model: Any) -> Any | None:
    """Return the decoder layers in order, or None if they are not found."""
    return _part(model, ("layers", "h"))


def final_norm(model: Any) -> Any | None:
    """Return the norm before the output head, or None if it is not found."""
    return _part(model, ("norm", "ln_f", "final_layer_norm"))


def _part(model: Any, names: Sequence[str]) -> Any | None:
    """Return the first of these attributes that the base model or its text decoder has."""
    bases = [model.base_model]
    if hasattr(model, "get_decoder"):  # in models that also read images (Gemma 3 from 4B on)
        bases.append(model.get_decoder())
    found = (getattr(base, name, None) for base in bases for name in names)
    return next((part for part in found if part is not None), None)


def steppable_decoder(model: Any) -> Any | None:
    """Return the decoder if its layers can be run one by one like a Llama's, or None.

    The decoder has `embed_tokens`, `layers` and `norm`, and can be passed to `rotary_angles`.
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
    """Return the decoder of a Llama, or of a network that only adds biases or query and key norms.

    The result is None for any other network, for a sliding window, and if a part of a layer is not
    found. The caller then uses the network's own forward, which is slower on a CPU.
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
    """Return the rotary angles of rows, for `run_layer`.

    Args:
        decoder: The decoder.
        hidden: Hidden states, (B, r, h); only the dtype and device are used.
        positions: Positions of the rows, (B, r).
    """
    angles: Rotary = decoder.rotary_emb(hidden, position_ids=positions)
    return angles


def run_layer(
    layer: nn.Module,
    hidden: Tensor,
    rotary: Rotary,
    mask: Tensor,
    kv_cache: Cache | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """Run one decoder layer on rows. The layer extends its part of the cache.

    Args:
        layer: The layer.
        hidden: Input of the layer, (B, r, h).
        rotary: The rotary angles of the rows.
        mask: Additive mask, (B, 1, r, rows of the cache + r).
        kv_cache: The cache, or None.
        positions: Positions of the rows, (B, r), for layers that need them.

    Returns:
        Output of the layer, (B, r, h).
    """
    placed = {} if positions is None else {"position_ids": positions}
    out = layer(
        hidden,
        attention_mask=mask,
        position_embeddings=rotary,
        **placed,
        **with_cache(layer, kv_cache),
    )
    rows: Tensor = out[0] if isinstance(out, tuple) else out
    return rows


def attention_inputs(layer: Any, hidden: Tensor, rotary: Rotary) -> tuple[Tensor, Tensor, Tensor]:
    """Return a Llama layer's rotated queries and keys, and values, (B, heads, r, size) each."""
    attention, rows = layer.self_attn, layer.input_layernorm(hidden)
    queries, keys, values = (
        projection(rows).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    return _rotated(queries, rotary), _rotated(keys, rotary), values


def attention_scale(layer: Any) -> float:
    """Return the factor by which a Llama layer scales attention scores."""
    return float(layer.self_attn.scaling)


def layer_output(layer: Any, hidden: Tensor, mixed: Tensor) -> Tensor:
    """Compute the rest of a Llama layer after attention, and return its output, (B, r, h).

    Args:
        layer: The layer.
        hidden: The layer's input, (B, r, h).
        mixed: The result of its attention, (B, heads, r, head size).
    """
    hidden = hidden + layer.self_attn.o_proj(mixed.transpose(1, 2).flatten(2))
    out: Tensor = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    return out


def _rotated(rows: Tensor, rotary: Rotary) -> Tensor:
    """Apply rotary embedding to rows (B, heads, r, size), pairing the two halves of a row."""
    cosines, sines = (each.unsqueeze(1) for each in rotary)
    first, second = rows.chunk(2, dim=-1)
    return rows * cosines + torch.cat([-second, first], dim=-1) * sines


FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Windows:
    """The layers that attend only to the newest `rows` rows.

    Attributes:
        rows: Size of the window, including the row itself.
        sliding: By layer, whether it has the window.
        by_kind: Whether the forward takes one mask per kind of layer.
    """

    rows: int
    sliding: tuple[bool, ...]
    by_kind: bool

    def argument(self, full: Tensor, sliding: Tensor) -> Any:
        """Return the value for the argument `attention_mask` of the forward."""
        return {FULL: full, SLIDING: sliding} if self.by_kind else sliding


def sliding_windows(config: PreTrainedConfig) -> Windows | None:
    """Return the sliding windows in a config, or None if no layer has one."""
    text: Any = config.get_text_config(decoder=True)
    rows = getattr(text, "sliding_window", None)
    if not rows or not getattr(text, "use_sliding_window", True):
        return None
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        return Windows(rows, (True,) * text.num_hidden_layers, by_kind=False)
    sliding = tuple(kind == SLIDING for kind in kinds)
    return Windows(rows, sliding, by_kind=True) if any(sliding) else None


@torch.inference_mode()
def passes_masks_on(model: PreTrainedModel, windows: Windows) -> bool:
    """Return whether every decoder layer gets the mask of its kind, in a pass over two tokens.

    A config may define a window that the network does not implement. A network that takes a single
    mask implements the window only if its module imports the function that builds such masks.
    """
    layers = decoder_layers(model)
    if layers is None or len(layers) != len(windows.sliding):
        return False
    if not windows.by_kind and not hasattr(
        _module_of(layers[0]), "create_sliding_window_causal_mask"
    ):
        return False
    given: list[Any] = []
    hooks = [
        layer.register_forward_pre_hook(
            lambda _layer, args, named: given.append(named.get("attention_mask", args)),
            with_kwargs=True,
        )
        for layer in layers
    ]
    lowest = torch.finfo(model.dtype).min
    full = torch.zeros(1, 1, 2, 2, dtype=model.dtype, device=model.device)
    full[..., 0, 1] = lowest
    sliding = full.clone()
    sliding[..., 1, 0] = lowest
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    try:
        model(input_ids=ids, attention_mask=windows.argument(full, sliding), use_cache=False)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return False
    finally:
        for hook in hooks:
            hook.remove()
    expected = [sliding if slides else full for slides in windows.sliding]
    pairs = zip(given, expected, strict=False)
    return len(given) == len(expected) and all(_same(one, other) for one, other in pairs)


def _module_of(part: nn.Module) -> Any:
    """Return the module whose code defines a part of a network."""
    return sys.modules.get(type(part).__module__)


def _same(given: Any, mask: Tensor) -> bool:
    return isinstance(given, Tensor) and given.shape == mask.shape and bool((given == mask).all())
