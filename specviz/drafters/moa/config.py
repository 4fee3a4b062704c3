"""Configs of Mixture of Attentions heads, with the keys of the authors' vLLM plug-in.

A config that would change the numbers in a way that is not implemented is refused; all other keys
are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from specviz.drafters.common import checkpoint
from specviz.drafters.common.config import HeadConfig
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

LIKE_THE_WIDTH: Final = 0  # head size derived from the width, as in the public code
WITHOUT: Final = {  # key -> the one supported value, and what other values mean
    "disable_LSA": (False, "a head without layer self-attention"),
    "target_layer_inference": (0, "target layer inference"),
    "rope_scaling": (None, "scaled rotary positions"),
    "hidden_act": ("silu", "another activation in its MLPs"),
    "attention_bias": (False, "biases in its attention"),
    "mlp_bias": (False, "biases in its MLPs"),
}


@dataclass(frozen=True)
class MoaConfig:
    """Widths and heads of the three blocks.

    Attributes:
        hidden_size: Width of the target.
        kv_hidden_size: Width of the keys and values of one target layer.
        num_attention_heads: Attention heads of every block.
        layer_self_attention_num_key_value_heads: Key and value heads of layer self-attention.
        layer_self_attention_intermediate_size: Inner width of its MLP.
        self_attention_num_key_value_heads: Key and value heads of self-attention.
        self_attention_intermediate_size: Inner width of its MLP.
        cross_attention_num_key_value_heads: Key and value heads of cross-attention.
        cross_attention_intermediate_size: Inner width of its MLP.
        vocab_size: Number of tokens.
        rms_norm_eps: Epsilon of the norms.
        rope_theta: Base of the rotary angles.
        layer_self_attention_head_dim: Head size of layer self-attention, a key of our own; public
            heads have `LIKE_THE_WIDTH`.
        made_for: SHA-256 of the target's weights, or None; also a key of our own.
    """

    hidden_size: int
    kv_hidden_size: int
    num_attention_heads: int
    layer_self_attention_num_key_value_heads: int
    layer_self_attention_intermediate_size: int
    self_attention_num_key_value_heads: int
    self_attention_intermediate_size: int
    cross_attention_num_key_value_heads: int
    cross_attention_intermediate_size: int
    vocab_size: int
    rms_norm_eps: float = 1e-5
    rope_theta: float = 500_000.0
    layer_self_attention_head_dim: int = LIKE_THE_WIDTH
    made_for: str | None = None

    @classmethod
    def like(cls, target: Target, **changes: Any) -> Self:
        """Return the config of a new house-sized head for this target.

        Its widths are in the published proportions, except for layer self-attention. That is
        narrow, since it computes one row per layer and would dominate a small head.
        """
        model = target.model.config
        wide, heads = model.hidden_size, model.num_attention_heads
        given = {
            "hidden_size": wide,
            "kv_hidden_size": kv_width(target.model),
            "num_attention_heads": heads,
            "layer_self_attention_num_key_value_heads": max(1, heads // 4),
            "layer_self_attention_intermediate_size": wide // 4,
            "self_attention_num_key_value_heads": max(1, heads // 4),
            "self_attention_intermediate_size": wide // 8,
            "cross_attention_num_key_value_heads": max(1, heads // 4),
            "cross_attention_intermediate_size": wide * 3 // 2,
            "vocab_size": target.vocab_size,
            "rms_norm_eps": model.rms_norm_eps,
            "rope_theta": checkpoint.rope_theta(target.model),
            "layer_self_attention_head_dim": wide // heads,
            "made_for": target.card.hash,
        }
        return cls(**(given | changes))

    @classmethod
    def read(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json.

        Args:
            name: Name of the head in error messages.
            data: Contents of the file.

        Raises:
            Unsuitable: If it is invalid or not supported.
        """
        for key, (built, called) in WITHOUT.items():
            if data.get(key, built) != built:
                raise Unsuitable(f"{name!r} has {called} ({key}), which is not supported.")
        config = checkpoint.parsed(name, data, cls)
        config._check(name, asdict(config))
        return config

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json."""
        kind = {"model_type": "moa_spec", "architectures": ["MOASpecModel"]}
        return kind | {key: built for key, (built, _) in WITHOUT.items()} | asdict(self)

    def block(self, part: str) -> HeadConfig:
        """Return the shape of a block: layer_self_attention, self_attention or cross_attention."""
        over_layers = part == "layer_self_attention"
        width = self.kv_hidden_size if over_layers else self.hidden_size
        size = self.layer_self_attention_head_dim if over_layers else LIKE_THE_WIDTH
        return HeadConfig(
            hidden_size=width,
            intermediate_size=getattr(self, f"{part}_intermediate_size"),
            num_attention_heads=self.num_attention_heads,
            num_key_value_heads=getattr(self, f"{part}_num_key_value_heads"),
            head_dim=size or width // self.num_attention_heads,
            vocab_size=self.vocab_size,
            rms_norm_eps=self.rms_norm_eps,
            rope_theta=self.rope_theta,
        )

    def check_fit(self, name: str, target: Target) -> None:
        """Check that the target has these widths and at least this number of tokens.

        Raises:
            Unsuitable: If not.
        """
        self.block("cross_attention").check_fit(name, target)
        wide = kv_width(target.model)
        if self.kv_hidden_size != wide:
            raise Unsuitable(
                f"{name!r} reads keys and values {self.kv_hidden_size:,} wide; "
                f"those of a layer of {target.card.name!r} are {wide:,}."
            )

    def _check(self, name: str, data: Mapping[str, Any]) -> None:
        """Check that sizes are positive integers and attention heads can be shared.

        Raises:
            Unsuitable: If not.
        """
        for key, value in data.items():
            counts = key.endswith(("_size", "_heads"))
            if counts and (type(value) is not int or value < 1):
                raise Unsuitable(f"{name!r}: {key} must be a whole number, not {value!r}.")
        for part in ("layer_self_attention", "self_attention", "cross_attention"):
            shape = self.block(part)
            shared = shape.num_attention_heads % shape.num_key_value_heads
            if (
                shared
                or type(shape.head_dim) is not int
                or shape.head_dim < 2
                or shape.head_dim % 2
            ):
                raise Unsuitable(f"{name!r}: the heads of its {part} do not fit together.")


def kv_width(model: Any) -> int:
    """Return the width of one layer's keys and values of one token, concatenated."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return 2 * int(shared) * int(size)
