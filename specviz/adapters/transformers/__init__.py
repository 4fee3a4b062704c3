"""Uses of undocumented behaviour of transformers.

No version numbers are compared; the code inspects each network instead. Each module documents what
happens if the behaviour changes.
"""

from __future__ import annotations

from specviz.adapters.transformers.caches import (
    CacheLayer,
    LayeredCache,
    attends_in_chunks,
    biases_by_distance,
    cache_name,
    cached_keys_values,
    growing_cache,
    has_plain_cache,
    keeps_state,
    plans_plain_cache,
    takes_tree_nodes,
    with_cache,
)
from specviz.adapters.transformers.construction import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
    block_config,
    divide_frequencies,
    frequency_factors,
    rope_parameters,
    scaled_frequencies,
    tensor_parallel_options,
    without_initialization,
)
from specviz.adapters.transformers.decoder import (
    Rotary,
    Windows,
    attention_inputs,
    attention_scale,
    decoder_layers,
    final_norm,
    layer_output,
    llama_decoder,
    passes_masks_on,
    rotary_angles,
    run_layer,
    sliding_windows,
    steppable_decoder,
)

__all__ = [
    "CacheLayer",
    "LayeredCache",
    "LlamaDecoderLayer",
    "LlamaRMSNorm",
    "LlamaRotaryEmbedding",
    "Rotary",
    "Windows",
    "attends_in_chunks",
    "attention_inputs",
    "attention_scale",
    "biases_by_distance",
    "block_config",
    "cache_name",
    "cached_keys_values",
    "decoder_layers",
    "divide_frequencies",
    "final_norm",
    "frequency_factors",
    "growing_cache",
    "has_plain_cache",
    "keeps_state",
    "layer_output",
    "llama_decoder",
    "passes_masks_on",
    "plans_plain_cache",
    "rope_parameters",
    "rotary_angles",
    "run_layer",
    "scaled_frequencies",
    "sliding_windows",
    "steppable_decoder",
    "takes_tree_nodes",
    "tensor_parallel_options",
    "with_cache",
    "without_initialization",
]
