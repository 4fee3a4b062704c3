"""The architectures that are read from GGUF files: what a file says, as a config of transformers.

Rule: a key that none of these functions reads must have its usual value, or the file is refused.
What llama.cpp does not write but assumes (Gemma 3's pattern of windows) is written down here.
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

BASE: Final = 10_000.0  # of rotary angles, where a file names none
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
PATTERN: Final = 6  # of Gemma 3: every sixth layer has no window
WITHOUT_WINDOW: Final = "full_attention"
WITH_WINDOW: Final = "sliding_attention"
LAYERS_OF_27B: Final = 62  # by which llama.cpp knows the one Gemma 3 that scales queries otherwise


@dataclass(frozen=True, slots=True)
class Architecture:
    """One architecture. title: for sentences.

    config: takes what the file says of the network, the values that all configs share, and the
    names of the file's tensors. keys: those that it reads beyond the shared ones. layer: a layer's
    parts, by llama.cpp's names. neighbours: whether a query's or key's rotated pairs are rows side
    by side in the file. shift: what its norms' weights are larger by than in transformers.
    """

    title: str
    config: Callable[[Values, Values, Collection[str]], PreTrainedConfig]
    keys: tuple[str, ...] = ()
    layer: Mapping[str, str] = field(default_factory=lambda: LAYER)
    neighbours: bool = False
    shift: float = 0.0


def _turns(said: Values) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": said.get("rope.freq_base", BASE)}


def _llama(said: Values, shared: Values, tensors: Collection[str]) -> PreTrainedConfig:
    """A Llama, or with a sliding window a Mistral, which llama.cpp calls a Llama too."""
    if window := said.get("attention.sliding_window"):
        return MistralConfig(**shared, rope_parameters=_turns(said), sliding_window=window)
    return LlamaConfig(
        **shared,
        rope_parameters=_turns(said),
        attention_bias="blk.0.attn_q.bias" in tensors,
        mlp_bias="blk.0.ffn_gate.bias" in tensors,
    )


def _qwen2(said: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    return Qwen2Config(**shared, rope_parameters=_turns(said), use_sliding_window=False)


def _qwen3(said: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    return Qwen3Config(**shared, rope_parameters=_turns(said), use_sliding_window=False)


def _gemma3(said: Values, shared: Values, _: Collection[str]) -> PreTrainedConfig:
    """Layers with a window turn queries and keys by angles of their own, never stretched."""
    layers, size = said["block_count"], shared["head_dim"]
    window = said.get("attention.sliding_window")
    pattern = said.get("attention.sliding_window_pattern", PATTERN)
    kinds = [WITH_WINDOW if window and (i + 1) % pattern else WITHOUT_WINDOW for i in range(layers)]
    turns = _turns(said)
    if said.get("rope.scaling.type") == "linear":
        turns |= {"rope_type": "linear", "factor": said.get("rope.scaling.factor", 1.0)}
    near = {"rope_type": "default", "rope_theta": said.get("rope.freq_base_swa", BASE)}
    wide = said["embedding_length"] // said["attention.head_count"]
    return Gemma3TextConfig(
        **shared,
        sliding_window=window or said["context_length"],  # transformers asks for a number
        layer_types=kinds,
        rope_parameters={WITHOUT_WINDOW: turns, WITH_WINDOW: near},
        query_pre_attn_scalar=wide if layers == LAYERS_OF_27B else size,
        final_logit_softcapping=said.get("final_logit_softcapping"),
    )


ARCHITECTURES: Final = {
    "llama": Architecture("Llama", _llama, ("attention.sliding_window",), neighbours=True),
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
        shift=1.0,
    ),
}

NETWORKS: Final[Mapping[type, Any]] = {
    LlamaConfig: LlamaForCausalLM,
    MistralConfig: MistralForCausalLM,
    Qwen2Config: Qwen2ForCausalLM,
    Qwen3Config: Qwen3ForCausalLM,
    Gemma3TextConfig: Gemma3ForCausalLM,
}
