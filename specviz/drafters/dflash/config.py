"""Configs of DFlash drafters, with the keys of the public checkpoints.

A config is refused if it requires a computation that is not implemented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from specviz.drafters.common.config import HeadConfig, check_depth
from specviz.models.errors import Unsuitable
from specviz.models.target import Target


@dataclass(frozen=True)
class DFlashConfig(HeadConfig):
    """Config of a DFlash head.

    Attributes:
        nested: Keys that z-lab's files have in `dflash_config`; some files have them at the
            top level. They are required, as is block_size.
        block_size: Positions of a block, including the first, the newest token (anchor).
        mask_token_id: Token at all other positions of a block.
        target_layer_ids: Layers of the target whose outputs it reads, counted from 0,
            before the final norm.
    """

    architectures: ClassVar[tuple[str, ...]] = ("DFlashDraftModel",)
    implemented: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "attention_bias": (False,),
        "causal": (False,),
        "is_causal": (False,),
        "causal_head": (False,),
        "projector_type": ("dflash",),
        "sample_from_anchor": (False,),
    }
    PUBLIC_BLOCK: ClassVar[int] = 16
    SUPPORTED: ClassVar[tuple[str, ...]] = ("DFlashDraftModel",)  # names of the architecture
    nested: ClassVar[tuple[str, ...]] = ("mask_token_id", "target_layer_ids")

    num_hidden_layers: int = 2
    num_target_layers: int = 0
    block_size: int = 8
    mask_token_id: int = 0
    target_layer_ids: tuple[int, ...] = ()

    @property
    def tap_layers(self) -> tuple[int, ...]:
        """The layers that it reads, counted from 1 as in `CaptureSpec` and `hidden_states`."""
        return tuple(k + 1 for k in self.target_layer_ids)

    @classmethod
    def house(cls, target: Target) -> Self:
        """Return the config of a small head: two layers, narrow MLPs and half as many key heads."""
        shape = target.model.config
        shared = shape.num_key_value_heads
        return cls._reading(
            target,
            evenly_spaced(shape.num_hidden_layers, 3),
            intermediate_size=shape.intermediate_size // 2,
            num_key_value_heads=shared // 2 if shared % 2 == 0 else shared,
        )

    @classmethod
    def public(cls, target: Target) -> Self:
        """Return a config as large as z-lab/Qwen3-4B-DFlash-b16: five layers that read five taps.

        Source: DeepSpec's and z-lab's configs for Qwen3-4B.
        """
        ids = evenly_spaced(target.model.config.num_hidden_layers, 5)
        return cls._reading(target, ids, num_hidden_layers=5, block_size=cls.PUBLIC_BLOCK)

    @classmethod
    def _reading(cls, target: Target, ids: tuple[int, ...], **changes: Any) -> Self:
        # An end-of-text token is used as mask, since it never occurs inside a draft.
        return cls.like(
            target,
            num_target_layers=target.model.config.num_hidden_layers,
            mask_token_id=target.eos[0] if target.eos else target.vocab_size - 1,
            target_layer_ids=ids,
            **changes,
        )

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json."""
        # Raises Unsuitable if it is invalid or not supported.
        inner = data.get("dflash_config") or {}
        if not isinstance(inner, Mapping):
            raise Unsuitable(f"{name!r}: its dflash_config is not a JSON object.")
        flat = dict(data) | {key: inner[key] for key in inner if inner[key] is not None}
        _check_architecture(name, flat, cls.SUPPORTED)
        missing = [key for key in ("block_size", *cls.nested) if key not in flat]
        if missing:
            raise Unsuitable(f"{name!r}: its config.json gives no {missing[0]}.")
        layers: Any = flat.get("num_hidden_layers")
        ids = flat["target_layer_ids"]
        flat |= {"target_layer_ids": tuple(ids) if isinstance(ids, list) else ()}
        one = super().from_json(name, flat | {"num_hidden_layers": 1})  # EAGLE heads have only one
        config = replace(one, num_hidden_layers=layers)
        config._check(name)
        return config

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json in z-lab's form."""
        found = super().to_json() | {
            "model_type": "qwen3",
            "num_hidden_layers": self.num_hidden_layers,
        }
        nested = {key: found.pop(key) for key in self.nested}
        return found | {"dflash_config": nested}

    def check_fit(self, name: str, target: Target) -> None:
        """Check that the target has the same width, vocabulary and depth."""
        # Raises Unsuitable if not.
        super().check_fit(name, target)
        depth = target.layers
        if self.num_target_layers:
            check_depth(name, self.num_target_layers, target)
        # transformers returns the last layer's output after the final norm, so a file that lists
        # this layer is ambiguous.
        if self.target_layer_ids[-1] >= depth - 1:
            raise Unsuitable(
                f"{name!r} reads layer {self.target_layer_ids[-1]}, counted from 0; "
                f"of this target's {depth} it can read all but the last."
            )

    def _check(self, name: str) -> None:
        for key, least in (("num_hidden_layers", 1), ("block_size", 2), ("mask_token_id", 0)):
            value = getattr(self, key)
            if type(value) is not int or value < least:
                raise Unsuitable(f"{name!r}: {key} must be at least {least}, not {value!r}.")
        if self.mask_token_id >= self.vocab_size:
            raise Unsuitable(f"{name!r}: no token has its mask_token_id, {self.mask_token_id:,}.")
        ids = self.target_layer_ids
        whole = bool(ids) and all(type(k) is int and k >= 0 for k in ids)
        if not whole or list(ids) != sorted(set(ids)):
            raise Unsuitable(f"{name!r}: target_layer_ids {list(ids)} are no rising layers.")


def evenly_spaced(target_layers: int, count: int) -> tuple[int, ...]:
    """Return `count` evenly spaced layers from 1 to L - 3, counted from 0, as in the public code.

    For targets with few layers, the result is shorter and may include the last layer but one.
    """
    last = target_layers - (3 if target_layers > 5 else 2)
    rows = {max(0, min(last, round(1 + i * (last - 1) / (count - 1)))) for i in range(count)}
    return tuple(sorted(rows))


def _check_architecture(name: str, data: Mapping[str, Any], supported: Sequence[str]) -> None:
    kinds = data.get("architectures") or [supported[0]]
    if len(kinds) != 1 or kinds[0] not in supported:
        raise Unsuitable(f"{name!r} is a {kinds[0]}; only {supported[0]} is supported.")
