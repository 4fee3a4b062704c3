"""The Mixture of Attentions head (2410.03804) and its training.

Layer self-attention: the keys and values of one token in all L layers form a sequence of L rows,
which attend to one another; their mean goes through Ekv2E and becomes the token's memory.
Self-attention: a block over the tokens' embeddings, guesses included. Cross-attention: a block
whose queries are those rows and whose keys and values come from the memory only. Its output goes to
the target's own projection without a norm in between.

The memory does not change while a draft is built: guesses add queries and rows of self-attention,
but no memory rows, since the target has no keys and values for them yet.

Layout, names and these details follow the public code (huawei-noah/HEBO, branch
mixture-of-attentions, MOASpec): keys are those of a cache, already rotated; each key-value head
gives its key, then its value; rotary positions over layers start at 0; queries and memory use the
same norm. The implementation was not tested with public weights. Target layer inference is not
supported.

Training uses the paper's T-bounded masks: a query attends to the memory only up to k tokens before
itself, for every k from 1 to the depth of our trees and for every position at once. The memory and
self-attention are computed once, and only the queries differ between depths, so this costs little.
(The public code samples the start of each segment; here every start is used.)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Self

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.drafters.common import checkpoint
from specviz.drafters.common.config import HeadConfig, check_heads
from specviz.drafters.common.layers import (
    Layer,
    Mix,
    Past,
    SplitAttention,
    causal,
    masked,
    rotate,
)
from specviz.drafters.common.training import EVERY, Family, TargetOutputs, future_loss, weighted
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

SHAPES: Final = (  # keys of a Llama's config that follow from the tensors or are not used
    "head_dim", "intermediate_size", "num_hidden_layers", "num_key_value_heads",
)  # fmt: skip
FROM_WIDTH: Final = 0  # the head size is derived from the width, as in the public code
UNSUPPORTED: Final = {  # for each key: the only supported value, and what other values mean
    "disable_LSA": (False, "a head without layer self-attention"),
    "target_layer_inference": (0, "target layer inference"),
    "rope_scaling": (None, "scaled rotary positions"),
    "hidden_act": ("silu", "another activation in its MLPs"),
    "attention_bias": (False, "biases in its attention"),
    "mlp_bias": (False, "biases in its MLPs"),
}


@dataclass(frozen=True)
class MoaConfig(checkpoint.PlainConfig):
    """Widths and heads of the three blocks.

    Attributes:
        kv_hidden_size: Width of the keys and values of one target layer.
        layer_self_attention_head_dim: Head size of layer self-attention, a key of our own; public
            heads have `FROM_WIDTH`.
        made_for: SHA-256 of the target's weights, or None; also a key of our own.
    """

    also: ClassVar[Collection[str]] = (*UNSUPPORTED, *SHAPES)

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
    layer_self_attention_head_dim: int = FROM_WIDTH
    made_for: str | None = None

    @classmethod
    def like(cls, target: Target, **changes: Any) -> Self:
        """Return the config of a new small head for this target.

        Its widths have the published proportions, except those of layer self-attention. That block
        is narrow, since it computes one row per layer and would dominate a small head.
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
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json. Raises Unsuitable if it is invalid or not supported."""
        for key, (built, called) in UNSUPPORTED.items():
            if data.get(key, built) != built:
                raise Unsuitable(f"{name!r} has {called} ({key}), which is not supported.")
        config = super().from_json(name, data)
        config._check(name, asdict(config))
        return config

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json."""
        kind = {"model_type": "moa_spec", "architectures": ["MOASpecModel"]}
        return kind | {key: built for key, (built, _) in UNSUPPORTED.items()} | super().to_json()

    def block(self, part: str) -> HeadConfig:
        """Return the shape of layer_self_attention, self_attention or cross_attention."""
        over_layers = part == "layer_self_attention"
        width = self.kv_hidden_size if over_layers else self.hidden_size
        size = self.layer_self_attention_head_dim if over_layers else FROM_WIDTH
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
        """Check that the target has these widths and at least as many tokens. Raises Unsuitable."""
        self.block("cross_attention").check_fit(name, target)
        wide = kv_width(target.model)
        if self.kv_hidden_size != wide:
            raise Unsuitable(
                f"{name!r} reads keys and values {self.kv_hidden_size:,} wide; "
                f"those of a layer of {target.card.name!r} are {wide:,}."
            )

    def _check(self, name: str, data: Mapping[str, Any]) -> None:
        for key, value in data.items():
            counts = key.endswith(("_size", "_heads"))
            if counts and (type(value) is not int or value < 1):
                raise Unsuitable(f"{name!r}: {key} must be a whole number, not {value!r}.")
        for part in ("layer_self_attention", "self_attention", "cross_attention"):
            check_heads(name, self.block(part), part)


