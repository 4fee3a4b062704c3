"""The architectures that can be read from GGUF files, and how to build their configs.

A file is rejected if it has a key that none of these functions reads, and the value is not the
default. Values that llama.cpp assumes but does not write into files (Gemma 3's window pattern) are
defined here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedConfig,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

Values = Mapping[str, Any]

ROPE_BASE: Final = 10_000.0  # base of rotary angles, if the file has no value
LAYER: Final = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
HEAD_NORMS: Final = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
GEMMA_NORMS: Final = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
WINDOW_PATTERN: Final = 6  # for Gemma 3: every sixth layer has no window
WITHOUT_WINDOW: Final = "full_attention"
WITH_WINDOW: Final = "sliding_attention"
LAYERS_OF_27B: Final = 62  # its query scale differs; recognized as in llama.cpp


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture.

    Attributes:
        config: Builds the config from the file's values, the arguments that all configs
            share, and the names of the file's tensors.
        keys: Keys that are read in addition to those of all architectures.
        layer: Names of a layer's modules in transformers, by llama.cpp's names.
        adjacent_pairs: Whether rows of queries and keys that are rotated together are
            adjacent in the file.
        norm_offset: Number that the file adds to norm weights, compared with transformers.
    """

    title: str
    config: Callable[[Values, Values, Collection[str]], PreTrainedConfig]
    keys: tuple[str, ...] = ()
    layer: Mapping[str, str] = field(default_factory=lambda: LAYER)
    adjacent_pairs: bool = False
    norm_offset: float = 0.0


def _rope(values: Values) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": values.get("rope.freq_base", ROPE_BASE)}


def _llama(values: Values, shared: Values, tensors: Collection[str]) -> PreTrainedConfig:
    # llama.cpp calls Mistral "llama", too; it has a sliding window.
    if window := values.get("attention.sliding_window"):
        return MistralConfig(**shared, rope_parameters=_rope(values), sliding_window=window)
    return LlamaConfig(
        **shared,
        rope_parameters=_rope(values),
        attention_bias="blk.0.attn_q.bias" in tensors,
        mlp_bias="blk.0.ffn_gate.bias" in tensors,
    )


def _qwen2(values: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    return Qwen2Config(**shared, rope_parameters=_rope(values), use_sliding_window=False)


def _qwen3(values: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    return Qwen3Config(**shared, rope_parameters=_rope(values), use_sliding_window=False)


def _gemma3(values: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    # Its windowed layers use separate, unscaled rotary angles.
    layers, size = values["block_count"], shared["head_dim"]
    window = values.get("attention.sliding_window")
    pattern = values.get("attention.sliding_window_pattern", WINDOW_PATTERN)
    kinds = [WITH_WINDOW if window and (i + 1) % pattern else WITHOUT_WINDOW for i in range(layers)]
    rope = _rope(values)
    if values.get("rope.scaling.type") == "linear":
        rope |= {"rope_type": "linear", "factor": values.get("rope.scaling.factor", 1.0)}
    local_rope = {"rope_type": "default", "rope_theta": values.get("rope.freq_base_swa", ROPE_BASE)}
    width = values["embedding_length"] // values["attention.head_count"]
    return Gemma3TextConfig(
        **shared,
        sliding_window=window or values["context_length"],  # transformers requires a number
        layer_types=kinds,
        rope_parameters={WITHOUT_WINDOW: rope, WITH_WINDOW: local_rope},
        query_pre_attn_scalar=width if layers == LAYERS_OF_27B else size,
        final_logit_softcapping=values.get("final_logit_softcapping"),
    )


ARCHITECTURES: Final = {
    "llama": Architecture("Llama", _llama, ("attention.sliding_window",), adjacent_pairs=True),
    "qwen2": Architecture("Qwen2", _qwen2),
    "qwen3": Architecture("Qwen3", _qwen3, layer=LAYER | HEAD_NORMS),
    "gemma3": Architecture(
        "Gemma 3",
        _gemma3,
        (
            "attention.sliding_window",
            "attention.sliding_window_pattern",
            "final_logit_softcapping",
            "rope.freq_base_swa",
            "rope.scaling.factor",
            "rope.scaling.type",
        ),
        layer=LAYER | HEAD_NORMS | GEMMA_NORMS,
        norm_offset=1.0,
    ),
}

NETWORKS: Final[Mapping[type, Any]] = {
    LlamaConfig: LlamaForCausalLM,
    MistralConfig: MistralForCausalLM,
    Qwen2Config: Qwen2ForCausalLM,
    Qwen3Config: Qwen3ForCausalLM,
    Gemma3TextConfig: Gemma3ForCausalLM,
}
