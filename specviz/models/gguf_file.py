"""Reads a Llama out of one GGUF file, the format of llama.cpp: its config, tensors and tokenizer.

Rule: whatever the file says of the network is used, or the file is refused by name. A value or a
tensor that is passed over would give another model's logits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from gguf import GGML_QUANT_SIZES, dequantize
from torch import Tensor
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.models.config_file import MOST_PARTS
from specviz.models.errors import Unsuitable
from specviz.models.gguf_header import (
    DamagedHeader,
    GgufFile,
    OtherByteOrder,
    TensorInfo,
    read_gguf,
)
from specviz.models.gguf_tokenizer import tokenizer_of
from specviz.models.load_progress import TOKENIZER, WEIGHTS, advance, begin
from specviz.models.weight_budget import check_size, check_stop
from specviz.models.weight_headers import Held

ARCHITECTURE: Final = "llama"
NEEDED: Final = {  # what the file says of the network, and what transformers calls it
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
}
OTHERS: Final = ("attention.head_count_kv", "rope.freq_base", "vocab_size")
SIZES: Final = ("rope.dimension_count", "attention.key_length", "attention.value_length")
FLOATS: Final = ("attention.layer_norm_rms_epsilon", "rope.freq_base")
MOST: Final = 1 << 40
AS_USUAL: Final = {"expert_count": 0, "expert_used_count": 0, "rope.scaling.type": "none"}
WHOLE: Final = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
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
ROPE_FACTORS: Final = "rope_freqs.weight"  # of each wave length of the positions, in Llama 3.1 on
BLOCKS: Final = 4096  # of a tensor, read at a time
ALIGNED: Final = 16  # float32 numbers in a line of a processor's cache
NAME: Final = re.compile(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a GGUF file holds. tensors: float32, by transformers' names, rows in its order.

    rope_factors: (half a head's size,), what each frequency of the positions is divided by.
    """

    config: LlamaConfig
    tensors: dict[str, Tensor]
    rope_factors: Tensor | None
    tokenizer: PreTrainedTokenizerFast
    generation: GenerationConfig


def parts_of(name: str, path: Path) -> Parts:
    """Read the whole file; errors call it `name`. Raises Unsuitable."""
    file = _opened(name, path)
    said = file.values
    kind = said.get("general.architecture")
    if kind != ARCHITECTURE:
        raise Unsuitable(
            f"{name!r} is a network of the kind {kind!r}; of GGUF files only those of the kind "
            f"{ARCHITECTURE!r} can be read."
        )
    found = dict(file.tensors)
    config = _config(name, said, found.keys())
    held = Held(sum(tensor.elements for tensor in found.values()), len(found))
    check_size(name, config, LlamaForCausalLM, held)
    factors = found.pop(ROPE_FACTORS, None)
    begin(TOKENIZER)
    tokenizer = tokenizer_of(name, said, config.max_position_embeddings)
    begin(WEIGHTS, sum(tensor.bytes for tensor in found.values()))
    room = _Room(found.values())
    return Parts(
        config,
        {_named(name, key): _values(name, file, it, config, room) for key, it in found.items()},
        None if factors is None else _values(name, file, factors, config, _Room([factors])),
        tokenizer,
        GenerationConfig(**_ends(said)),
    )


def _counts(key: str) -> bool:
    return key.startswith(("general.architecture", f"{ARCHITECTURE}.", "tokenizer."))


def _opened(name: str, path: Path) -> GgufFile:
    """The file's table of contents. Raises Unsuitable where it is cut short, or something else."""
    try:
        return read_gguf(path, _counts)
    except OtherByteOrder as error:
        raise Unsuitable(f"{name!r} was written for processors of the other byte order.") from error
    except DamagedHeader as error:
        raise Unsuitable(f"{name!r} is no whole GGUF file: {error}.") from error


