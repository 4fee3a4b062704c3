"""The shapes of the two house language models.

Rule: both are plain `LlamaForCausalLM`, so that anything that loads a Hub model loads them.
"""

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.house.tokenizer import END_OF_TEXT_ID, MAXIMUM_LENGTH, VOCABULARY_SIZE


def target_config() -> LlamaConfig:
    """Deep and narrow, so that a one-layer drafter is cheap beside it: 10.7 M parameters."""
    return _llama(layers=12, width=256, inner=704)


def draft_model_config() -> LlamaConfig:
    """A small model of its own: 1.7 M parameters."""
    return _llama(layers=2, width=192, inner=512)


def new_model(config: LlamaConfig, seed: int, device: str = "cpu") -> LlamaForCausalLM:
    """Build a float32 model with weights drawn, on the CPU, from `seed`."""
    torch.manual_seed(seed)
    return nn.Module.to(LlamaForCausalLM(config), device=device)


def _llama(layers: int, width: int, inner: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=width // 64,
        num_key_value_heads=width // 64,
        head_dim=64,
        max_position_embeddings=MAXIMUM_LENGTH,
        tie_word_embeddings=True,
        bos_token_id=END_OF_TEXT_ID,
        eos_token_id=END_OF_TEXT_ID,
        pad_token_id=None,
    )
