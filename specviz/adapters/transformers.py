"""What specviz assumes about transformers beyond its documented API.

Nothing here compares version numbers: what a network accepts is read from that network. Each
assumption says what it is for, what happens when it no longer holds, and what is done instead.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn
from transformers import (
    Cache,
    DynamicCache,
    DynamicLayer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedConfig,
    PreTrainedModel,
)

from specviz.adapters.warning import warn_once

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

Rotary = tuple[Tensor, Tensor]  # cosines and sines of the rotary angles, (B, r, head size) each


# --- Llama's building blocks ----------------------------------------------------------------------
# For heads that are built like a Llama's layer. transformers documents the models, not the module
# that defines these classes. If it moves, the classes are taken from a tiny model instead.


def _llama_classes() -> tuple[type[nn.Module], type[nn.Module], type[nn.Module]]:
    """Llama's decoder layer, RMS norm and rotary embedding."""
    try:
        module = import_module("transformers.models.llama.modeling_llama")
        return module.LlamaDecoderLayer, module.LlamaRMSNorm, module.LlamaRotaryEmbedding
    except (ImportError, AttributeError):
        return _classes_of_a_tiny_llama()


def _classes_of_a_tiny_llama() -> tuple[type[nn.Module], type[nn.Module], type[nn.Module]]:
    """The same classes, read from a model of one layer and two tokens."""
    sizes: Any = {"vocab_size": 2, "hidden_size": 4, "intermediate_size": 4}
    config = LlamaConfig(**sizes, num_hidden_layers=1, num_attention_heads=1)
    decoder: Any = LlamaForCausalLM(config).model
    return type(decoder.layers[0]), type(decoder.norm), type(decoder.rotary_emb)


if not TYPE_CHECKING:
    LlamaDecoderLayer, LlamaRMSNorm, LlamaRotaryEmbedding = _llama_classes()


def block_config(**sizes: Any) -> LlamaConfig:
    """The config of a decoder layer outside a model. sizes: as `LlamaConfig` takes them.

    A layer reads the attention implementation from its config. In a model `from_pretrained` writes
    it there; `attn_implementation` does the same here. Without it, attention is eager: slower.
    """
    with_attention: Any = {**sizes, "attn_implementation": "sdpa"}
    return LlamaConfig(**with_attention)


def scaled_frequencies(config: LlamaConfig) -> tuple[Tensor, float]:
    """Rotary frequencies, (head size / 2,) in radians per position, and the attention scaling.

    For scaled rotary embeddings (Llama 3.1, YaRN, ...), whose formulas transformers owns.
    """
    made: Any = LlamaRotaryEmbedding(config)
    return made.inv_freq, float(made.attention_scaling)


def divide_frequencies(model: Any, factors: Tensor) -> None:
    """Divide a Llama's rotary frequencies in place. factors: (head size / 2,).

    A GGUF file lists such factors; no documented setting takes them. Raises AttributeError where
    the model keeps its frequencies elsewhere: the file is then refused rather than misread.
    """
    model.model.rotary_emb.inv_freq /= factors


def frequency_factors(model: Any) -> Tensor:
    """What a Llama's rotary frequencies are divided by, (head size / 2,): ones where nothing is.

    The opposite of `divide_frequencies`. Raises AttributeError as it does.
    """
    size, base = model.config.head_dim, model.config.rope_parameters["rope_theta"]
    exponents = torch.arange(0, size, 2, dtype=torch.float32) / size
    factors: Tensor = (1.0 / base**exponents) / model.model.rotary_emb.inv_freq.float().cpu()
    return factors


# --- The cache argument ---------------------------------------------------------------------------
# transformers 5.24 calls it `cache`; before, it was `past_key_values`, which 5.24 to 5.39 accept
# with a warning. A network that takes neither is refused when it is loaded.

CACHE_NAMES: Final = ("cache", "past_key_values")


def cache_name(network: nn.Module) -> str | None:
    """The name by which a network's forward takes its key-value cache; None if it takes none."""
    takes = _parameters(type(network).forward)
    return next((name for name in CACHE_NAMES if name in takes), None)


@cache
def _parameters(forward: Any) -> frozenset[str]:
    """The names of a function's parameters; decorators are looked through."""
    return frozenset(inspect.signature(forward).parameters)


