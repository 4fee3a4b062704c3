"""Llama decoder blocks outside a model, for heads that attend to the text.

One rule: the mask is always said. A mask left out would be causal from the first row, which is
wrong for new rows behind a cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding


def llama_config(
    width: int, inner: int, heads: int, kv_heads: int, rope_theta: float, eps: float
) -> LlamaConfig:
    """The config of a block; heads share the width evenly."""
    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=inner,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=width // heads,
        rms_norm_eps=eps,
        rope_parameters={"rope_type": "default", "rope_theta": rope_theta},
    )
    config._attn_implementation = "sdpa"
    return config


def rotary(config: LlamaConfig) -> LlamaRotaryEmbedding:
    """Rotary frequencies; they have no tensors in a checkpoint."""
    return LlamaRotaryEmbedding(config)


def causal(rows: int, past: int, like: Tensor) -> Tensor:
    """Additive (1, 1, rows, past + rows): new rows see the past, themselves and those before."""
    mask = torch.full((rows, rows), torch.finfo(like.dtype).min, device=like.device).triu(1)
    return torch.nn.functional.pad(mask, (past, 0)).to(like.dtype)[None, None]


def seen_alone(rows: int, blocks: int, like: Tensor) -> Tensor:
    """Additive (1, 1, rows, (1 + blocks) rows): row i sees rows up to i of the first block.

    Of every later block, the last of which are the new rows, it sees row i alone: what it said
    itself in an earlier step.
    """
    least = torch.finfo(like.dtype).min
    first = torch.full((rows, rows), least, device=like.device).triu(1)
    own = torch.full((rows, rows), least, device=like.device).fill_diagonal_(0.0)
    return torch.cat([first, *[own] * blocks], dim=1).to(like.dtype)[None, None]


def attend(
    block: LlamaDecoderLayer, hidden: Tensor, turns: Any, mask: Tensor, cache: Any = None
) -> Tensor:
    """One block on new rows (B, r, h). turns: the rotary pair of their positions."""
    out: Tensor = block(
        hidden,
        attention_mask=mask,
        past_key_values=cache,
        use_cache=cache is not None,
        position_embeddings=turns,
    )
    return out
