"""Tiny Llamas written as GGUF files, as llama.cpp's converter would: its names, its order of rows.

Rule: what is written here is written by the `gguf` package and by the converter's own formula for
rows, so that a reader that shares a mistake with itself is found out.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tiny
import torch
from gguf import (
    MODEL_ARCH,
    GGMLQuantizationType,
    GGUFWriter,
    dequantize,
    get_tensor_name_map,
    quantize,
)
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

START, STOP = "<|im_start|>", "<|im_end|>"
CONTROL = [tiny.END, START, STOP]
TEXT = (
    "In 1969 he paid 25 for 7 cats, in 2024 it was 125.\n    0 or 1234567890? It's 42, she says. "
)
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
F32 = GGMLQuantizationType.F32


@cache
def words() -> Tokenizer:
    """Byte-level BPE whose digits stand alone, trained on a text full of them; 400 tokens."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=CONTROL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator([TEXT * 4, tiny.TEXT * 4], trainer)
    return made


def llama(**changes: Any) -> Any:
    """A tiny Llama with this vocabulary, whose rows can be cut into blocks of 32."""
    usual = {"vocab_size": words().get_vocab_size(), "hidden_size": 64, "bos_token_id": 1}
    return tiny.llama(**{**usual, "eos_token_id": 2, "rope_theta": 5000.0, **changes})


def said(model: Any) -> dict[str, Any]:
    """What a file says beside its tensors, by key."""
    config, text = model.config, json.loads(words().to_str())["model"]
    tokens = sorted(text["vocab"], key=text["vocab"].get)
    return {
        "llama.block_count": config.num_hidden_layers,
        "llama.context_length": config.max_position_embeddings,
        "llama.embedding_length": config.hidden_size,
        "llama.feed_forward_length": config.intermediate_size,
        "llama.attention.head_count": config.num_attention_heads,
        "llama.attention.head_count_kv": config.num_key_value_heads,
        "llama.attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "llama.rope.freq_base": float(config.rope_parameters["rope_theta"]),
        "llama.rope.dimension_count": config.head_dim,
        "llama.vocab_size": config.vocab_size,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in CONTROL else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in text["merges"]],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def write(
    path: Path,
    model: Any,
    kind: GGMLQuantizationType = F32,
    facts: dict[str, Any] | None = None,
    more: dict[str, Tensor] | None = None,
    leave: str = "",
    architecture: str = "llama",
) -> Path:
    """Write a model. kind: of its matrices. facts: what to say in place of the usual, None: not.

    more: further tensors. leave: one that is left out.
    """
    file = GGUFWriter(path, architecture)
    for key, value in (said(model) | (facts or {})).items():
        add(file, key, value)
    for name, weight in (tensors(model) | (more or {})).items():
        if name != leave:
            its = kind if weight.dim() > 1 else F32
            file.add_tensor(name, quantize(weight.numpy(), its), raw_dtype=its)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def add(file: GGUFWriter, key: str, value: Any) -> None:
    """Say one thing."""
    if value is None:
        return
    if isinstance(value, bool):
        file.add_bool(key, value)
    elif isinstance(value, int):
        file.add_uint32(key, value)
    elif isinstance(value, float):
        file.add_float32(key, value)
    elif isinstance(value, str):
        file.add_string(key, value)
    else:
        file.add_array(key, value)


def tensors(model: Any) -> dict[str, Tensor]:
    """A model's weights by llama.cpp's names, in its order of rows."""
    names = get_tensor_name_map(MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    heads = {
        "q_proj": model.config.num_attention_heads,
        "k_proj": model.config.num_key_value_heads,
    }
    found = {}
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        ours = names.get_name(name, try_suffixes=(".weight", ".bias"))
        many = next((heads[part] for part in heads if part in name), None)
        found[ours] = weight if many is None else permuted(weight, many)
    return found


def permuted(weight: Tensor, heads: int) -> Tensor:
    """As `LlamaModel.permute` of llama.cpp's converter."""
    rows, *rest = weight.shape
    shaped = weight.numpy().reshape(heads, 2, rows // heads // 2, *rest)
    return torch.from_numpy(np.ascontiguousarray(shaped.swapaxes(1, 2).reshape(weight.shape)))


def rounded(model: Any, kind: GGMLQuantizationType) -> Any:
    """The model with its matrices as they come out of a file of this kind."""
    copy = deepcopy(model)
    for weight in copy.parameters():
        if weight.dim() > 1:
            weight.copy_(torch.from_numpy(dequantize(quantize(weight.numpy(), kind), kind)))
    return copy