def with_cache(network: nn.Module, kept: Cache | None) -> dict[str, Any]:
    """The keyword arguments that give `network` a cache to read and extend, or none."""
    name = cache_name(network)
    given = {} if kept is None or name is None else {name: kept}
    return {**given, "use_cache": kept is not None}


def biases_by_distance(config: PreTrainedConfig) -> bool:
    """Whether attention is biased by distance (ALiBi) instead of using positions.

    transformers computes the biases from a two-dimensional mask, and a tree needs one that says for
    every node which others it sees.
    """
    found = config.get_text_config(decoder=True)
    return bool(getattr(found, "alibi", False))


def takes_tree_nodes(model: PreTrainedModel) -> bool:
    """Whether a causal LM's forward takes explicit positions, a cache and a number of logits."""
    takes = _parameters(type(model).forward)
    return cache_name(model) is not None and {"position_ids", "logits_to_keep"} <= takes


# --- Caches ---------------------------------------------------------------------------------------
# The classes are public; how models call them is not documented: `update` with the new keys and
# values, `get_seq_length`, and the attributes `keys`, `values` and `is_initialized`. A model that
# calls them in another way fails the pass that `has_plain_cache` makes, and is refused.


class CacheLayer(DynamicLayer):
    """Keys and values of one decoder layer, (1, heads, rows, head size); see `append`."""

    keys: Any
    values: Any

    def update(
        self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        """Called by the model with new rows; returns all rows."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        return self.append(key_states, value_states)

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep new rows (1, heads, n, head size) behind the others; all keys, all values."""
        raise NotImplementedError


class LayeredCache(Cache):
    """A cache that makes a layer of one kind for each decoder layer that writes to it."""

    layers: list[Any]

    def __init__(self, layer: type[CacheLayer]) -> None:
        super().__init__(layer_class_to_replicate=layer)


def growing_cache() -> DynamicCache:
    """transformers' own cache, for passes that are never rolled back."""
    return DynamicCache()


def cached_keys_values(kept: DynamicCache, layer: int) -> tuple[Tensor, Tensor]:
    """Keys and values (B, heads, rows, head size) of a decoder layer, counted from 1."""
    rows: Any = kept.layers[layer - 1]
    return rows.keys, rows.values


def attends_in_chunks(config: PreTrainedConfig) -> bool:
    """Whether a layer sees the rows of its own chunk of the text only (Llama 4)."""
    found = config.get_text_config(decoder=True)
    kinds = getattr(found, "layer_types", None)
    if kinds is None:
        return getattr(found, "attention_chunk_size", None) is not None
    return "chunked_attention" in kinds


# --- Which networks keep only keys and values -----------------------------------------------------


def plans_plain_cache(config: PreTrainedConfig) -> bool:
    """Whether transformers would give this network a cache of plain keys and values.

    A sliding window counts as plain. A cache layer of any other kind (a recurrent state, say)
    cannot forget a rejected token.
    """
    window = getattr(config.get_text_config(decoder=True), "sliding_window", None)
    plain = {"DynamicLayer", "DynamicSlidingWindowLayer"} if window else {"DynamicLayer"}
    return all(type(layer).__name__ in plain for layer in DynamicCache(config=config).layers)


def keeps_state(model: PreTrainedModel) -> bool:
    """Whether a network says that it keeps a recurrent state beside its cache.

    `_is_stateful` is private. Where it is gone, `has_plain_cache` still finds such a network.
    """
    return bool(getattr(model, "_is_stateful", False))


@torch.inference_mode()
def has_plain_cache(model: PreTrainedModel, kept: LayeredCache) -> bool:
    """Whether a pass over two tokens leaves two rows of keys and values in every layer of `kept`.

    kept: empty. The pass also warms the network up, so that no measured run pays for it.
    """
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    model(input_ids=ids, **with_cache(model, kept))
    return {layer.get_seq_length() for layer in kept.layers} == {2}


# --- Sliding windows ------------------------------------------------------------------------------
# A layer with a window attends to the newest rows only. Which layers have one is read from the
# config as transformers' `create_masks_for_generate` reads it: `layer_types`, or `sliding_window`
# for all layers. A forward takes one mask by kind of layer, in a dict, or one mask where all layers
# are alike. None of this is documented, so `passes_masks_on` tries it; where it does not hold, the
# callers stay within the window. Without a mask, transformers makes its own, of the cache's sizes.

FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Windows:
    """The layers that attend to the newest `rows` rows only, their own among them.

    sliding: by layer, whether it does. by_kind: whether the forward takes a mask by kind of layer.
    """

    rows: int
    sliding: tuple[bool, ...]
    by_kind: bool

    def argument(self, full: Tensor, sliding: Tensor) -> Any:
        """What the forward takes as `attention_mask`."""
        return {FULL: full, SLIDING: sliding} if self.by_kind else sliding


def sliding_windows(config: PreTrainedConfig) -> Windows | None:
    """What a config says about sliding windows; None where no layer has one."""
    text: Any = config.get_text_config(decoder=True)
    rows = getattr(text, "sliding_window", None)
    if not rows or not getattr(text, "use_sliding_window", True):
        return None
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        return Windows(rows, (True,) * text.num_hidden_layers, by_kind=False)
    sliding = tuple(kind == SLIDING for kind in kinds)
    return Windows(rows, sliding, by_kind=True) if any(sliding) else None


@torch.inference_mode()
def passes_masks_on(model: PreTrainedModel, windows: Windows) -> bool:
    """Whether every decoder layer gets the mask of its kind: tried in a pass over two tokens.

    A config may also name a window that its network knows nothing of. A network that takes one mask
    and has one makes it by a function that its module imports.
    """
    layers = decoder_layers(model)
    if layers is None or len(layers) != len(windows.sliding):
        return False
    if not windows.by_kind and not hasattr(
        _module_of(layers[0]), "create_sliding_window_causal_mask"
    ):
        return False
    given: list[Any] = []
    hooks = [
        layer.register_forward_pre_hook(
            lambda _layer, args, named: given.append(named.get("attention_mask", args)),
            with_kwargs=True,
        )
        for layer in layers
    ]
    lowest = torch.finfo(model.dtype).min
    full = torch.zeros(1, 1, 2, 2, dtype=model.dtype, device=model.device)
    full[..., 0, 1] = lowest
    sliding = full.clone()
    sliding[..., 1, 0] = lowest
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    try:
        model(input_ids=ids, attention_mask=windows.argument(full, sliding), use_cache=False)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return False
    finally:
        for hook in hooks:
            hook.remove()
    expected = [sliding if slides else full for slides in windows.sliding]
    pairs = zip(given, expected, strict=False)
    return len(given) == len(expected) and all(_same(one, other) for one, other in pairs)


def _module_of(part: nn.Module) -> Any:
    """The module whose code defines a part of a network."""
    return sys.modules.get(type(part).__module__)


def _same(given: Any, mask: Tensor) -> bool:
    return isinstance(given, Tensor) and given.shape == mask.shape and bool((given == mask).all())


# --- The parts of a decoder -----------------------------------------------------------------------
# Heads read inner states, and early exit runs layers one by one. transformers documents neither
# where a network keeps its layers nor how one is called. Where a part is not found, the callers say
# that this kind of model cannot be used for that.


def decoder_layers(model: Any) -> Any | None:
    """The decoder layers, in order; None where the architecture keeps them elsewhere."""
    return _part(model, ("layers", "h"))


def final_norm(model: Any) -> Any | None:
    """The norm before the output projection; None where the architecture keeps it elsewhere."""
    return _part(model, ("norm", "ln_f", "final_layer_norm"))


def _part(model: Any, names: Sequence[str]) -> Any | None:
    """The first part that the base model has under one of the names, or its text decoder."""
    bases = [model.base_model]
    if hasattr(model, "get_decoder"):  # of a model that also reads images (Gemma 3 from 4B on)
        bases.append(model.get_decoder())
    found = (getattr(base, name, None) for base in bases for name in names)
    return next((part for part in found if part is not None), None)


def steppable_decoder(model: Any) -> Any | None:
    """The decoder, where its layers can be run one by one as a Llama's; else None.

    It has `embed_tokens`, `layers`, `norm`, and what `rotary_angles` needs.
    """
    base = model.base_model
    parts = ("embed_tokens", "layers", "norm", "rotary_emb")
    return base if all(hasattr(base, part) for part in parts) else None


LLAMA_LIKE: Final = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
)
FIXED_ANGLES: Final = ("default", "linear", "llama3", "yarn")  # not by the length of the text


