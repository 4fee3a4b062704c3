"""Tiny random models in transformers' layout, with a byte-level tokenizer of 280 tokens.

All weights follow from a seed; logits are large enough that greedy decoding has no near-ties.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from specviz.drafters.draft_model import DraftModel
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard

VOCABULARY = 280
POSITIONS = 256
END = "<|endoftext|>"
TEXT = "The cat sat on the mat. The dog saw the cat and the cat saw the dog in the red house. "
PROMPT = "The cat sat on the mat. The cat"
START, STOP = "<|im_start|>", "<|im_end|>"
CHAT_ML = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nYou are the cat.<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer; id 0 ends a text."""
    return tokenizer_of(TEXT * 4)


@cache
def chat_tokenizer(template: str = CHAT_ML) -> PreTrainedTokenizerFast:
    """Return the tokenizer with a chat template, ChatML by default; ids 1 and 2 delimit turns."""
    made = tokenizer_of(TEXT * 4, START, STOP)
    made.chat_template = template
    return made


def tokenizer_of(text: str, *signs: str) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE of 280 tokens with merges from `text`. signs: special tokens."""
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END, *signs],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bare.train_from_iterator([text], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bare, bos_token=END, eos_token=END)


def llama(seed: int = 1, **changes: Any) -> LlamaForCausalLM:
    """Return a two-layer Llama; `changes` go to its config."""
    usual: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": POSITIONS,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    return loud(LlamaForCausalLM, LlamaConfig(**(usual | changes)), seed)


def gpt2(seed: int = 1) -> GPT2LMHeadModel:
    """Return a two-layer GPT-2."""
    config = GPT2Config(
        vocab_size=VOCABULARY,
        n_embd=48,
        n_layer=2,
        n_head=4,
        n_positions=POSITIONS,
        bos_token_id=0,
        eos_token_id=0,
    )
    return loud(GPT2LMHeadModel, config, seed)


def neox(seed: int = 1) -> GPTNeoXForCausalLM:
    """Return a two-layer GPT-NeoX."""
    config = GPTNeoXConfig(
        vocab_size=VOCABULARY,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=POSITIONS,
        bos_token_id=0,
        eos_token_id=0,
    )
    return loud(GPTNeoXForCausalLM, config, seed)


def loud(network: Any, config: Any, seed: int) -> Any:
    """Return a float32 network whose matrices are large enough for confident logits."""
    torch.manual_seed(seed)
    model = network(config).eval().requires_grad_(False)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.copy_(torch.randn_like(weight) * 0.4)
    return model


def small_llama(seed: int = 1) -> LlamaForCausalLM:
    """One layer with a flat distribution over twelve tokens, so that random guesses are sometimes
    accepted."""
    return llama(
        seed,
        vocab_size=12,
        num_hidden_layers=1,
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_key_value_heads=1,
    )


def blurred(model: Any, noise: float = 0.01, seed: int = 2) -> Any:
    """Return a copy with noise on every matrix: a draft model that is often right, not always."""
    copy = deepcopy(model)
    torch.manual_seed(seed)
    for weight in copy.parameters():
        if weight.dim() > 1:
            weight.add_(torch.randn_like(weight) * noise)
    return copy


def card(model: Any, name: str, family: str) -> ModelCard:
    """Return the card of a model without files."""
    size = sum(p.numel() for p in model.parameters())
    return ModelCard(name, family, size, 4 * size, None)


def target(model: Any | None = None, words: Any | None = None) -> Target:
    """Return a target in memory; by default the two-layer Llama and its tokenizer."""
    model = model or llama()
    return Target(model, words or tokenizer(), card(model, "tiny", "causal-lm"))


def draft(model: Any | None = None) -> DraftModel:
    """Return a draft model in memory for `target()`."""
    model = model or blurred(llama())
    return DraftModel(model, card(model, "tiny-draft", "draft-model"))


def max_tokens(settings: Settings, left: int = 9) -> int:
    """Return `max_tokens` of a round as the engine gives it at a fixed γ, `left` tokens to go."""
    return min(left, settings.gamma + 1)


def save(model: Any, folder: Path, words: Any | None = None, **options: Any) -> Path:
    """Write a checkpoint and its tokenizer; `options` go to save_pretrained."""
    model.save_pretrained(folder, **options)
    (words or tokenizer()).save_pretrained(folder)
    return folder
