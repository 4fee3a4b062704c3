"""What config.json says of an EAGLE head, by the keys of the public checkpoints.

Rule: what would change the numbers and is not built here is refused; all else is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

from specviz.models.errors import Unsuitable
from specviz.models.target import Target

NEEDED: Final = ("hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")


@dataclass(frozen=True)
class HeadConfig:
    """One Llama layer as wide as the target. made_for: SHA-256 of the target's weights, or None.

    made_for is a key of our own; public heads lack it, and then only shapes are compared.
    """

    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    made_for: str | None = None

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """From config.json as read; errors call the head `name`. Raises Unsuitable."""
        for key in NEEDED:
            if type(data.get(key)) is not int:
                raise Unsuitable(f"{name!r}: its config.json gives no whole number for {key}.")
        known = {field.name for field in fields(cls)}
        usual = {
            "num_key_value_heads": data["num_attention_heads"],
            "head_dim": data["hidden_size"] // data["num_attention_heads"],
            "rope_theta": _rope(name, data),
        }
        given = {key: data[key] for key in known & data.keys() if data[key] is not None}
        _refuse_others(name, data)
        return cls(**(usual | given))

    @classmethod
    def like(cls, target: Target, **changes: Any) -> Self:
        """A head of the house size for this target: one layer, as wide, and made for it."""
        model = target.model.config
        shared = {field.name for field in fields(HeadConfig)} & set(dir(model))
        given = {key: getattr(model, key) for key in shared} | {"vocab_size": target.vocab_size}
        return cls(**(given | {"made_for": target.card.hash} | changes))

    def to_json(self) -> dict[str, Any]:
        """For config.json."""
        common = {"hidden_act": "silu", "num_hidden_layers": 1}
        return {"model_type": "llama"} | common | asdict(self)

    def check_fit(self, name: str, target: Target) -> None:
        """Raise Unsuitable where the target has another width or vocabulary."""
        wide = target.model.config.get_text_config().hidden_size
        if self.hidden_size != wide:
            raise Unsuitable(
                f"{name!r} reads states of width {self.hidden_size:,}; "
                f"those of {target.card.name!r} have {wide:,}."
            )
        if self.vocab_size > target.vocab_size:
            raise Unsuitable(
                f"{name!r} knows {self.vocab_size:,} tokens; "
                f"{target.card.name!r} knows {target.vocab_size:,}."
            )


def _rope(name: str, data: Mapping[str, Any]) -> float:
    """The base of the rotary angles; 10,000 where it is not said, whatever the target's is."""
    rope = data.get("rope_parameters") or data.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise Unsuitable(f"{name!r} scales its rotary positions ({kind}), which is not built here.")
    return float(data.get("rope_theta") or rope.get("rope_theta") or 10_000.0)


def _refuse_others(name: str, data: Mapping[str, Any]) -> None:
    """Raise Unsuitable for heads of another build."""
    if data.get("num_hidden_layers", 1) != 1:
        raise Unsuitable(f"{name!r} has {data['num_hidden_layers']} layers; EAGLE heads have one.")
    if data.get("hidden_act", "silu") != "silu":
        raise Unsuitable(f"{name!r} uses {data['hidden_act']} in its MLP, and only silu is built.")
    for key in ("norm_before_residual", "norm_before_fc", "norm_output", "fc_norm"):
        if data.get(key):
            raise Unsuitable(f"{name!r} sets {key}, a variant of EAGLE-3 that is not built here.")
