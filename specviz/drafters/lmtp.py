"""L-MTP (2505.17505): heads that skip positions; earlier hidden states fill the gaps.

The leap k is the distance between the positions that two heads predict. Head m, from 1, reads the
state at position t and predicts the token t + k m + 1 (with k = 2: t + 3, t + 5, …; the target's
own head predicts t + 1). If the newest token is at n, the token n + j comes from head m = ⌈j / k⌉
on the state at n - 1 - (k m - j): with k = 2, from the newest state if j is even and from the one
before if j is odd.

The network is Medusa's with other tensor names: `heads.{i}.resblock.{j}.l_proj.*` and
`heads.{i}.lm_head.weight`. Without `lm_head`, all heads use the target's projection. The target is
frozen in training, as in the first stage of the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

import torch
from torch import Tensor, cat, nn

from specviz.drafters.common import checkpoint
from specviz.drafters.common.base import HeadDrafter
from specviz.drafters.common.checkpoint import PlainConfig, SizedHead
from specviz.drafters.common.config_keys import DECODER
from specviz.drafters.common.head_cache import head_cache
from specviz.drafters.common.layers import Project, linear_at_zero, residual, side_by_side
from specviz.drafters.common.layouts import Head
from specviz.drafters.common.rank_paths import HeadPass, RankPathSession
from specviz.drafters.common.training import Family, TargetOutputs, future_loss, weighted
from specviz.models.passes import States, causal_lm_weights, matrix_weights
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work
from specviz.verification.transfer import UploadBatch


@dataclass(frozen=True)
class LeapConfig(PlainConfig):
    """Contents of config.json.

    The public code sets skip_token to 3, but reads only one earlier state, as a leap of 2 does.

    Attributes:
        head_num_layers: Residual blocks per head.
        skip_token: The leap k.
        head_type: Type of the heads.
        made_for: SHA-256 of the target's weights.
    """

    also: ClassVar[Collection[str]] = DECODER

    n_head: int = 3
    head_num_layers: int = 1
    skip_token: int = 2
    head_type: str = "lmtp"
    model_name: str = ""
    made_for: str | None = None


class LeapBlock(nn.Module):
    """A residual block: x + SiLU(W x + b)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.l_proj = linear_at_zero(width)

    def forward(self, x: Tensor) -> Tensor:
        """Map (…, h) to (…, h)."""
        return residual(self.l_proj, x)