def llama_decoder(model: Any) -> Any | None:
    """The decoder of a Llama, or of a Llama with biases or with norms on queries and keys.

    None for any other network, for one with a sliding window, and where a part of a layer is not
    found: the network's own forward is used then, which is slower on a CPU.
    """
    kind, config = type(model), model.config
    if kind.__name__ not in LLAMA_LIKE or not kind.__module__.startswith("transformers."):
        return None
    angles = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    usual = config.hidden_act == "silu" and angles in FIXED_ANGLES and kinds == {"full_attention"}
    decoder = steppable_decoder(model)
    if not usual or getattr(config, "sliding_window", None) or decoder is None:
        return None
    attention = ("q_proj", "k_proj", "v_proj", "o_proj", "head_dim")
    mlp = ("gate_proj", "up_proj", "down_proj")
    whole = all(
        all(hasattr(layer.self_attn, name) for name in attention)
        and all(hasattr(layer.mlp, name) for name in mlp)
        for layer in decoder.layers
    )
    return decoder if whole else None


def rotary_angles(decoder: Any, hidden: Tensor, positions: Tensor) -> Rotary:
    """What `run_layer` rotates rows by. hidden: (B, r, h), for its dtype; positions: (B, r)."""
    angles: Rotary = decoder.rotary_emb(hidden, position_ids=positions)
    return angles