def _config(name: str, said: Mapping[str, Any], tensors: Any) -> LlamaConfig:
    """The network's config. Raises Unsuitable for values that are missing or not understood."""
    own = {
        key.removeprefix(f"{ARCHITECTURE}."): value
        for key, value in said.items()
        if key.startswith(f"{ARCHITECTURE}.")
    }
    if missing := sorted(NEEDED.keys() - own.keys()):
        raise Unsuitable(f"{name!r} does not say its {ARCHITECTURE}.{missing[0]}.")
    _check_numbers(name, own)
    heads = own["attention.head_count"]
    size = own.get("attention.key_length", own["embedding_length"] // heads)
    usual = {**dict.fromkeys(SIZES, size), **AS_USUAL}
    known = NEEDED.keys() | set(OTHERS)
    for key in own.keys() - known:
        if key not in usual or own[key] != usual[key]:
            raise Unsuitable(
                f"{name!r} has {ARCHITECTURE}.{key} = {own[key]!r:.40}, which is not understood."
            )
    return LlamaConfig(
        **{theirs: own[ours] for ours, theirs in NEEDED.items()},
        num_key_value_heads=own.get("attention.head_count_kv", heads),
        head_dim=size,
        vocab_size=own.get("vocab_size", len(said.get("tokenizer.ggml.tokens", ()))),
        rope_parameters={"rope_type": "default", "rope_theta": own.get("rope.freq_base", 10_000.0)},
        tie_word_embeddings="output.weight" not in tensors,
        attention_bias="blk.0.attn_q.bias" in tensors,
        mlp_bias="blk.0.ffn_gate.bias" in tensors,
        **_ends(said),
    )


def _check_numbers(name: str, own: Mapping[str, Any]) -> None:
    """Raise Unsuitable where a value that sets the network's size is no number that can."""
    most = {"block_count": MOST_PARTS, "attention.head_count": MOST_PARTS}
    for key in (*NEEDED, *OTHERS, *SIZES):
        value = own.get(key, 1)
        exact = type(value) is int or key in FLOATS
        if not exact or not isinstance(value, int | float) or not 0 < value <= most.get(key, MOST):
            raise Unsuitable(
                f"{name!r} has {ARCHITECTURE}.{key} = {value!r:.40}, which no Llama has."
            )


def _ends(said: Mapping[str, Any]) -> dict[str, Any]:
    """The ids of the tokens that begin, end and fill up a text; several ids may end one."""
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    ids = dict.fromkeys(said.get(f"tokenizer.ggml.{key}") for key in keys)
    ends = [id for id in ids if id is not None]
    return {
        "bos_token_id": said.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": ends if len(ends) > 1 else next(iter(ends), None),
        "pad_token_id": said.get("tokenizer.ggml.padding_token_id"),
    }


def _named(name: str, tensor: str) -> str:
    """What transformers calls a tensor. Raises Unsuitable for one that a Llama does not have."""
    found = NAME.fullmatch(tensor)
    layer, part, kind = found.groups() if found else (None, "", "")
    known = WHOLE if layer is None else LAYER
    if part not in known:
        raise Unsuitable(f"{name!r} has a tensor that no Llama has: {tensor!r:.80}.")
    where = "" if layer is None else f"model.layers.{layer}."
    return f"{where}{known[part]}.{kind}"


class _Room:
    """One block of memory for all tensors: the system gives out one large block much faster."""

    def __init__(self, tensors: Iterable[TensorInfo]) -> None:
        self._free = np.empty(sum(map(_padded, tensors)) + ALIGNED, np.float32)
        address = self._free.ctypes.data // self._free.itemsize
        self._free = self._free[-address % ALIGNED :]

    def take(self, tensor: TensorInfo) -> Any:
        """An uninitialized array of the tensor's shape."""
        taken, self._free = np.split(self._free, [_padded(tensor)])
        return taken[: tensor.elements].reshape(tensor.shape)


def _padded(tensor: TensorInfo) -> int:
    """How many numbers of the block a tensor takes, so that each begins at a processor's line."""
    return -(-tensor.elements // ALIGNED) * ALIGNED


def _values(
    name: str, file: GgufFile, tensor: TensorInfo, config: LlamaConfig, room: _Room
) -> Tensor:
    """A tensor's numbers, float32, rows as transformers has them. Raises Unsuitable, Stopped."""
    check_stop()
    rows = {
        "attn_q": config.num_attention_heads,
        "attn_k": config.num_key_value_heads,
    }
    heads = next((rows[part] for part in rows if f".{part}." in tensor.name), None)
    numbers = room.take(tensor)
    try:
        if heads is None:
            _dequantize(file, tensor, numbers.reshape(-1))
        else:
            found = np.empty(tensor.elements, np.float32)
            _dequantize(file, tensor, found)
            _pair_halves(found, numbers, heads)
    except NotImplementedError as error:
        kind = tensor.kind.name
        raise Unsuitable(f"{name!r} has {tensor.name} as {kind}, which cannot be read.") from error
    advance(tensor.bytes)
    return torch.from_numpy(numbers)


def _dequantize(file: GgufFile, tensor: TensorInfo, numbers: Any) -> None:
    """Write a tensor's numbers, one after the other, into the flat array.

    A piece of BLOCKS at a time, which fits into a processor's cache with what it takes to make it.
    """
    size, bytes_ = GGML_QUANT_SIZES[tensor.kind]
    stored = file.data(tensor).reshape(-1)
    for first in range(0, tensor.elements // size, BLOCKS):
        piece = stored[first * bytes_ : (first + BLOCKS) * bytes_]
        made = dequantize(piece[None], tensor.kind)
        numbers[first * size : (first + BLOCKS) * size] = made.reshape(-1)


def _pair_halves(found: Any, numbers: Any, heads: int) -> None:
    """Order a head's rows as transformers' rotation pairs them: the halves of a row are its pairs.

    llama.cpp pairs neighbours, so its files have the two halves shuffled into each other.
    """
    rest = numbers.shape[1:]
    pairs = found.reshape(heads, -1, 2, *rest)
    numbers.reshape(heads, 2, -1, *rest)[:] = pairs.swapaxes(1, 2)
