"""EAGLE's head (2401.15077; also used by EAGLE-2, 2406.16858) and its training.

A feature is the target's hidden state after its final norm. Row t pairs the feature f_t with the
embedding of token t + 1 and predicts f_{t+1}, from which the target's own output head computes the
distribution of token t + 2. The layer has no norm before its attention, and its output is used as a
feature without a norm.

In training, drafts are unrolled along a known text without sampling. In step s, row t, the head has
the target's states up to token t and the text's tokens up to t + 1 + s, and predicts token t + 2 +
s. This is what a session computes when its draft equals the text, but for all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import LlamaRMSNorm
from specviz.drafters.common.checkpoint import HeadNetwork
from specviz.drafters.common.config import HeadConfig
from specviz.drafters.common.features import NumpyPass
from specviz.drafters.common.layers import Attention, Mix, Mlp, OwnEmbedding, Unrolled
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.training import DEPTH, Family, TargetOutputs
from specviz.models.fast_layers import FastLinear
from specviz.models.numpy_layers import NumpyCache, Rotation, rms_norm, weight_of
from specviz.models.products import Array
from specviz.models.target import Target

AUX: Final = "eagle_aux_hidden_state_layer_ids"


VARIANTS: Final = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")


@dataclass(frozen=True)
class EagleConfig(HeadConfig):
    """Config of an EAGLE head. bias: whether fc has one, as in public configs without the key."""

    bias: bool = True


@dataclass(frozen=True)
class Eagle3Config(HeadConfig):
    """Config of an EAGLE-3 head.

    Attributes:
        draft_vocab_size: Number of tokens that it can propose.
        tap_layers: Layers of the target whose outputs it reads, counted from 1, before the final
            norm (transformers' hidden_states[k]); by default 2, L // 2 and L - 3, as in EAGLE's
            code. The key is our own, since programs count the public keys' layers differently, from
            0 or 1.
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
    """Return EAGLE-3's default taps, counted from 1, for a target with this many layers."""
    return (2, layers // 2, layers - 3)


def draft_vocabulary(counts: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the tables d2t (size,) and t2d (V,) for the `size` most frequent tokens.

    d2t holds offsets: draft id i is token i + d2t[i]. t2d[v] is true if token v can be proposed.
    counts: how often each token occurs, (V,); of equal counts, the lower id comes first.
    """
    common = counts.sort(descending=True, stable=True).indices[:size].sort().values
    t2d = torch.zeros(len(counts), dtype=torch.bool)
    t2d[common] = True
    return common - torch.arange(len(common)), t2d


def add_missing_parts(found: Head) -> Head:
    """Add d2t, t2d and draft_vocab_size where a file leaves them out.

    A head that can propose every token needs neither table; t2d can also be computed from d2t.
    """
    tensors, every = dict(found.tensors), found.config.get("vocab_size")
    size = found.config.get("draft_vocab_size") or every
    if type(every) is not int or type(size) is not int:
        return found  # such a value is refused when the config is parsed
    if "d2t" not in tensors and size == every:
        tensors["d2t"] = torch.zeros(size, dtype=torch.long)
    if "d2t" in tensors and "t2d" not in tensors:
        listed = tensors["d2t"] + torch.arange(len(tensors["d2t"]))
        tensors["t2d"] = torch.isin(torch.arange(every), listed)
    return replace(found.with_config(draft_vocab_size=size), tensors=tensors)


class EagleLayer(nn.Module):
    """A Llama layer without the norm before its attention."""

    def __init__(self, config: EagleConfig) -> None:
        super().__init__()
        self.self_attn = Attention(config, config.hidden_size)
        self.mlp = Mlp(config)
        self.post_attention_layernorm = LlamaRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map (B, n, h) to (B, n, h)."""
        rows = rows + self.self_attn(rows, positions, mix)
        out: Tensor = rows + self.mlp(self.post_attention_layernorm(rows))
        return out


class EagleHead(HeadNetwork):
    """EAGLE's network: fc and one layer, named as in the public checkpoints."""

    family = "eagle"
    config_type = EagleConfig
    config: EagleConfig

    def __init__(self, config: EagleConfig, own_embedding: bool = False) -> None:
        super().__init__()
        self.config = config
        wide = config.hidden_size
        self.embed_tokens = OwnEmbedding(config.vocab_size, wide) if own_embedding else None
        self.fc = nn.Linear(2 * wide, wide, bias=config.bias)
        self.layers = nn.ModuleList([EagleLayer(config)])

    def forward(self, features: Tensor, words: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Predict the features f_{t+1}, (B, n, h).

        Args:
            features: f_t, (B, n, h).
            words: Embeddings of the tokens t + 1, (B, n, h).
            positions: Positions of the rows t, (n,); for a guess, its parent's plus one.
            mix: See `Attention.forward`.
        """
        rows = self.fc(torch.cat([words, features], dim=-1))
        for layer in self.layers:
            rows = layer(rows, positions, mix)
        out: Tensor = rows
        return out

    def numpy_pass(self) -> NumpyPass:
        """Implement `NumpyHead.numpy_pass`."""
        assert isinstance(self.fc, FastLinear)
        fc, eps = self.fc.product, self.config.rms_norm_eps
        parts = [
            (layer.self_attn.fast, layer.mlp.fast, weight_of(layer.post_attention_layernorm))
            for layer in cast(Sequence[EagleLayer], self.layers)
        ]

        def compute(
            states: Array, words: Array, turn: Rotation, sees: Array | None, cache: NumpyCache
        ) -> Array:
            rows = fc(np.concatenate([words, states], 1))
            for i, (attention, mlp, norm) in enumerate(parts):
                assert attention is not None
                assert mlp is not None
                rows = rows + attention(rows, turn, sees, cache, i)
                rows = rows + mlp(rms_norm(rows, norm, eps))
            return rows

        return compute

    @property
    def attentions(self) -> list[Attention]:
        """Implement `NumpyHead.attentions`."""
        return [layer.self_attn for layer in cast(Sequence[EagleLayer], self.layers)]

    @classmethod
    def like_file(cls, found: Head, config: EagleConfig, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`."""
        return cls(config, own_embedding="embed_tokens.weight" in found.tensors)


def unroll(head: Any, states: Tensor, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Yield the outputs (B, T - 1 - s, h) of steps s = 0, 1, … from the states (B, T, h)."""
    mix, length = Unrolled(), outputs.tokens.shape[1]
    embed = outputs.embed if head.embed_tokens is None else head.embed_tokens
    words = embed(outputs.tokens)
    for step in range(min(steps, length - 1)):
        rows = length - 1 - step
        positions = torch.arange(step, step + rows, device=words.device)
        states = head(states[:, :rows], words[:, step + 1 :], positions, mix)
        yield states


DISTRIBUTION_WEIGHT = 0.1  # as in the paper


def loss(head: EagleHead, outputs: TargetOutputs) -> Tensor:
    """Return SmoothL1 to the feature f_{t+1} plus cross-entropy to the target's distribution.

    As published, only one step from the target's features is trained. The paper also adds noise to
    the features, which is left out here, so the loss is deterministic.
    """
    (output,) = unroll(head, outputs.final, outputs, 1)
    feature = functional.smooth_l1_loss(output.float(), outputs.final[:, 1:].float())
    guessed = outputs.head(output).float().log_softmax(-1)
    cross_entropy = -(outputs.logits[:, 1:].softmax(-1) * guessed).sum(-1).mean()
    return feature + DISTRIBUTION_WEIGHT * cross_entropy


def guesses(head: EagleHead, outputs: TargetOutputs, depth: int) -> list[Tensor]:
    """Return logits (B, T - d, V) for each depth d, the input of `overlaps`."""
    return [outputs.head(output) for output in unroll(head, outputs.final, outputs, depth)]


def build(target: Target, _counts: Tensor) -> EagleHead:
    """Build a new head for this target; fc has no bias, since vLLM would ignore it."""
    return EagleHead(replace(EagleConfig.like(target), bias=False))


TRAINING: Final = Family(
    "eagle", build, loss, guesses=lambda head, outputs: guesses(head, outputs, DEPTH), sampled=True
)
