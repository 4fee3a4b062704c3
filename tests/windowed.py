"""Tiny models whose layers have a sliding window of 8 tokens and a context of 128, by kind.

The text of each depends on its window, which `test_windows` checks before it compares texts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import tiny
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3Config,
    Gemma3ForCausalLM,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
    GptOssConfig,
    GptOssForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
)

WINDOW, CONTEXT = 8, 128
USUAL: dict[str, Any] = {
    "vocab_size": tiny.VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": CONTEXT,
    "sliding_window": WINDOW,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}

YARN = {
    "rope_type": "yarn", "rope_theta": 150_000, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "truncate": False, "original_max_position_embeddings": CONTEXT // 4,
}  # fmt: skip


def gemma2(**changes: Any) -> Any:
    """Return a model with a window in every other layer; logits are capped twice."""
    own = {"query_pre_attn_scalar": 12, "tie_word_embeddings": False}  # tied, it repeats one token
    return tiny.loud(Gemma2ForCausalLM, Gemma2Config(**(USUAL | own | changes)), 1)


def gemma3(**changes: Any) -> Any:
    """Return a model with a window and different rotary angles in two of three layers."""
    own = {"query_pre_attn_scalar": 12, "tie_word_embeddings": False, "sliding_window_pattern": 3}
    return tiny.loud(Gemma3ForCausalLM, Gemma3TextConfig(**(USUAL | own | changes)), 1)


def gemma3_images(**changes: Any) -> Any:
    """Return the same model within one that could also read images."""
    eyes = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    own: dict[str, Any] = {
        "image_token_index": 270, "boi_token_index": 271, "eoi_token_index": 272,
        "mm_tokens_per_image": 4, "tie_word_embeddings": False,
    }  # fmt: skip
    text = gemma3(**changes).config.to_dict()
    config = Gemma3Config(text_config=text, vision_config=eyes, **own)
    return tiny.loud(Gemma3ForConditionalGeneration, config, 1)


def mistral(**changes: Any) -> Any:
    """Return a model with a window in every layer."""
    return tiny.loud(MistralForCausalLM, MistralConfig(**(USUAL | changes)), 1)


def gpt_oss(**changes: Any) -> Any:
    """Return a model with experts, attention sinks, and a window in every other layer."""
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2, "rope_parameters": YARN}
    return tiny.loud(GptOssForCausalLM, GptOssConfig(**(USUAL | experts | changes)), 1)


def qwen2(**changes: Any) -> Any:
    """Return a model with a window from the third layer on."""
    own = {"use_sliding_window": True, "max_window_layers": 2}
    return tiny.loud(Qwen2ForCausalLM, Qwen2Config(**(USUAL | own | changes)), 1)


KINDS: dict[str, Callable[..., Any]] = {
    "gemma2": gemma2,
    "gemma3": gemma3,
    "gemma3_images": gemma3_images,
    "mistral": mistral,
    "gpt_oss": gpt_oss,
    "qwen2": qwen2,
}


@cache
def model(kind: str) -> Any:
    """Return the model of a kind, made once."""
    return KINDS[kind]()
