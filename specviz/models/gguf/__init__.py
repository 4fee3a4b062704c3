"""Read a model from a GGUF file, the format of llama.cpp: config, tensors and tokenizer.

A file is rejected if it has a value or a tensor that is not supported: ignoring one would give the
logits of another model. The module `writer` writes such files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, dequantize
from torch import Tensor
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerFast

from specviz.models.errors import Unsuitable
from specviz.models.file_checks import MAX_PARTS, StoredWeights
from specviz.models.gguf.architectures import ARCHITECTURES, NETWORKS, Architecture
from specviz.models.gguf.header import (
    DamagedHeader,
    GgufFile,
    OtherByteOrder,
    TensorInfo,
    read_gguf,
)
from specviz.models.gguf.tokenizer import build_tokenizer
from specviz.models.load_control import (
    TOKENIZER,
    WEIGHTS,
    advance,
    begin_stage,
    check_size,
    check_stop,
)

NEEDED: Final = {  # required keys, and what transformers calls them
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}
OTHERS: Final = ("attention.head_count_kv", "rope.freq_base", "vocab_size")
SIZES: Final = ("rope.dimension_count", "attention.key_length", "attention.value_length")
CHOICES: Final = {"rope.scaling.type": ("none", "linear")}  # keys whose values are not numbers
FLOATS: Final = (
    "attention.layer_norm_rms_epsilon",
    "final_logit_softcapping",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.scaling.factor",
)
MAX_SIZE: Final = 1 << 40
DEFAULTS: Final = {"expert_count": 0, "expert_used_count": 0, "rope.scaling.type": "none"}
OUTER_PARTS: Final = {  # names of modules outside the layers
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
ROPE_FACTORS: Final = "rope_freqs.weight"  # divisors of the rotary frequencies, since Llama 3.1
NAME: Final = re.compile(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)")


CHUNK: Final = 1 << 17  # numbers converted at a time, few enough for a processor's cache
ALIGNED: Final = 16  # how many float32 numbers a cache line holds


@dataclass(frozen=True, slots=True)
class GgufModel:
    """The contents of a GGUF file.

    Attributes:
        kinds: The types that its weights are stored in, such as Q4_K and F32, the most
            frequent first.
        tensors: float32 tensors by their names in transformers, with rows in transformers'
            order.
        rope_factors: Divisors of the rotary frequencies, (head size / 2,), or None.
        generation: The ids of the tokens that begin and end a text.
    """

    config: PreTrainedConfig
    network: Any
    kinds: tuple[str, ...]
    tensors: dict[str, Tensor]
    rope_factors: Tensor | None
    tokenizer: PreTrainedTokenizerFast
    generation: GenerationConfig


def read_model(name: str, path: Path) -> GgufModel:
    """Read the whole file; errors call it `name`.

    Raises Unsuitable if the file is damaged, or contains something that is not supported.
    """
    file = _open(name, path)
    values = file.values
    kind = values.get("general.architecture")
    if kind not in ARCHITECTURES:
        raise Unsuitable(
            f"{name!r} has the architecture {kind!r:.40}; GGUF files of these architectures can be "
            f"read: {', '.join(map(repr, ARCHITECTURES))}."
        )
    reader = _ModelReader(name, kind, ARCHITECTURES[kind], file)
    found = dict(file.tensors)
    config = reader.config()
    network = NETWORKS[type(config)]
    stored_weights = StoredWeights(sum(tensor.elements for tensor in found.values()), len(found))
    check_size(name, config, network, stored_weights)
    factors = found.pop(ROPE_FACTORS, None) if kind == "llama" else None
    begin_stage(TOKENIZER)
    tokenizer = build_tokenizer(name, values, config.max_position_embeddings)
    begin_stage(WEIGHTS, sum(tensor.bytes for tensor in found.values()))
    block = FloatBlock(found.values())
    return GgufModel(
        config,
        network,
        _quantization_types(found.values()),
        {reader.tensor_name(key): reader.values(it, config, block) for key, it in found.items()},
        None if factors is None else reader.values(factors, config, FloatBlock([factors])),
        tokenizer,
        GenerationConfig(**_special_token_ids(values)),
    )


def _quantization_types(tensors: Iterable[TensorInfo]) -> tuple[str, ...]:
    # In descending order of how many numbers have them.
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        sizes[tensor.kind.name] += tensor.elements
    return tuple(kind for kind, _ in sizes.most_common())


def _is_wanted(key: str) -> bool:
    return key.startswith(("general.architecture", "tokenizer.", *(f"{k}." for k in ARCHITECTURES)))


def _open(name: str, path: Path) -> GgufFile:
    try:
        return read_gguf(path, _is_wanted)
    except OtherByteOrder as error:
        raise Unsuitable(f"{name!r} was written for processors with another byte order.") from error
    except DamagedHeader as error:
        raise Unsuitable(f"{name!r} is not a complete GGUF file: {error}.") from error


@dataclass(frozen=True, slots=True)
class _ModelReader:
    # kind: the architecture's name in the file.
    name: str
    kind: str
    architecture: Architecture
    file: GgufFile

    def config(self) -> PreTrainedConfig:
        values, tensors = self.file.values, self.file.tensors
        prefix = f"{self.kind}."
        own = {k.removeprefix(prefix): value for k, value in values.items() if k.startswith(prefix)}
        if missing := sorted(NEEDED.keys() - own.keys()):
            raise Unsuitable(f"{self.name!r} lacks the value {self.kind}.{missing[0]}.")
        self._check(own)
        heads = own["attention.head_count"]
        size = own.get("attention.key_length", own["embedding_length"] // heads)
        shared = {
            **{theirs: own[ours] for ours, theirs in NEEDED.items()},
            "num_key_value_heads": own.get("attention.head_count_kv", heads),
            "head_dim": size,
            "vocab_size": own.get("vocab_size", len(values.get("tokenizer.ggml.tokens", ()))),
            "tie_word_embeddings": "output.weight" not in tensors,
            **_special_token_ids(values),
        }
        defaults = {**dict.fromkeys(SIZES, size), **DEFAULTS}
        for key in own.keys() - {*NEEDED, *OTHERS, *self.architecture.keys}:
            if key not in defaults or own[key] != defaults[key]:
                raise Unsuitable(
                    f"{self.name!r} has {self.kind}.{key} = {own[key]!r:.40}, which is not "
                    "supported."
                )
        return self.architecture.config(own, shared, tensors.keys())

    def _check(self, own: Mapping[str, Any]) -> None:
        most = {"block_count": MAX_PARTS, "attention.head_count": MAX_PARTS}
        for key in (*NEEDED, *OTHERS, *SIZES, *self.architecture.keys):
            if key not in own:
                continue
            value = own[key]
            fits = value in CHOICES[key] if key in CHOICES else _is_size(value, key in FLOATS)
            if not fits or (key in most and value > most[key]):
                raise Unsuitable(
                    f"{self.name!r} has {self.kind}.{key} = {value!r:.40}, which is not possible "
                    f"for {self.architecture.title}."
                )

    def tensor_name(self, tensor: str) -> str:
        found = NAME.fullmatch(tensor)
        layer, part, kind = found.groups() if found else (None, "", "")
        known = OUTER_PARTS if layer is None else self.architecture.layer
        if part not in known:
            title = self.architecture.title
            raise Unsuitable(
                f"{self.name!r} has a tensor that {title} does not have: {tensor!r:.80}."
            )
        where = "" if layer is None else f"model.layers.{layer}."
        return f"{where}{known[part]}.{kind}"

    def values(self, tensor: TensorInfo, config: PreTrainedConfig, block: FloatBlock) -> Tensor:
        # In transformers' order; block: the memory from which to take the result.
        check_stop()
        numbers = block.take(tensor)
        try:
            dequantize_into(self.file, tensor, numbers)
        except NotImplementedError as error:
            kind = tensor.kind.name
            raise Unsuitable(
                f"{self.name!r} stores {tensor.name} as {kind}, which cannot be read."
            ) from error
        if self.architecture.norm_offset and tensor.name.endswith("norm.weight"):
            numbers -= self.architecture.norm_offset
        rows = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
        heads = next((rows[part] for part in rows if f".{part}." in tensor.name), None)
        if heads and self.architecture.adjacent_pairs:
            pair_halves(numbers, heads)
        advance(tensor.bytes)
        return torch.from_numpy(numbers)


def _is_size(value: Any, real: bool) -> bool:
    return (type(value) is int or (real and isinstance(value, float))) and 0 < value <= MAX_SIZE


def _special_token_ids(values: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    ids = dict.fromkeys(values.get(f"tokenizer.ggml.{key}") for key in keys)
    ends = [id for id in ids if id is not None]
    return {
        "bos_token_id": values.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": ends if len(ends) > 1 else next(iter(ends), None),
        "pad_token_id": values.get("tokenizer.ggml.padding_token_id"),
    }


class FloatBlock:
    """One block of memory for all tensors, much faster than many small ones."""

    def __init__(self, tensors: Iterable[TensorInfo]) -> None:
        self._free = np.empty(sum(map(_padded, tensors)) + ALIGNED, np.float32)
        address = self._free.ctypes.data // self._free.itemsize
        self._free = self._free[-address % ALIGNED :]

    def take(self, tensor: TensorInfo) -> Any:
        """Return an uninitialized array of the tensor's shape."""
        taken, self._free = np.split(self._free, [_padded(tensor)])
        return taken[: tensor.elements].reshape(tensor.shape)


