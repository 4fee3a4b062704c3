"""The cache that a network takes, and which networks keep only keys and values.

The cache classes are public, but not how models call them: `update` with the new keys and values,
`get_seq_length`, and the attributes `keys`, `values` and `is_initialized`. A model that calls them
in another way fails the pass that `has_plain_cache` makes, and is refused.
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

# The cache argument is `cache` in transformers 5.24 and later; before, it was `past_key_values`,
# which 5.24 to 5.39 accept with a warning. A network that takes neither is refused when it is
# loaded.

CACHE_NAMES: Final = ("cache", "past_key_values")


def cache_name(network: nn.Module) -> str | None:
    """Return the parameter by which a network's forward takes its key-value cache, or None."""
    takes = _parameters(type(network).forward)
    return next((name for name in CACHE_NAMES if name in takes), None)


@cache
def _parameters(forward: Any) -> frozenset[str]:
    """Return the names of a function's parameters, looking through decorators."""
    return frozenset(inspect.signature(forward).parameters)


def with_cache(network: nn.Module, kept: Cache | None) -> dict[str, Any]:
    """Return the keyword arguments that give a network a cache to read and extend, or none."""
    name = cache_name(network)
    given = {} if kept is None or name is None else {name: kept}
    return {**given, "use_cache": kept is not None}


def biases_by_distance(config: PreTrainedConfig) -> bool:
    """Return whether attention is biased by distance (ALiBi) instead of using positions.

    transformers computes the biases from a two-dimensional mask, but a tree needs a mask that says
    for every node which other nodes it sees.
    """
    found = config.get_text_config(decoder=True)
    return bool(getattr(found, "alibi", False))


def takes_tree_nodes(model: PreTrainedModel) -> bool:
    """Return whether a causal LM's forward takes positions, a cache and a number of logits."""
    takes = _parameters(type(model).forward)
    return cache_name(model) is not None and {"position_ids", "logits_to_keep"} <= takes


class CacheLayer(DynamicLayer):
    """Keys and values of one decoder layer, (1, heads, rows, head size); see `append`."""

    keys: Any
    values: Any

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Append new rows, called by the model, and return all rows."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self.append(key_states, value_states)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append new rows, (1, heads, n, head size) each, and return all keys and all values."""
        raise NotImplementedError


class LayeredCache(Cache):
    """A cache that creates a layer of one class for each decoder layer that writes to it."""

    layers: list[Any]

    def __init__(self, layer: type[CacheLayer]) -> None:
        super().__init__(layer_class_to_replicate=layer)


def growing_cache() -> DynamicCache:
    """Return transformers' own cache, for passes that are never rolled back."""
    return DynamicCache()


def cached_keys_values(kept: DynamicCache, layer: int) -> tuple[Tensor, Tensor]:
    """Return keys and values, (B, heads, rows, head size), of a decoder layer, counted from 1."""
    rows: Any = kept.layers[layer - 1]
    return rows.keys, rows.values


def attends_in_chunks(config: PreTrainedConfig) -> bool:
    """Return whether a layer sees only the rows in its own chunk of the text (Llama 4)."""
    found = config.get_text_config(decoder=True)
    kinds = getattr(found, "layer_types", None)
    if kinds is None:
        return getattr(found, "attention_chunk_size", None) is not None
    return "chunked_attention" in kinds


def plans_plain_cache(config: PreTrainedConfig) -> bool:
    """Return whether transformers would give this network a cache of plain keys and values.

    A sliding window counts as plain. Any other kind of cache layer (such as a recurrent state)
    cannot forget a rejected token.
    """
    window = getattr(config.get_text_config(decoder=True), "sliding_window", None)
    plain = {"DynamicLayer", "DynamicSlidingWindowLayer"} if window else {"DynamicLayer"}
    return all(type(layer).__name__ in plain for layer in DynamicCache(config=config).layers)


def keeps_state(model: PreTrainedModel) -> bool:
    """Return whether a network says that it keeps a recurrent state beside its cache.

    `_is_stateful` is private. If it is gone, `has_plain_cache` still finds such a network.
    """
    return bool(getattr(model, "_is_stateful", False))


@torch.inference_mode()
def has_plain_cache(model: PreTrainedModel, kept: LayeredCache) -> bool:
    """Return whether a pass over two tokens leaves two rows in every layer of an empty cache.

    The pass also warms up the network, so that no measured run pays for it.
    """
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    model(input_ids=ids, **with_cache(model, kept))
    return {layer.get_seq_length() for layer in kept.layers} == {2}