def kv_width(model: Any) -> int:
    """Return the width of one layer's keys and values for one token, concatenated."""
    config = model.config.get_text_config()
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return 2 * int(shared) * int(size)


class CrossAttention(SplitAttention):
    """Llama's attention, with keys and values computed from the memory instead of the rows."""

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map normed rows (B, n, h) to (B, n, h); `mix` uses their queries only, see `recall`."""
        queries = self._by_head(self.q_proj(rows))
        empty = queries[:, :, :0]
        mixed = mix(rotate(queries, self.rotary(positions)), empty, empty)
        out: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return out


class MoaHead(checkpoint.HeadNetwork):
    """The three blocks and a linear map, named as in public checkpoints; they share embeddings."""

    family = "moa"
    config_type = MoaConfig
    config: MoaConfig

    def __init__(self, config: MoaConfig) -> None:
        super().__init__()
        self.config = config
        self.layer_self_attention = Layer(config.block("layer_self_attention"))
        self.Ekv2E = nn.Linear(config.kv_hidden_size, config.hidden_size)
        self.self_attention = Layer(config.block("self_attention"))
        self.cross_attention = Layer(config.block("cross_attention"), CrossAttention)

    def memory(self, layers: Tensor) -> Tensor:
        """Map keys and values (..., L, w) from `concat_keys_values` to memory rows (..., h)."""
        positions = torch.arange(layers.shape[-2], device=layers.device)
        rows = layers.flatten(0, -3)
        mixed = self.layer_self_attention(rows, positions, masked(None)).mean(-2)
        out: Tensor = self.Ekv2E(mixed)
        return out.view(*layers.shape[:-2], -1)

    def remember(self, layers: Tensor, positions: Tensor) -> Past:
        """Return cross-attention's keys and values of layers (B, m, L, w) at positions (m,)."""
        block = self.cross_attention
        return block.self_attn.keys_values(block.input_layernorm(self.memory(layers)), positions)


def concat_keys_values(layers: Mapping[int, tuple[Tensor, Tensor]]) -> Tensor:
    """Concatenate each layer's keys and values, (..., heads, d) each, and stack: (..., L, w)."""
    stacked = torch.stack([each for k in sorted(layers) for each in layers[k]], dim=-3)
    by_head: Tensor = stacked.unflatten(-3, (-1, 2)).transpose(-3, -2)  # (..., L, heads, 2, d)
    return by_head.flatten(-3)


def recall(remembered: Past, sees: Tensor) -> Mix:
    """Return a `Mix` that attends to the memory under a mask `sees` (n, m), bool."""
    keys, values = remembered
    return lambda queries, _keys, _values: masked(sees)(queries, keys, values)


STEPS: Final = 5  # number of guesses in a row in training and evaluation
DECAY: Final = 0.8  # weight of a depth relative to the one before: later guesses are reached rarely
FEATURE_WEIGHT: Final = 1.0  # both weights are those of the public code
DISTRIBUTION_WEIGHT: Final = 0.1


def loss(head: MoaHead, outputs: TargetOutputs, steps: int = STEPS) -> Tensor:
    """Return the mean loss over depths, by the target's state and distribution."""
    parts = []
    for depth, output in enumerate(unroll(head, outputs, steps), start=1):
        feature = functional.smooth_l1_loss(output.float(), outputs.final[:, depth:].float())
        cross_entropy = future_loss(outputs.head(output), outputs, depth + 1)
        parts.append(FEATURE_WEIGHT * feature + DISTRIBUTION_WEIGHT * cross_entropy)
    return weighted(parts, DECAY)


def guesses(head: MoaHead, outputs: TargetOutputs, depth: int = STEPS) -> list[Tensor]:
    """Return logits (B, T - d, V) for each depth d, the input of `overlaps`."""
    return [outputs.head(output) for output in unroll(head, outputs, depth)]


def unroll(head: MoaHead, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Yield the outputs (B, T - k, h) of steps k = 1, 2, …, as far as the text reaches.

    Row t attends to the memory up to t and the tokens up to t + k, and predicts token t + k + 1.
    """
    length = outputs.tokens.shape[1]
    positions = torch.arange(length, device=outputs.tokens.device)
    attended = head.self_attention(outputs.embed(outputs.tokens), positions, causal)
    rows = {k: (a.transpose(1, 2), b.transpose(1, 2)) for k, (a, b) in outputs.keys_values.items()}
    remembered = head.remember(concat_keys_values(rows), positions)
    for step in range(1, min(steps, length - 1) + 1):
        sees = torch.ones(length - step, length, dtype=torch.bool, device=positions.device).tril()
        yield head.cross_attention(attended[:, step:], positions[step:], recall(remembered, sees))


def build(target: Target, _counts: Tensor) -> MoaHead:
    """Build a new small head for this target."""
    return MoaHead(MoaConfig.like(target))


TRAINING: Final = Family("moa", build, loss, guesses, keys_values=(EVERY,))
