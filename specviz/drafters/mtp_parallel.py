"""Parallel multi-token prediction (2404.19737): one layer for each future position.

The trunk consists of all layers of the target but the last. The last layer acts as the target's own
head, which predicts t + 1. Head i, from 0, is another such layer on the same trunk; it predicts t +
2 + i, followed by the target's own norm and projection. The layers attend to the trunk's output at
every verified token. If the newest token is at n, the newest row is n - 1, which predicted it, so
head i predicts the token n + 1 + i there. No head waits for another.

The paper (Gloeckle 2024) trains the heads together with the trunk; here the trunk is frozen.
Tensors are named as in facebook/multi-token-prediction: `extra_heads.{i}.attention.wq.weight` and
so on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar, Final, Self

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.adapters.transformers import final_norm
from specviz.drafters.common import checkpoint
from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import PlainConfig, SizedHead
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.layers import Mix, Project, causal
from specviz.drafters.common.rank_paths import HeadPass, RankPathSession
from specviz.drafters.common.training import Family, TargetOutputs, future_loss, weighted
from specviz.models.graphs import pad_front
from specviz.models.passes import (
    CaptureSpec,
    States,
    require_part,
)
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.events import ModelCard
from specviz.trace.work import Work
from specviz.verification.transfer import UploadBatch

SHAPES: Final = (  # keys of the same file that follow from the tensors or the target
    "dim", "ffn_dim_multiplier", "max_batch_size", "max_seq_len", "multiple_of", "n_layers",
    "vocab_size",
)  # fmt: skip


@dataclass(frozen=True)
class ParallelConfig(PlainConfig):
    """Contents of config.json, with the keys of that checkpoint's params.json.

    Attributes:
        n_future_tokens: Number of tokens predicted, including t + 1.
        made_for: SHA-256 of the target's weights.
    """

    also: ClassVar[Collection[str]] = SHAPES

    n_future_tokens: int = 4
    n_heads: int = 4
    n_kv_heads: int = 4
    hidden_dim: int = 352
    norm_eps: float = 1e-5
    rope_theta: float = 10_000.0
    made_for: str | None = None


class SelfAttention(nn.Module):
    """Meta's attention, which rotates neighbouring pairs (0, 1), (2, 3), … instead of halves."""

    def __init__(self, config: ParallelConfig, width: int) -> None:
        super().__init__()
        self.size, self.theta = width // config.n_heads, config.rope_theta
        shared = config.n_kv_heads * self.size
        self.wq = nn.Linear(width, width, bias=False)
        self.wk = nn.Linear(width, shared, bias=False)
        self.wv = nn.Linear(width, shared, bias=False)
        self.wo = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Attend from rows (B, r, h) at positions (r,)."""
        q, k, v = (
            rows.unflatten(-1, (-1, self.size)).transpose(1, 2)
            for rows in (self.wq(x), self.wk(x), self.wv(x))
        )
        mixed = mix(self.rotated(q, positions), self.rotated(k, positions), v)
        out: Tensor = self.wo(mixed.transpose(1, 2).flatten(2))
        return out

    def rotated(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Rotate (B, heads, r, d) by positions (r,)."""
        steps = torch.arange(0, self.size, 2, device=rows.device).float() / self.size
        angles = positions.float()[:, None] * self.theta**-steps
        sine, cosine = angles.sin().to(rows.dtype), angles.cos().to(rows.dtype)
        even, odd = rows[..., 0::2], rows[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


class FeedForward(nn.Module):
    """Meta's gated MLP: w2(SiLU(w1 x) · w3 x)."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…, h) to (…, h)."""
        out: Tensor = self.w2(functional.silu(self.w1(x)) * self.w3(x))
        return out


class TransformerBlock(nn.Module):
    """One head: a decoder layer."""

    def __init__(self, config: ParallelConfig, width: int) -> None:
        super().__init__()
        self.attention = SelfAttention(config, width)
        self.feed_forward = FeedForward(width, config.hidden_dim)
        self.attention_norm = nn.RMSNorm(width, eps=config.norm_eps)
        self.ffn_norm = nn.RMSNorm(width, eps=config.norm_eps)

    def forward(self, x: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map rows (B, r, h) at positions (r,) to (B, r, h)."""
        x = x + self.attention(self.attention_norm(x), positions, mix)
        out: Tensor = x + self.feed_forward(self.ffn_norm(x))
        return out


class ParallelHeads(SizedHead):
    """The n - 1 heads, one layer each, all on the same trunk."""

    family = "mtp-parallel"
    config_type = ParallelConfig
    config: ParallelConfig

    def __init__(self, config: ParallelConfig, model: Any) -> None:
        super().__init__()
        self.config = config
        width, count = checkpoint.sizes(model)[0], config.n_future_tokens - 1
        self.extra_heads = nn.ModuleList(TransformerBlock(config, width) for _ in range(count))
        norm = require_part(model, final_norm, "final norm")
        self.shared = (norm,)

    def features(self, trunk: Tensor, positions: Tensor, mixes: Iterable[Mix]) -> Tensor:
        """Map rows (B, r, h) at positions (r,) to (heads, B, r, h), before the norm."""
        heads = zip(self.extra_heads, mixes, strict=False)
        return torch.stack([head(trunk, positions, mix) for head, mix in heads])

    def logits(self, features: Tensor, project: Project) -> Tensor:
        """Map (…, h) to (…, V) with the target's norm and projection."""
        logits: Tensor = project(self.shared[0](features))
        return logits

    @classmethod
    def new(cls, config: ParallelConfig, model: Any) -> Self:
        """Implement `SizedHead.new`."""
        return cls(config, model)


class ParallelMTP(HeadDrafter):
    """The drafter of parallel heads, in eval mode, trained for one target."""

    name = "mtp-parallel"
    network = ParallelHeads
    head: ParallelHeads

    def __init__(self, head: ParallelHeads, card: ModelCard, layers: int) -> None:
        super().__init__(head, card)
        self.capture = CaptureSpec(layers=(layers - 1,))

    @classmethod
    def from_head(cls, head: ParallelHeads, card: ModelCard, target: Target) -> Self:
        """Implement `HeadDrafter.from_head`."""
        return cls(head, card, target.model.config.num_hidden_layers)

    def session(self, target: Target, settings: Settings) -> RankPathSession:
        """Implement `HeadDrafter.session`."""
        return ParallelSession(self, target, settings)


class ParallelSession(RankPathSession):
    """A session that caches the trunk's rows in every head; a prediction first reads new rows."""

    def __init__(self, drafter: ParallelMTP, target: Target, settings: Settings) -> None:
        self.heads, (self.layer,) = drafter.head, drafter.capture.layers
        count, config = len(self.heads.extra_heads), self.heads.config
        super().__init__(drafter.card.name, count, target, settings)
        self.project = target.model.get_output_embeddings()
        self.remark = {"form": "heads", "heads": count, "layer": self.layer}
        shape = config.n_kv_heads, checkpoint.sizes(target.model)[0] // config.n_heads
        self.cache = head_cache(self.heads, [shape] * count)
        self.read = 0  # number of rows in the cache
        self.waiting: list[Tensor] = []

    def plan(self, newest: int, depth: int, uploads: UploadBatch) -> HeadPass:
        """Implement `RankPathSession.plan`.

        All heads run, even if `depth` is smaller, so that all caches have the same rows.
        """
        rows = torch.cat(self.waiting)
        first, new = self.read, len(rows)
        last, size = first + new, self.cache.padded_rows(new)
        self.read, self.waiting = last, []
        given = uploads.put_states(rows, size)
        positions = uploads.put(pad_front(torch.arange(first, last), size))
        seen = torch.ones(new, last, dtype=torch.bool).tril(first)
        sees = uploads.put(self.cache.pad_mask(seen, size))
        slots = self.cache.plan(first, last, size, uploads)

        def run() -> Tensor:
            mixes = [self.cache.mix(head, slots(), sees()) for head in range(self.max_depth)]
            features = self.heads.features(given()[None], positions(), mixes)
            return self.heads.logits(features[:depth, 0, -1], self.project)

        evidence = [{"head": i, "state": newest - 1} for i in range(1, depth + 1)]
        return HeadPass(run, evidence, Work(body=new, head=depth))

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""
        self.waiting.append(states.layers[self.layer])


def loss(head: ParallelHeads, outputs: TargetOutputs) -> Tensor:
    """Return the mean loss over heads; head i, from 0, predicts the token t + 2 + i."""
    return weighted(
        [future_loss(row, outputs, 2 + i) for i, row in enumerate(guesses(head, outputs))]
    )


def guesses(head: ParallelHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Return logits (B, T, V) for each depth, the input of `overlaps`."""
    trunk = outputs.states[-2]
    positions = torch.arange(trunk.shape[1], device=trunk.device)
    features = head.features(trunk, positions, repeat(causal))
    return [head.logits(row, outputs.head) for row in features]


def build(target: Target, _counts: Tensor) -> ParallelHeads:
    """Build new heads for this target; their MLPs are half as wide as those of its layers."""
    shape = target.model.config
    config = ParallelConfig(
        n_heads=shape.num_attention_heads,
        n_kv_heads=shape.num_key_value_heads,
        hidden_dim=shape.intermediate_size // 2,
        norm_eps=shape.rms_norm_eps,
        rope_theta=checkpoint.rope_theta(target.model),
        made_for=target.card.hash,
    )
    return ParallelHeads.new(config, target.model)


TRAINING: Final = Family("mtp-parallel", build, loss, guesses)