def run_layer(
    layer: nn.Module,
    hidden: Tensor,
    rotary: Rotary,
    mask: Tensor,
    kept: Cache | None = None,
    positions: Tensor | None = None,
) -> Tensor:
    """One decoder layer on rows (B, r, h), which extends its own part of the cache: (B, r, h).

    mask: additive, (B, 1, r, rows of the cache + r). positions: (B, r), for layers that ask.
    """
    placed = {} if positions is None else {"position_ids": positions}
    out = layer(
        hidden,
        attention_mask=mask,
        position_embeddings=rotary,
        **placed,
        **with_cache(layer, kept),
    )
    rows: Tensor = out[0] if isinstance(out, tuple) else out
    return rows


def attention_inputs(layer: Any, hidden: Tensor, rotary: Rotary) -> tuple[Tensor, Tensor, Tensor]:
    """A Llama layer's queries, keys and values of rows (B, r, h), rotated: (B, heads, r, size)."""
    attention, rows = layer.self_attn, layer.input_layernorm(hidden)
    queries, keys, values = (
        projection(rows).unflatten(-1, (-1, attention.head_dim)).transpose(1, 2)
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    return _rotated(queries, rotary), _rotated(keys, rotary), values


def attention_scale(layer: Any) -> float:
    """What a Llama layer multiplies its attention scores by."""
    return float(layer.self_attn.scaling)


def layer_output(layer: Any, hidden: Tensor, mixed: Tensor) -> Tensor:
    """A Llama layer's output (B, r, h), from its input and its attention (B, heads, r, size)."""
    hidden = hidden + layer.self_attn.o_proj(mixed.transpose(1, 2).flatten(2))
    out: Tensor = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
    return out


def _rotated(rows: Tensor, rotary: Rotary) -> Tensor:
    """Rotate (B, heads, r, size) as Llama's attention does: the halves of a row are its pairs."""
    cosines, sines = (each.unsqueeze(1) for each in rotary)
    first, second = rows.chunk(2, dim=-1)
    return rows * cosines + torch.cat([-second, first], dim=-1) * sines


# --- Construction ---------------------------------------------------------------------------------


def without_initialization() -> AbstractContextManager[None]:
    """Within, new models leave their weights as the memory was: they are chosen afterwards.

    Undocumented. Without it, random weights are drawn and then overwritten: minutes for a model of
    billions of parameters.
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
    """What `from_pretrained` is given so that each process of a group holds a part of every layer.

    The config class is not documented. Where it is gone or knows no plan, the argument `tp_plan`,
    which came before it, says the same.
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
