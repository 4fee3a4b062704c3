"""Construct networks: without initial weights, split over processes, and Llama's building blocks.

transformers documents the models, but not the module that defines Llama's classes, from which heads
are built. If the module moves, the classes are taken from a tiny model.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
)

from specviz.adapters import warn_once

if TYPE_CHECKING:
    from transformers.models.llama.modeling_llama import (
        LlamaDecoderLayer as LlamaDecoderLayer,  # noqa: PLC0414
    )
    from transformers.models.llama.modeling_llama import (
        LlamaRMSNorm as LlamaRMSNorm,  # noqa: PLC0414
    )
    from transformers.models.llama.modeling_llama import (
        LlamaRotaryEmbedding as LlamaRotaryEmbedding,  # noqa: PLC0414
    )


def without_initialization() -> AbstractContextManager[None]:
    """Leave the weights of models that are created inside this context uninitialized.

    transformers does not document this. Otherwise, random weights are sampled and then overwritten,
    which takes minutes for billions of parameters.
    """
    try:
        found: AbstractContextManager[None] = import_module(
            "transformers.initialization"
        ).no_init_weights()
    except (ImportError, AttributeError):
        warn_once("transformers cannot skip initializing weights: large random models take longer.")
        return nullcontext()
    return found


def tensor_parallel_options() -> dict[str, Any]:
    """Return arguments for `from_pretrained` that make each process load a part of every layer.

    The config class is not documented. If it does not exist or has no field `tp_plan`, the older
    argument `tp_plan` is used.
    """
    try:
        config: Any = import_module(
            "transformers.distributed.configuration_utils"
        ).DistributedConfig
        known = {field.name for field in fields(config)}
    except (ImportError, AttributeError, TypeError):
        known = set()
    if "tp_plan" not in known:
        return {"tp_plan": "auto"}
    return {"distributed_config": config(tp_plan="auto")}


def _llama_classes() -> tuple[type[nn.Module], type[nn.Module], type[nn.Module]]:
    """Return Llama's decoder layer, RMS norm and rotary embedding."""
    try:
        module = import_module("transformers.models.llama.modeling_llama")
        return module.LlamaDecoderLayer, module.LlamaRMSNorm, module.LlamaRotaryEmbedding
    except (ImportError, AttributeError):
        return _classes_of_a_tiny_llama()


def _classes_of_a_tiny_llama() -> tuple[type[nn.Module], type[nn.Module], type[nn.Module]]:
    """Return the same classes, read from a model of one layer and two tokens."""
    sizes: Any = {"vocab_size": 2, "hidden_size": 4, "intermediate_size": 4}
    config = LlamaConfig(**sizes, num_hidden_layers=1, num_attention_heads=1)
    decoder: Any = LlamaForCausalLM(config).model
    return type(decoder.layers[0]), type(decoder.norm), type(decoder.rotary_emb)


if not TYPE_CHECKING:
    LlamaDecoderLayer, LlamaRMSNorm, LlamaRotaryEmbedding = _llama_classes()


def block_config(**sizes: Any) -> LlamaConfig:
    """Return the config of a decoder layer outside a model.

    A layer reads its attention implementation from the config. For a model, `from_pretrained` sets
    it; here, `attn_implementation` does. Without it, eager attention is used, which is slower.

    Args:
        **sizes: Arguments of `LlamaConfig`.
    """
    with_attention: Any = {**sizes, "attn_implementation": "sdpa"}
    return LlamaConfig(**with_attention)


def rope_parameters(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rotary parameters that a Llama with this config.json has in transformers.

    Which of rope_parameters, rope_scaling and rope_theta counts if a file has several of them is
    not documented, so a config is made from them and asked.

    Args:
        config: Contents of config.json.

    Returns:
        The parameters, with `rope_type` and `rope_theta`.

    Raises:
        ValueError: A key that the type of scaling needs is missing, or a value is invalid.
    """
    keys = (*("rope_parameters", "rope_scaling", "rope_theta"), "max_position_embeddings")
    given: Any = {key: deepcopy(config[key]) for key in keys if config.get(key) is not None}
    for key in ("rope_parameters", "rope_scaling"):
        if isinstance(value := given.get(key), dict):
            given[key] = {part: each for part, each in value.items() if each is not None}
    try:
        made: Any = LlamaConfig(**given)
        return dict(made.rope_parameters)
    except Exception as error:  # which one depends on the value and on the version
        raise ValueError(str(error)) from error


def scaled_frequencies(config: LlamaConfig) -> tuple[Tensor, float]:
    """Return rotary frequencies and the attention scaling of scaled rotary embeddings.

    transformers computes them (Llama 3.1, YaRN, ...).

    Returns:
        Frequencies in radians per position, (head size / 2,), and the scaling.
    """
    made: Any = LlamaRotaryEmbedding(config)
    return made.inv_freq, float(made.attention_scaling)


def divide_frequencies(model: Any, factors: Tensor) -> None:
    """Divide a Llama's rotary frequencies in place.

    A GGUF file may contain such factors, and transformers has no documented option for them.

    Args:
        model: The model.
        factors: (head size / 2,).

    Raises:
        AttributeError: The frequencies are not found. The file is then rejected.
    """
    model.model.rotary_emb.inv_freq /= factors


def frequency_factors(model: Any) -> Tensor:
    """Return the divisors of a Llama's rotary frequencies, (head size / 2,); usually ones.

    This is the inverse of `divide_frequencies`.

    Raises:
        AttributeError: The frequencies are not found.
    """
    size, base = model.config.head_dim, model.config.rope_parameters["rope_theta"]
    exponents = torch.arange(0, size, 2, dtype=torch.float32) / size
    factors: Tensor = (1.0 / base**exponents) / model.model.rotary_emb.inv_freq.float().cpu()
    return factors
