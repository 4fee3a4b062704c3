"""Reads a model out of one GGUF file, the format of llama.cpp: its config, tensors and tokenizer.

Rule: whatever the file says of the network is used, or the file is refused by name. A value or a
tensor that is passed over would give another model's logits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from transformers import GenerationConfig, PreTrainedConfig, PreTrainedTokenizerFast

from specviz.models.config_file import MOST_PARTS
from specviz.models.errors import Unsuitable
from specviz.models.gguf_architectures import ARCHITECTURES, NETWORKS, Architecture
from specviz.models.gguf_header import (
    DamagedHeader,
    GgufFile,
    OtherByteOrder,
    TensorInfo,
    read_gguf,
)
from specviz.models.gguf_numbers import FloatBlock, dequantize_into, pair_halves
from specviz.models.gguf_tokenizer import build_tokenizer
from specviz.models.load_progress import TOKENIZER, WEIGHTS, advance, begin
from specviz.models.weight_budget import check_size, check_stop
from specviz.models.weight_headers import StoredWeights

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
WORDS: Final = {"rope.scaling.type": ("none", "linear")}  # of those that are no numbers
FLOATS: Final = (
    "attention.layer_norm_rms_epsilon",
    "final_logit_softcapping",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.scaling.factor",
)
MOST: Final = 1 << 40
AS_USUAL: Final = {"expert_count": 0, "expert_used_count": 0, "rope.scaling.type": "none"}
WHOLE: Final = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
}
ROPE_FACTORS: Final = "rope_freqs.weight"  # of each wave length of the positions, in Llama 3.1 on
NAME: Final = re.compile(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)")


@dataclass(frozen=True, slots=True)
class GgufModel:
    """What a GGUF file holds. tensors: float32, by transformers' names, rows in its order.

    network: the class of the model. kinds: how its weights are rounded, such as Q4_K and F32, the
    kind of most of them first. rope_factors: (half a head's size,), what each frequency of the
    positions is divided by.
    """

    config: PreTrainedConfig
    network: Any
    kinds: tuple[str, ...]
    tensors: dict[str, Tensor]
    rope_factors: Tensor | None
    tokenizer: PreTrainedTokenizerFast
    generation: GenerationConfig


def read_model(name: str, path: Path) -> GgufModel:
    """Read the whole file; errors call it `name`. Raises Unsuitable."""
    file = _opened(name, path)
    said = file.values
    kind = said.get("general.architecture")
    if kind not in ARCHITECTURES:
        raise Unsuitable(
            f"{name!r} is a network of the kind {kind!r:.40}; GGUF files can be read of the kinds "
            f"{', '.join(map(repr, ARCHITECTURES))}."
        )
    reading = _Reading(name, kind, ARCHITECTURES[kind], file)
    found = dict(file.tensors)
    config = reading.config()
    network = NETWORKS[type(config)]
    held = StoredWeights(sum(tensor.elements for tensor in found.values()), len(found))
    check_size(name, config, network, held)
    factors = found.pop(ROPE_FACTORS, None) if kind == "llama" else None
    begin(TOKENIZER)
    tokenizer = build_tokenizer(name, said, config.max_position_embeddings)
    begin(WEIGHTS, sum(tensor.bytes for tensor in found.values()))
    block = FloatBlock(found.values())
    return GgufModel(
        config,
        network,
        _roundings(found.values()),
        {reading.named(key): reading.values(it, config, block) for key, it in found.items()},
        None if factors is None else reading.values(factors, config, FloatBlock([factors])),
        tokenizer,
        GenerationConfig(**_ends(said)),
    )


def _roundings(tensors: Iterable[TensorInfo]) -> tuple[str, ...]:
    """The kinds of the tensors, that of most numbers first."""
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        sizes[tensor.kind.name] += tensor.elements
    return tuple(kind for kind, _ in sizes.most_common())


def _counts(key: str) -> bool:
    return key.startswith(("general.architecture", "tokenizer.", *(f"{k}." for k in ARCHITECTURES)))


def _opened(name: str, path: Path) -> GgufFile:
    """The file's table of contents. Raises Unsuitable where it is cut short, or something else."""
    try:
        return read_gguf(path, _counts)
    except OtherByteOrder as error:
        raise Unsuitable(f"{name!r} was written for processors of the other byte order.") from error
    except DamagedHeader as error:
        raise Unsuitable(f"{name!r} is no whole GGUF file: {error}.") from error


@dataclass(frozen=True, slots=True)
class _Reading:
    """A file whose architecture, `kind`, is known; errors call it `name`."""

    name: str
    kind: str
    architecture: Architecture
    file: GgufFile

    def config(self) -> PreTrainedConfig:
        """The network's config. Raises Unsuitable for values that are missing or not understood."""
        said, tensors = self.file.values, self.file.tensors
        prefix = f"{self.kind}."
        own = {k.removeprefix(prefix): value for k, value in said.items() if k.startswith(prefix)}
        if missing := sorted(NEEDED.keys() - own.keys()):
            raise Unsuitable(f"{self.name!r} does not say its {self.kind}.{missing[0]}.")
        self._check(own)
        heads = own["attention.head_count"]
        size = own.get("attention.key_length", own["embedding_length"] // heads)
        shared = {
            **{theirs: own[ours] for ours, theirs in NEEDED.items()},
            "num_key_value_heads": own.get("attention.head_count_kv", heads),
            "head_dim": size,
            "vocab_size": own.get("vocab_size", len(said.get("tokenizer.ggml.tokens", ()))),
            "tie_word_embeddings": "output.weight" not in tensors,
            **_ends(said),
        }
        usual = {**dict.fromkeys(SIZES, size), **AS_USUAL}
        for key in own.keys() - {*NEEDED, *OTHERS, *self.architecture.keys}:
            if key not in usual or own[key] != usual[key]:
                raise Unsuitable(
                    f"{self.name!r} has {self.kind}.{key} = {own[key]!r:.40}, which is not "
                    "understood."
                )
        return self.architecture.config(own, shared, tensors.keys())

    def _check(self, own: Mapping[str, Any]) -> None:
        """Raise Unsuitable where a value that is used cannot be one of such a network."""
        most = {"block_count": MOST_PARTS, "attention.head_count": MOST_PARTS}
        for key in (*NEEDED, *OTHERS, *SIZES, *self.architecture.keys):
            if key not in own:
                continue
            value = own[key]
            fits = value in WORDS[key] if key in WORDS else _is_size(value, key in FLOATS)
            if not fits or (key in most and value > most[key]):
                raise Unsuitable(
                    f"{self.name!r} has {self.kind}.{key} = {value!r:.40}, which no "
                    f"{self.architecture.title} has."
                )

    def named(self, tensor: str) -> str:
        """What transformers calls a tensor. Raises Unsuitable for one that has no place."""
        found = NAME.fullmatch(tensor)
        layer, part, kind = found.groups() if found else (None, "", "")
        known = WHOLE if layer is None else self.architecture.layer
        if part not in known:
            title = self.architecture.title
            raise Unsuitable(f"{self.name!r} has a tensor that no {title} has: {tensor!r:.80}.")
        where = "" if layer is None else f"model.layers.{layer}."
        return f"{where}{known[part]}.{kind}"

    def values(self, tensor: TensorInfo, config: PreTrainedConfig, block: FloatBlock) -> Tensor:
        """A tensor's numbers as transformers has them, float32. Raises Unsuitable, Stopped."""
        check_stop()
        numbers = block.take(tensor)
        try:
            dequantize_into(self.file, tensor, numbers)
        except NotImplementedError as error:
            kind = tensor.kind.name
            raise Unsuitable(
                f"{self.name!r} has {tensor.name} as {kind}, which cannot be read."
            ) from error
        if self.architecture.shift and tensor.name.endswith("norm.weight"):
            numbers -= self.architecture.shift
        rows = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
        heads = next((rows[part] for part in rows if f".{part}." in tensor.name), None)
        if heads and self.architecture.neighbours:
            pair_halves(numbers, heads)
        advance(tensor.bytes)
        return torch.from_numpy(numbers)


def _is_size(value: Any, real: bool) -> bool:
    """Whether a value can be a size, which is a whole number unless it is `real`."""
    return (type(value) is int or (real and isinstance(value, float))) and 0 < value <= MOST


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
