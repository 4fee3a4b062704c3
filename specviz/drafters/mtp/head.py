"""DeepSeek-V3's sequential modules (2412.19437, section 2.2) and their training on a frozen target.

h' = eh_proj([enorm(embedding of the next token), hnorm(h)]), then one decoder block, then
shared_head.norm and the target's projection. Module k reads, in row i, its predecessor's output at
i (for the first module, the target's final state) and the token i + k, and predicts the token i + k
+ 1. Tensors are named `model.layers.{L}.*`, where L is the target's number of layers. Copies of the
target's embeddings and projection may be included.

DeepSeek trains module k on its predecessor's states. A module that is applied again reads its own
output, so here it is also trained on its outputs, a few steps deep: each row attends to the text's
rows and to its own earlier steps, as in drafting (EAGLE-3's "training-time test").
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self, cast

import torch
from torch import Tensor, nn
from transformers import LlamaConfig

from specviz.adapters.transformers import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
    growing_cache,
    run_layer,
)
from specviz.drafters.common import checkpoint
from specviz.drafters.common.checkpoint import PlainConfig, SizedHead, rope_theta
from specviz.drafters.common.config import check_depth, check_sizes, rope_of
from specviz.drafters.common.config_keys import check_activation
from specviz.drafters.common.layers import (
    Embed,
    OwnEmbedding,
    Project,
    causal_mask,
    llama_config,
    own_rows_mask,
)
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.training import Family, TargetOutputs, future_loss, weighted
from specviz.models.errors import Unsuitable
from specviz.models.target import Target


@dataclass(frozen=True)
class MTPConfig(PlainConfig):
    """Contents of config.json, with DeepSeek's keys.

    Attributes:
        num_hidden_layers: The target's number of layers, from which the modules are numbered.
        num_nextn_predict_layers: Number of modules; the last one is applied again for later
            guesses.
        made_for: SHA-256 of the target's weights.
    """

    # The first two and vocab_size follow from the target and the tensors.
    also: ClassVar[Collection[str]] = (
        "head_dim", "hidden_size", "vocab_size", "rope_parameters", "rope_scaling",
    )  # fmt: skip

    num_hidden_layers: int
    num_nextn_predict_layers: int = 1
    num_attention_heads: int = 4
    num_key_value_heads: int = 4
    intermediate_size: int = 704
    rms_norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    made_for: str | None = None


class SharedHead(nn.Module):
    """The norm before the output projection, and the projection unless it is the target's own."""

    def __init__(self, width: int, eps: float, vocabulary: int | None) -> None:
        super().__init__()
        self.norm = LlamaRMSNorm(width, eps)
        self.head = None if vocabulary is None else nn.Linear(width, vocabulary, bias=False)


class MTPModule(LlamaDecoderLayer):
    """One module: maps a state and the next token's embedding to the next state."""

    def __init__(
        self, config: LlamaConfig, number: int, own: tuple[int | None, int | None]
    ) -> None:
        """Create the layers of a module.

        Args:
            config: Config of the decoder block.
            number: Number of the module, from 0.
            own: Vocabulary sizes of its embeddings and output projection; None if shared.
        """
        super().__init__(config, number)
        width, eps = config.hidden_size, config.rms_norm_eps
        self.enorm = LlamaRMSNorm(width, eps)
        self.hnorm = LlamaRMSNorm(width, eps)
        self.eh_proj = nn.Linear(2 * width, width, bias=False)
        self.embed_tokens = None if own[0] is None else OwnEmbedding(own[0], width)
        self.shared_head = SharedHead(width, eps, own[1])

    def join(self, states: Tensor, tokens: Tensor, embed: Embed) -> Tensor:
        """Combine states (B, r, h) and the next tokens (B, r) into the block's input."""
        words = (self.embed_tokens or embed)(tokens)
        out: Tensor = self.eh_proj(torch.cat([self.enorm(words), self.hnorm(states)], dim=-1))
        return out

    def logits(self, hidden: Tensor, project: Project) -> Tensor:
        """Map the block's output (…, h) to (…, V)."""
        return (self.shared_head.head or project)(self.shared_head.norm(hidden))


