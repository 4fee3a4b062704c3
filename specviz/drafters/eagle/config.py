"""Configs of EAGLE heads, and the parts that public files leave out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeVar

import torch
from torch import Tensor

from specviz.drafters.common.config import HeadConfig, check_depth
from specviz.drafters.common.layouts import Head
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

AUX: Final = "eagle_aux_hidden_state_layer_ids"


VARIANTS: Final = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")


@dataclass(frozen=True)
class EagleConfig(HeadConfig):
    """Config of an EAGLE head.

    Attributes:
        bias: Whether fc has a bias; public configs without the key have one.
    """

    bias: bool = True


@dataclass(frozen=True)
class Eagle3Config(HeadConfig):
    """Config of an EAGLE-3 head.

    Attributes:
        draft_vocab_size: Number of tokens that it can propose.
        tap_layers: Layers of the target whose outputs it reads, counted from 1, before the final
            norm (transformers' hidden_states[k]). The key is our own, since public keys of this
            kind differ by one between programs; by default they are 2, L // 2 and L - 3, as in
            EAGLE.
        target_hidden_size: The target's width if it differs from the head's.
        norm_before_residual: Whether the residual connection starts from the normed state.
        norm_before_fc: Whether one norm is applied to all taps before they are fused.
        fc_norm: Whether each tap has a norm of its own.
        norm_output: Whether the next step reads the output after the final norm, not before.
    """

    architectures: ClassVar[tuple[str, ...]] = ("LlamaForCausalLMEagle3",)
    omitted_if_empty: ClassVar[frozenset[str]] = HeadConfig.omitted_if_empty | {
        "target_hidden_size",
        *VARIANTS,
    }

    draft_vocab_size: int = 0
    tap_layers: tuple[int, ...] = ()
    target_hidden_size: int | None = None
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    fc_norm: bool = False
    norm_output: bool = False

    @property
    def input_width(self) -> int:
        """Implement `HeadConfig.input_width`."""
        return self.target_hidden_size or self.hidden_size

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json; taps are also written under vLLM's key."""
        return super().to_json() | {AUX: list(self.tap_layers)}


def default_taps(layers: int) -> tuple[int, ...]:
    """Return EAGLE-3's default taps for a target of this many layers, counted from 1."""
    return (2, layers // 2, layers - 3)


def draft_vocabulary(counts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return d2t (size,) and t2d (V,) for the `size` most frequent tokens.

    d2t holds offsets: draft id i is token i + d2t[i]. t2d[v] is true if token v can be proposed.

    Args:
        counts: How often each token occurs, (V,); of equal counts, the lower id comes first.
        size: Size of the draft vocabulary.
    """
    common = counts.sort(descending=True, stable=True).indices[:size].sort().values
    t2d = torch.zeros(len(counts), dtype=torch.bool)
    t2d[common] = True
    return common - torch.arange(len(common)), t2d


def add_missing_parts(found: Head) -> Head:
    """Add d2t, t2d and draft_vocab_size if a file leaves them out.

    A head that proposes every token needs neither d2t nor t2d; t2d also follows from d2t.
    """
    tensors, every = dict(found.tensors), found.config.get("vocab_size")
    size = found.config.get("draft_vocab_size") or every
    if type(every) is not int or type(size) is not int:
        return found  # refused when the config is parsed
    if "d2t" not in tensors and size == every:
        tensors["d2t"] = torch.zeros(size, dtype=torch.long)
    if "d2t" in tensors and "t2d" not in tensors:
        listed = tensors["d2t"] + torch.arange(len(tensors["d2t"]))
        tensors["t2d"] = torch.isin(torch.arange(every), listed)
    return replace(found.with_config(draft_vocab_size=size), tensors=tensors)


def has_own_embedding(found: Head, config: Eagle3Config) -> bool:
    """Return whether a head has its own embeddings; it must, if its width is not the target's."""
    return "embed_tokens.weight" in found.tensors or config.input_width != config.hidden_size


Kind = TypeVar("Kind", bound=Eagle3Config)


def read_eagle3(found: Head, target: Target, kind: type[Kind]) -> Kind:
    """Parse a head's config and determine its taps.

    Raises:
        Unsuitable: If the config is invalid or does not fit the target.
    """
    name, depth = found.name, target.layers
    taps = found.config.get("tap_layers") or default_taps(depth)
    whole = isinstance(taps, list | tuple) and all(type(k) is int for k in taps)
    if not whole or not all(1 <= k <= depth for k in taps):
        raise Unsuitable(f"{name!r} taps layers {taps!r:.80}; this target has 1 to {depth}.")
    config = kind.from_json(name, {**found.config, "tap_layers": tuple(taps)})
    config.check_fit(name, target)
    if type(made_for := found.config.get("num_target_layers")) is int:
        check_depth(name, made_for, target)
    if not 0 < config.draft_vocab_size <= config.vocab_size:
        raise Unsuitable(f"{name!r}: its draft_vocab_size is {config.draft_vocab_size:,}.")
    return config
