"""Medusa (2401.10774): extra heads predict the tokens after the newest one from one hidden state.

The newest token x is at position n. Its hidden state is not known yet, but the state at n - 1 is,
from which the target's own head predicted x. Head i, from 0, reads that state and predicts the
token n + 1 + i. No other model is run, and no head depends on x.

In other words, head i reads the state at t and predicts the token t + 2 + i; the target's own head
predicts t + 1. Tensors are named as in FasterDecoding's `medusa_lm_head.pt`: `{i}.{j}.linear.*` for
block j of head i, and `{i}.{layers}.weight` for its output projection. TGI's layout has no output
projections: all heads use the target's. Both layouts can be read. The target is frozen in training
(Medusa-1).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from torch import Tensor, nn

from specviz.drafters.common import checkpoint
from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import PlainConfig, SizedHead
from specviz.drafters.common.config import check_sizes
from specviz.drafters.common.config_keys import DECODER
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.layers import Project, linear_at_zero, residual, side_by_side
from specviz.drafters.common.layouts import Head, any_match
from specviz.drafters.common.rank_paths import HeadPass, RankPathSession
from specviz.drafters.common.training import Family, TargetOutputs, future_loss, weighted
from specviz.models.passes import States, causal_lm_weights, matrix_weights
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch

MEDUSA_KEYS: Final = DECODER | {  # keys that change nothing, or whose effect is in the tensors
    "max_paths", "medusa_fc_bias", "num_heads", "original_lm_head", "topk", "truncated_vocab_size",
}  # fmt: skip


@dataclass(frozen=True)
class MedusaConfig(PlainConfig):
    """Contents of config.json.

    Attributes:
        medusa_num_layers: Residual blocks per head.
        made_for: SHA-256 of the target's weights; public heads do not have this key.
        hidden_size: Width of the target. vLLM needs it; FasterDecoding's heads do not have
            it.
        vocab_size: Number of tokens of the target; also for vLLM.
    """

    also: ClassVar[Collection[str]] = MEDUSA_KEYS

    medusa_num_heads: int = 4
    medusa_num_layers: int = 1
    base_model_name_or_path: str = ""
    made_for: str | None = None
    hidden_size: int | None = None
    vocab_size: int | None = None


class ResBlock(nn.Module):
    """A residual block: x + SiLU(W x + b)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = linear_at_zero(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…, h) to (…, h)."""
        return residual(self.linear, x)


class MedusaHeads(SizedHead, nn.ModuleList):
    """The heads of one target.

    Args:
        width: Width h of the target's hidden states.
        vocabulary: Number of tokens; None if the heads share the target's projection.
    """

    family = "medusa"
    config_type = MedusaConfig
    config: MedusaConfig

    def __init__(self, config: MedusaConfig, width: int, vocabulary: int | None = None) -> None:
        super().__init__()
        self.config = config
        self.own_projection = vocabulary is not None
        for _ in range(config.medusa_num_heads):
            head = nn.Sequential(*(ResBlock(width) for _ in range(config.medusa_num_layers)))
            if vocabulary is not None:
                head.append(nn.Linear(width, vocabulary, bias=False))
            self.append(head)

    def forward(self, states: Tensor, project: Project, count: int | None = None) -> Tensor:
        """Return logits (heads, …, V) of the first `count` heads (None: all) for states (…, h)."""
        return side_by_side([*self][:count], states, None if self.own_projection else project)

    def rows(self, count: int) -> int:
        """Return the work of `count` heads on one state, as a number of rows of one head."""
        return count

    @classmethod
    def like_file(cls, found: Head, config: MedusaConfig, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`."""
        # If the files contain more heads than the config says, as some public ones do, all of them
        # are loaded.
        config_heads = config.medusa_num_heads if "medusa_num_heads" in found.config else 0
        count = max(config_heads, checkpoint.count_numbered(found.tensors))
        config = replace(config, medusa_num_heads=count)
        width, vocabulary = checkpoint.sizes(target.model)
        own = any_match(rf"\d+\.{config.medusa_num_layers}\.weight$", found.tensors)
        _check_fit(found, config, target)
        return cls(config, width, vocabulary if own else None)

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors, with vLLM's keys."""
        kind = {"model_type": "medusa", "architectures": ["MedusaModel"]}
        flags = {"medusa_fc_bias": True, "original_lm_head": not self.own_projection}
        config = {k: value for k, value in self.config.to_json().items() if value is not None}
        checkpoint.write(folder, {**kind, **flags, **config}, self)


def _check_fit(found: Head, config: MedusaConfig, target: Target) -> None:
    block = found.tensors.get("0.0.linear.weight")
    last = found.tensors.get(f"0.{config.medusa_num_layers}.weight")
    if block is not None and block.dim() == 2:
        check_sizes(found.name, block.shape[1], 0 if last is None else len(last), target)


class Medusa(HeadDrafter):
    """The drafter of Medusa's heads, in eval mode, trained for one target."""

    name = "medusa"
    network = MedusaHeads
    head: MedusaHeads

    def session(self, target: Target, settings: Settings) -> RankPathSession:
        """Implement `HeadDrafter.session`."""
        return NewestStateSession(self, len(self.head), target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # One head is counted, since all are alike, with its output projection if it has one.
        borrowed = 0 if self.head.own_projection else causal_lm_weights(target.model).head
        return Weights(matrix_weights(self.head) // len(self.head), borrowed)


class NewestStateSession(RankPathSession):
    """A session that predicts from the state that predicted the newest token.

    The drafter's head maps a state (h,), a projection and a number of heads to logits (heads, V);
    the first head predicts two tokens ahead. Its `rows` counts the rows of such a call.
    """

    def __init__(
        self, drafter: HeadDrafter, count: int, target: Target, settings: Settings
    ) -> None:
        super().__init__(drafter.card.name, count, target, settings)
        self.heads, self.cache = drafter.head, head_cache(drafter.head, ())
        self.project = target.model.get_output_embeddings()
        self.remark: dict[str, Any] = {"form": "heads", "heads": count}
        self.state: Tensor

    def plan(self, newest: int, depth: int, uploads: UploadBatch) -> HeadPass:
        """Implement `RankPathSession.plan`.

        Recorded for each guess: the head, from 1, and the position of the state that it read.
        """
        state = uploads.put_states(self.state, 1)
        work = Work(body=self.heads.rows(depth), head=depth)
        return HeadPass(
            lambda: self.heads(state()[0], self.project, depth),
            [{"head": i, "state": newest - 1} for i in range(1, depth + 1)],
            work,
        )

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""
        assert states.final is not None
        self.state = states.final[-1:]


DECAY: Final = 0.8  # the paper's λ: later guesses are reached rarely


def loss(head: MedusaHeads, outputs: TargetOutputs) -> Tensor:
    """Return the weighted mean loss over heads; head i, from 0, predicts the token t + 2 + i."""
    parts = [future_loss(row, outputs, 2 + i) for i, row in enumerate(guesses(head, outputs))]
    return weighted(parts, DECAY)


def guesses(head: MedusaHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Return logits (B, T, V) for each depth, the input of `overlaps`."""
    return list(head(outputs.final, outputs.head))


def build(target: Target, _counts: Tensor) -> MedusaHeads:
    """Build new heads for this target."""
    width, vocabulary = checkpoint.sizes(target.model)
    config = MedusaConfig(
        base_model_name_or_path=target.card.name,
        made_for=target.card.hash,
        hidden_size=width,
        vocab_size=vocabulary,
    )
    return MedusaHeads.new(config, target.model)


TRAINING: Final = Family("medusa", build, loss, guesses)