def _padded(tensor: TensorInfo) -> int:
    # How many numbers to allocate so that the next tensor begins at a cache line.
    return -(-tensor.elements // ALIGNED) * ALIGNED


def dequantize_into(file: GgufFile, tensor: TensorInfo, numbers: Any) -> None:
    """Write a tensor's numbers into an array of its shape, in the file's order.

    Raises NotImplementedError if this kind of block cannot be read.
    """
    size, bytes_ = GGML_QUANT_SIZES[tensor.kind]
    stored, flat = file.data(tensor).reshape(-1), numbers.reshape(-1)
    step = CHUNK // size
    for first in range(0, tensor.elements // size, step):
        piece = stored[first * bytes_ : (first + step) * bytes_]
        made = dequantize(piece[None], tensor.kind)
        flat[first * size : (first + step) * size] = made.reshape(-1)


def pair_halves(numbers: Any, heads: int) -> None:
    """Reorder the rows of every head in place, from llama.cpp's order to transformers'.

    llama.cpp rotates rows 2 i and 2 i + 1 together; transformers rotates row i together with row i
    + half the head size. numbers: the weight, (heads · head size, ...).
    """
    pairs = numbers.reshape(heads, -1, 2, *numbers.shape[1:])
    numbers.reshape(heads, 2, -1, *numbers.shape[1:])[:] = pairs.swapaxes(1, 2).copy()
