"""Key-value caches for networks of transformers, and checks that a network uses no other state.

The cache classes are public, but it is not documented how models use them: `update` with the new
keys and values, `get_seq_length`, and the attributes `keys`, `values` and `is_initialized`. A model
that uses them in another way fails the pass in `has_plain_cache` and is rejected.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor, nn
from transformers import (
    Cache,
    DynamicCache,
    DynamicLayer,
    PreTrainedConfig,
    PreTrainedModel,
)

# The cache argument is called `cache` since transformers 5.24, and `past_key_values` in older
# releases. (5.24 to 5.39 also accept the old name, with a warning.) A network that has neither is
# rejected when it is loaded.
CACHE_NAMES: Final = ("cache", "past_key_values")


def cache_name(network: nn.Module) -> str | None:
    """Return the name of the forward's parameter for the key-value cache, or None."""
    takes = _parameters(type(network).forward)
    return next((name for name in CACHE_NAMES if name in takes), None)


@cache
def _parameters(forward: Any) -> frozenset[str]:
    """Return the names of a function's parameters, even if the function is decorated."""
    return frozenset(inspect.signature(forward).parameters)


def with_cache(network: nn.Module, kv_cache: Cache | None) -> dict[str, Any]:
    """Return the keyword arguments that pass a cache, or no cache, to a network's forward."""
    name = cache_name(network)
    given = {} if kv_cache is None or name is None else {name: kv_cache}
    return {**given, "use_cache": kv_cache is not None}


def biases_by_distance(config: PreTrainedConfig) -> bool:
    """Return whether attention is biased by distance (ALiBi) instead of using positions.

    transformers computes the biases from a mask with one entry per token. A tree needs a mask with
    one entry per pair of nodes.
    """
    found = config.get_text_config(decoder=True)
    return bool(getattr(found, "alibi", False))


def takes_tree_nodes(model: PreTrainedModel) -> bool:
    """Return whether a causal LM's forward accepts positions, a cache and a number of logits."""
    takes = _parameters(type(model).forward)
    return cache_name(model) is not None and {"position_ids", "logits_to_keep"} <= takes


class CacheLayer(DynamicLayer):
    """Keys and values of one decoder layer, (1, heads, rows, head size); see `append`."""

    keys: Any
    values: Any

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Append new rows and return all rows; called by the model."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self.append(key_states, value_states)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new rows, (1, heads, n, head size) each, and return all keys and all values."""
        raise NotImplementedError


class LayeredCache(Cache):
    """A cache that creates a layer of the given class for each decoder layer that uses it."""

    layers: list[Any]

    def __init__(self, layer: type[CacheLayer]) -> None:
        super().__init__(layer_class_to_replicate=layer)


def growing_cache() -> DynamicCache:
    """Return transformers' own cache, for passes that are never rolled back."""
    return DynamicCache()


def cached_keys_values(kv_cache: DynamicCache, layer: int) -> tuple[Tensor, Tensor]:
    """Return the keys and values of a layer, (B, heads, rows, head size) each.

    Args:
        kv_cache: The cache.
        layer: The decoder layer, counted from 1.
    """
    rows: Any = kv_cache.layers[layer - 1]
    return rows.keys, rows.values


def attends_in_chunks(config: PreTrainedConfig) -> bool:
    """Return whether a layer attends only to rows in its own chunk of the text (Llama 4)."""
    found = config.get_text_config(decoder=True)
    kinds = getattr(found, "layer_types", None)
    if kinds is None:
        return getattr(found, "attention_chunk_size", None) is not None
    return "chunked_attention" in kinds


def plans_plain_cache(config: PreTrainedConfig) -> bool:
    """Return whether transformers would create a plain key-value cache for this network.

    Layers with a sliding window count as plain. From other kinds of cache layers, such as recurrent
    states, a rejected token cannot be removed.
    """
    window = getattr(config.get_text_config(decoder=True), "sliding_window", None)
    plain = {"DynamicLayer", "DynamicSlidingWindowLayer"} if window else {"DynamicLayer"}
    return all(type(layer).__name__ in plain for layer in DynamicCache(config=config).layers)


def keeps_state(model: PreTrainedModel) -> bool:
    """Return whether a network declares that it keeps a recurrent state besides its cache.

    `_is_stateful` is private. If it no longer exists, `has_plain_cache` still detects such a
    network.
    """
    return bool(getattr(model, "_is_stateful", False))


@torch.inference_mode()
def has_plain_cache(model: PreTrainedModel, kv_cache: LayeredCache) -> bool:
    """Return whether a pass over two tokens leaves two rows in every layer of an empty cache.

    The pass also warms up the network, so that no measured run includes the warm-up.
    """
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    model(input_ids=ids, **with_cache(model, kv_cache))
    return {layer.get_seq_length() for layer in kv_cache.layers} == {2}