class MTPModules(SizedHead):
    """All modules of one target, under `model.layers`."""

    family = "mtp"
    config_type = MTPConfig
    config: MTPConfig

    def __init__(
        self, config: MTPConfig, width: int, own: tuple[int | None, int | None] = (None, None)
    ) -> None:
        super().__init__()
        self.config = config
        self.shape = config.num_key_value_heads, width // config.num_attention_heads
        block = llama_config(
            width,
            config.intermediate_size,
            config.num_attention_heads,
            config.num_key_value_heads,
            config.rope_theta,
            config.rms_norm_eps,
        )
        modules = {
            str(config.num_hidden_layers + k): MTPModule(block, k, own)
            for k in range(config.num_nextn_predict_layers)
        }
        self.model = nn.ModuleDict({"layers": nn.ModuleDict(modules)})
        self.rotary = LlamaRotaryEmbedding(block)

    def module(self, step: int) -> MTPModule:
        """Return the module of a step, from 1; the last module is repeated for later steps."""
        first, count = self.config.num_hidden_layers, self.config.num_nextn_predict_layers
        found = cast(nn.ModuleDict, self.model["layers"])[str(first + min(step, count) - 1)]
        assert isinstance(found, MTPModule)
        return found

    def run(
        self, step: int, joined: Tensor, positions: Tensor, mask: Tensor, cache: Any = None
    ) -> Tensor:
        """Run a step's block on combined rows (B, r, h) at positions (1, r)."""
        turns = self.rotary(joined, positions)
        return run_layer(self.module(step), joined, turns, mask, cache)

    @classmethod
    def read_config(cls, found: Head, target: Target) -> MTPConfig:
        """Implement `HeadNetwork.read_config`."""
        config = MTPConfig.from_json(found.name, found.config)
        rope = rope_of(found.name, found.config)
        if rope["rope_scaling"]:
            raise Unsuitable(
                f"{found.name!r} scales its rotary positions, which is not supported for MTP."
            )
        check_activation(found.name, found.config)
        check_depth(found.name, config.num_hidden_layers, target)
        if type(wide := found.config.get("hidden_size")) is int:
            check_sizes(found.name, wide, 0, target)
        return replace(config, rope_theta=rope["rope_theta"])

    @classmethod
    def like_file(cls, found: Head, config: MTPConfig, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`."""
        width, vocabulary = checkpoint.sizes(target.model)
        first = f"model.layers.{config.num_hidden_layers}"
        embeds = vocabulary if f"{first}.embed_tokens.weight" in found.tensors else None
        projects = vocabulary if f"{first}.shared_head.head.weight" in found.tensors else None
        return cls(config, width, (embeds, projects))


STEPS: Final = 4  # number of guesses in a row in training and evaluation
DECAY: Final = 0.8  # weight of a step relative to the one before: later guesses are reached rarely


def loss(head: MTPModules, outputs: TargetOutputs) -> Tensor:
    """Return the weighted mean loss over steps; step s, from 1, predicts i + s + 1 in row i."""
    parts = [future_loss(row, outputs, s + 2) for s, row in enumerate(guesses(head, outputs))]
    return weighted(parts, DECAY)


def guesses(head: MTPModules, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Return logits (B, T - steps, V) for each depth, the input of `overlaps`."""
    return list(unroll(head, outputs, max(STEPS, head.config.num_nextn_predict_layers)))


def unroll(head: MTPModules, outputs: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Yield the logits (B, T - steps, V) of steps 1, 2, … along the text, as in a session."""
    count, rows = head.config.num_nextn_predict_layers, outputs.tokens.shape[1] - steps
    hidden, cache = outputs.final[:, :rows], growing_cache()
    for step in range(1, steps + 1):
        again = max(0, step - count)  # further steps, which read the last module's own output
        tokens = outputs.tokens[:, step : step + rows]
        joined = head.module(step).join(hidden, tokens, outputs.embed)
        mask = own_rows_mask(rows, again, joined) if again else causal_mask(rows, 0, joined)
        positions = torch.arange(again, again + rows, device=joined.device)[None]
        hidden = head.run(step, joined, positions, mask, cache)
        yield head.module(step).logits(hidden, outputs.head)


def build(target: Target, _counts: Tensor) -> MTPModules:
    """Build a new module for this target with the shape of its layers."""
    shape = target.model.config
    config = MTPConfig(
        num_hidden_layers=shape.num_hidden_layers,
        num_attention_heads=shape.num_attention_heads,
        num_key_value_heads=shape.num_key_value_heads,
        intermediate_size=shape.intermediate_size,
        rms_norm_eps=shape.rms_norm_eps,
        rope_theta=rope_theta(target.model),
        made_for=target.card.hash,
    )
    return MTPModules.new(config, target.model)


TRAINING: Final = Family("mtp", build, loss, guesses, sampled=True)
