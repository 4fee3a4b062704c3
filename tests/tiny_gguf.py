"""Tiny models as GGUF files, with the tensor names and row order of llama.cpp's converter.

Files are written by the `gguf` package and the converter's own formula for rows, not by code that
the reader shares, so that a mistake in the reader is detected. The same holds for a SentencePiece
vocabulary: `sentencepiece_ids` follows llama.cpp's `llm_tokenizer_spm`, symbol by symbol, while
the package builds merges.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tiny
import torch
from gguf import (
    MODEL_ARCH,
    MODEL_ARCH_NAMES,
    GGMLQuantizationType,
    GGUFWriter,
    dequantize,
    get_tensor_name_map,
    quantize,
)
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor

START, STOP = "<|im_start|>", "<|im_end|>"
CONTROL = [tiny.END, START, STOP]
TEXT = (
    "In 1969 he paid 25 for 7 cats, in 2024 it was 125.\n    0 or 1234567890? It's 42, she says. "
)
TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
F32 = GGMLQuantizationType.F32
KINDS = {  # by transformers' name of the architecture
    "llama": MODEL_ARCH.LLAMA,
    "mistral": MODEL_ARCH.LLAMA,
    "qwen2": MODEL_ARCH.QWEN2,
    "qwen3": MODEL_ARCH.QWEN3,
    "gemma3_text": MODEL_ARCH.GEMMA3,
}


@cache
def words() -> Tokenizer:
    """Return a byte-level BPE of 400 tokens that splits digits, trained on many digits."""
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
    """Return a tiny Llama with this vocabulary; its rows are multiples of a block of 32."""
    usual = {"vocab_size": words().get_vocab_size(), "hidden_size": 64, "bos_token_id": 1}
    return tiny.llama(**{**usual, "eos_token_id": 2, "rope_theta": 5000.0, **changes})


def kind_of(model: Any) -> str:
    return MODEL_ARCH_NAMES[KINDS[model.config.model_type]]


def said(model: Any) -> dict[str, Any]:
    """Return the metadata of a file, by key."""
    config = model.config
    own = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        **own_facts(config),
    }
    return {f"{kind_of(model)}.{key}": value for key, value in own.items()} | byte_level()


def own_facts(config: Any) -> dict[str, Any]:
    """Return the metadata that only this kind of network has."""
    kind = config.model_type
    if kind == "gemma3_text":
        return said_of_gemma3(config)
    found = {"rope.freq_base": float(config.rope_parameters["rope_theta"])}
    if kind in ("llama", "mistral"):
        found |= {"rope.dimension_count": config.head_dim, "vocab_size": config.vocab_size}
    if kind == "mistral":
        found["attention.sliding_window"] = config.sliding_window
    if kind == "qwen3":
        found |= dict.fromkeys(("attention.key_length", "attention.value_length"), config.head_dim)
    return found


def said_of_gemma3(config: Any) -> dict[str, Any]:
    """Return the metadata that only Gemma 3 has, without the pattern and angles of its windows."""
    whole = config.rope_parameters["full_attention"]
    windowed = "sliding_attention" in config.layer_types
    scaling = {"rope.scaling.type": "linear", "rope.scaling.factor": whole.get("factor")}
    return {
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "attention.sliding_window": config.sliding_window if windowed else None,
        "final_logit_softcapping": config.final_logit_softcapping,
        "rope.freq_base": float(whole["rope_theta"]),
        **(scaling if whole["rope_type"] == "linear" else {}),
    }


def byte_level() -> dict[str, Any]:
    text = json.loads(words().to_str())["model"]
    tokens = sorted(text["vocab"], key=text["vocab"].get)
    return {
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
    architecture: str | None = None,
) -> Path:
    """Write a model with matrices of this kind.

    facts: metadata that replaces the usual values; None omits one. more: further tensors. leave:
    the name of a tensor to omit. architecture: its name in the file; by default the model's own.
    """
    file = GGUFWriter(path, architecture or kind_of(model))
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
    ways = {bool: file.add_bool, int: file.add_uint32, float: file.add_float32}
    ways[str] = file.add_string
    if value is not None:
        ways.get(type(value), file.add_array)(key, value)


def tensors(model: Any) -> dict[str, Tensor]:
    """Yield a model's weights with llama.cpp's names and order of rows."""
    kind = KINDS[model.config.model_type]
    names = get_tensor_name_map(kind, model.config.num_hidden_layers)
    heads = {
        "q_proj": model.config.num_attention_heads,
        "k_proj": model.config.num_key_value_heads,
    }
    found = {}
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        ours = names.get_name(name, try_suffixes=(".weight", ".bias"))
        many = next((heads[part] for part in heads if f"{part}." in name), None)
        moved = kind is MODEL_ARCH.LLAMA and many is not None
        found[ours] = permuted(weight, many) if moved else weight
        if kind is MODEL_ARCH.GEMMA3 and name.endswith("norm.weight"):
            found[ours] = weight + 1  # `norm_shift` of the converter
    return found


def permuted(weight: Tensor, heads: int) -> Tensor:
    """Permute rows like `LlamaModel.permute` of llama.cpp's converter."""
    rows, *rest = weight.shape
    shaped = weight.numpy().reshape(heads, 2, rows // heads // 2, *rest)
    return torch.from_numpy(np.ascontiguousarray(shaped.swapaxes(1, 2).reshape(weight.shape)))


def rounded(model: Any, kind: GGMLQuantizationType) -> Any:
    """Return the model with its matrices quantized and dequantized by this type."""
    copy = deepcopy(model)
    for weight in copy.parameters():
        if weight.dim() > 1:
            weight.copy_(torch.from_numpy(dequantize(quantize(weight.numpy(), kind), kind)))
    return copy


# A tiny SentencePiece vocabulary.

SPECIAL = {"<unk>": 2, "<s>": 3, "</s>": 3}  # the kinds of tokens, by their number in `token_type`
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NORMAL, BYTE, USER_DEFINED = 1, 6, 4
SIZE = 420


@cache
def pieces() -> tuple[str, ...]:
    """Return tokens of several letters, most probable first, then single letters.

    Two of them together spell a control token, which typed text must never become.
    """
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    room = SIZE - len(SPECIAL) - len(BYTES)
    trainer = trainers.BpeTrainer(vocab_size=room, max_token_length=8, show_progress=False)
    made.train_from_iterator([tiny.TEXT, "cats and dogs, " * 3], trainer)
    known = made.get_vocab()
    found = sorted(known, key=known.get)
    return (*(t for t in found if len(t) > 1), "s>", *(t for t in found if len(t) == 1), "<", ">")


def sentencepiece_facts(*added: str) -> dict[str, Any]:
    """Return the metadata of the tokenizer. added: user-defined tokens that replace some bytes."""
    bytes_ = BYTES[: len(BYTES) - len(added)]
    first = len(SPECIAL) + len(BYTES)
    known = [*SPECIAL, *bytes_, *added, *pieces()]
    known += [f"[PAD{i}]" for i in range(len(known), SIZE)]
    kinds = [*SPECIAL.values(), *[BYTE] * len(bytes_), *[USER_DEFINED] * len(added)]
    kinds += [NORMAL] * len(pieces()) + [5] * (SIZE - first - len(pieces()))
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": known,
        "tokenizer.ggml.scores": [0.0] * first + [-float(i) for i in range(SIZE - first)],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": None,
        "tokenizer.ggml.add_bos_token": None,
        "tokenizer.ggml.add_space_prefix": None,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def sentencepiece_ids(text: str, prefix: bool) -> list[int]:
    """Tokenize a text: merge the best-scoring pair of neighbours first, the leftmost if equal."""
    said = sentencepiece_facts()
    tokens = {token: i for i, token in enumerate(said["tokenizer.ggml.tokens"])}
    scores, kinds = said["tokenizer.ggml.scores"], said["tokenizer.ggml.token_type"]
    symbols = list((" " if prefix and text else "") + text)
    symbols = [symbol.replace(" ", "▁") for symbol in symbols]
    while True:
        pairs = [one + two for one, two in pairwise(symbols)]
        ranks = [
            (-scores[tokens[pair]], at)
            for at, pair in enumerate(pairs)
            if kinds[tokens.get(pair, 0)] == NORMAL
        ]
        if not ranks:
            break
        at = min(ranks)[1]
        symbols[at : at + 2] = [pairs[at]]
    found = []
    for symbol in symbols:
        spelled = [f"<0x{byte:02X}>" for byte in symbol.encode()]
        found += [tokens[symbol]] if symbol in tokens else [tokens[byte] for byte in spelled]
    return found