class LeapHead(nn.Module):
    """Residual blocks and, unless the target's is shared, a projection."""

    def __init__(self, layers: int, width: int, vocabulary: int | None) -> None:
        super().__init__()
        self.resblock = nn.Sequential(*(LeapBlock(width) for _ in range(layers)))
        self.lm_head = None if vocabulary is None else nn.Linear(width, vocabulary, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Map (…, h) to (…, V), or to (…, h) for the target's projection."""
        out: Tensor = self.resblock(states)
        return out if self.lm_head is None else self.lm_head(out)


class LeapHeads(SizedHead):
    """The heads of one target.

    Args:
        width: Width h of the target's hidden states.
        vocabulary: Number of tokens; None if the heads share the target's projection.
    """

    family = "lmtp"
    config_type = LeapConfig
    config: LeapConfig

    def __init__(self, config: LeapConfig, width: int, vocabulary: int | None = None) -> None:
        super().__init__()
        self.config = config
        self.own_projection = vocabulary is not None
        layers = config.head_num_layers
        self.heads = nn.ModuleList(
            LeapHead(layers, width, vocabulary) for _ in range(config.n_head)
        )

    def forward(self, states: Tensor, project: Project, count: int | None = None) -> Tensor:
        """Return logits (heads, …, V) of the first `count` heads (None: all) for states (…, h)."""
        return side_by_side([*self.heads][:count], states, None if self.own_projection else project)

    @classmethod
    def like_file(cls, found: Head, config: LeapConfig, target: Target) -> Self:
        """Implement `HeadNetwork.like_file`."""
        config = replace(config, n_head=checkpoint.count_numbered(found.tensors, "heads."))
        width, vocabulary = checkpoint.sizes(target.model)
        own = "heads.0.lm_head.weight" in found.tensors
        return cls(config, width, vocabulary if own else None)


class LeapMTP(HeadDrafter):
    """The drafter of leaping heads, in eval mode, trained for one target."""

    name = "lmtp"
    network = LeapHeads
    head: LeapHeads

    def session(self, target: Target, settings: Settings) -> RankPathSession:
        """Implement `HeadDrafter.session`."""
        return LeapSession(self, target, settings)

    def weights(self, target: Target) -> Weights:
        """Implement `Drafter.weights`."""
        # One head is counted, since all are alike, with its output projection if it has one.
        borrowed = 0 if self.head.own_projection else causal_lm_weights(target.model).head
        return Weights(matrix_weights(self.head) // len(self.head.heads), borrowed)


class LeapSession(RankPathSession):
    """A session that predicts from the k newest states; the last predicted the newest token."""

    def __init__(self, drafter: LeapMTP, target: Target, settings: Settings) -> None:
        self.heads, self.leap = drafter.head, drafter.head.config.skip_token
        count = len(self.heads.heads)
        super().__init__(drafter.card.name, self.leap * count, target, settings)
        self.cache = head_cache(self.heads, ())
        self.project = target.model.get_output_embeddings()
        self.remark = {"form": "leaps", "heads": count, "leap": self.leap}
        self.states: Tensor | None = None

    def plan(self, newest: int, depth: int, uploads: UploadBatch) -> HeadPass:
        """Implement `RankPathSession.plan`.

        There are no guesses while fewer than k states are known. Recorded for each guess: the head,
        from 1, the position of the state that it read, and this state's distance from the newest
        one (`back`).
        """
        assert self.states is not None
        guesses = [source(j, self.leap) for j in range(1, depth + 1)]
        if len(self.states) < self.leap:
            none = self.states[:0]
            return HeadPass(lambda: none, [], Work())
        heads, states = guesses[-1][0], uploads.put_states(self.states, self.leap)

        def run() -> Tensor:
            logits = self.heads(states(), self.project, heads)  # shape (heads, k, V)
            return torch.stack([logits[m - 1, -1 - back] for m, back in guesses])

        rows = heads * self.leap
        return HeadPass(
            run,
            [{"head": m, "state": newest - 1 - back, "back": back} for m, back in guesses],
            Work(body=rows, head=rows),
        )

    def add_states(self, states: States, tokens: Sequence[int]) -> None:
        """Implement `StateReader.add_states`."""
        assert states.final is not None
        rows = states.final if self.states is None else cat([self.states, states.final])
        self.states = rows[-self.leap :]


def source(j: int, leap: int) -> tuple[int, int]:
    """Return the head, from 1, that predicts new token j, and how far back its state is."""
    head = -(-j // leap)
    return head, leap * head - j


def loss(head: LeapHeads, outputs: TargetOutputs) -> Tensor:
    """Return the mean loss over heads; head m, from 1, predicts the token t + k m + 1."""
    leap = head.config.skip_token
    logits = head(outputs.final, outputs.head)
    return weighted([future_loss(row, outputs, leap * m + 1) for m, row in enumerate(logits, 1)])


def guesses(head: LeapHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Return logits (B, T, V) for each depth; zero, a wrong guess, where a state is missing."""
    leap = head.config.skip_token
    logits = head(outputs.final, outputs.head)
    found = []
    for j in range(1, leap * len(logits) + 1):
        m, back = source(j, leap)
        row = logits[m - 1]
        found.append(torch.cat([torch.zeros_like(row[:, :back]), row[:, : row.shape[1] - back]], 1))
    return found


def build(target: Target, _counts: Tensor) -> LeapHeads:
    """Build new heads for this target."""
    config = LeapConfig(model_name=target.card.name, made_for=target.card.hash)
    return LeapHeads.new(config, target.model)


TRAINING: Final = Family("lmtp", build, loss, guesses)
