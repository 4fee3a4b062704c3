"""Write a loaded Llama as a float32 GGUF file, so that llama.cpp computes with the same weights.

Only models that llama.cpp's "llama" architecture computes in the same way are written; others are
rejected with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from gguf import GGUFWriter
from torch import Tensor
from transformers import LlamaForCausalLM

from specviz.adapters.transformers import frequency_factors
from specviz.models.gguf import OUTER_PARTS, ROPE_FACTORS
from specviz.models.gguf.architectures import LAYER

ENDS: Final = ("eos_token_id", "eot_token_id", "eom_token_id")  # tokens that end a text
FIXED_ROPE: Final = ("default", "linear", "llama3")  # frequencies do not depend on the text
NAME: Final = re.compile(r"(?:model\.layers\.(\d+)\.)?(.+)\.(weight|bias)")
OURS: Final = {theirs: ours for ours, theirs in {**OUTER_PARTS, **LAYER}.items()}


def why_not_writable(model: Any, ends: Sequence[int]) -> str | None:
    """Return a sentence that says why a model cannot be written, or None if it can."""
    config: Any = model.config
    if type(model) is not LlamaForCausalLM or config.hidden_act != "silu":
        return "Only a Llama can be written as a GGUF file."
    if any(weight.dtype != torch.float32 for weight in model.parameters()):
        return "The weights are not float32."
    rope: Mapping[str, Any] = config.rope_parameters
    if rope.get("rope_type", "default") not in FIXED_ROPE:
        return "Its rotary frequencies depend on the length of the text."
    if not 1 <= len(ends) <= len(ENDS):
        return (
            f"A GGUF file can name 1 to {len(ENDS)} tokens that end a text; this model has "
            f"{len(ends)}."
        )
    return None


def write_gguf(
    path: Path, model: LlamaForCausalLM, tokens: Sequence[str], ends: Sequence[int]
) -> None:
    """Write a model. Weights are not copied in memory, except those of queries and keys."""
    file = GGUFWriter(path, "llama")
    _add_config(file, model.config)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(list(tokens))
    file.add_token_merges(["a b"])  # a file must contain a merge; this one never encodes text
    file.add_token_types([1] * len(tokens))  # ordinary tokens, so that all are printed
    file.add_add_bos_token(False)
    file.add_bos_token_id(ends[0])
    for key, token in zip(ENDS, ends, strict=False):
        file.add_uint32(f"tokenizer.ggml.{key}", token)
    for name, weight in _tensors(model):
        file.add_tensor(name, weight.detach().numpy())
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def _add_config(file: GGUFWriter, config: Any) -> None:
    file.add_block_count(config.num_hidden_layers)
    file.add_context_length(config.max_position_embeddings)
    file.add_embedding_length(config.hidden_size)
    file.add_feed_forward_length(config.intermediate_size)
    file.add_head_count(config.num_attention_heads)
    file.add_head_count_kv(config.num_key_value_heads)
    file.add_key_length(config.head_dim)
    file.add_value_length(config.head_dim)
    file.add_rope_dimension_count(config.head_dim)
    file.add_rope_freq_base(config.rope_parameters["rope_theta"])
    file.add_layer_norm_rms_eps(config.rms_norm_eps)
    file.add_vocab_size(config.vocab_size)


def _tensors(model: Any) -> Iterator[tuple[str, Tensor]]:
    # A tied output head is not written.
    rows = {
        "self_attn.q_proj": model.config.num_attention_heads,
        "self_attn.k_proj": model.config.num_key_value_heads,
    }
    for name, weight in model.named_parameters():
        found = NAME.fullmatch(name)
        assert found is not None
        layer, part, kind = found.groups()
        where = "" if layer is None else f"blk.{layer}."
        yield f"{where}{OURS[part]}.{kind}", _paired(weight, rows[part]) if part in rows else weight
    factors = frequency_factors(model)
    if not torch.allclose(factors, torch.ones_like(factors), rtol=1e-6):
        yield ROPE_FACTORS, factors


def _paired(rows: Tensor, heads: int) -> Tensor:
    # The rows of all heads in llama.cpp's order: the inverse of `pair_halves`.
    halves = rows.reshape(heads, 2, -1, *rows.shape[1:])
    return halves.transpose(1, 2).reshape(rows.shape).contiguous()
