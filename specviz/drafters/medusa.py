"""Medusa: extra heads on the state that predicted the newest token guess the tokens after it.

The newest token x stands at n; its own state is not known yet, that of n - 1 is. The target's own
head made x of it, so head i, from 0, is read for the token n + 1 + i: no pass of any model, and no
head knows that x was drawn (2401.10774).

Head i reads the state at t and guesses token t + 2 + i; the target's own head has t + 1. Tensors
are named as in FasterDecoding's `medusa_lm_head.pt`: `{i}.{j}.linear.*`, block j of head i, and
`{i}.{layers}.weight`, its output projection. TGI's layout leaves the latter out: all heads end in
the target's projection. Both are read here. Trained on a frozen target (Medusa-1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from torch import Tensor, nn

from specviz.drafters.kit import checkpoint
from specviz.drafters.kit.base import HeadDrafter
from specviz.drafters.kit.config import check_sizes
from specviz.drafters.kit.layers import Project, linear_at_zero, residual, side_by_side
from specviz.drafters.kit.layouts.layout import Head, any_is
from specviz.drafters.kit.layouts.table import read_head
from specviz.drafters.kit.rank_paths import Ahead, RankPathSession
from specviz.drafters.kit.training import Family, TargetOutputs, future_loss, weighted
from specviz.models.passes import States
from specviz.models.target import Target, TargetRun
from specviz.models.weights import causal, matrices
from specviz.settings.settings import Settings
from specviz.trace.work import Weights, Work


@dataclass(frozen=True)
class MedusaConfig:
    """config.json. made_for: SHA-256 of the one target's weights; public heads do not say it.

    hidden_size, vocab_size: the target's, which FasterDecoding's heads do not say; vLLM asks.
    """

    medusa_num_heads: int = 4
    medusa_num_layers: int = 1
    base_model_name_or_path: str = ""
    made_for: str | None = None
    hidden_size: int | None = None
    vocab_size: int | None = None

    def to_json(self, shared: bool) -> dict[str, Any]:
        """For config.json, with vLLM's keys. shared: all heads end in the target's projection."""
        kind = {"model_type": "medusa", "architectures": ["MedusaModel"]}
        said = {key: value for key, value in asdict(self).items() if value is not None}
        return kind | {"medusa_fc_bias": True, "original_lm_head": shared} | said


class ResBlock(nn.Module):
    """x + SiLU(W x + b)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = linear_at_zero(width)

    def forward(self, x: Tensor) -> Tensor:
        """(…, h) to (…, h)."""
        return residual(self.linear, x)


class MedusaHeads(nn.ModuleList):
    """The heads of one target. vocabulary: None where they share the target's projection."""

    def __init__(self, config: MedusaConfig, width: int, vocabulary: int | None) -> None:
        super().__init__()
        self.config = config
        self.own = vocabulary is not None
        for _ in range(config.medusa_num_heads):
            head = nn.Sequential(*(ResBlock(width) for _ in range(config.medusa_num_layers)))
            if vocabulary is not None:
                head.append(nn.Linear(width, vocabulary, bias=False))
            self.append(head)

    def forward(self, states: Tensor, project: Project, many: int | None = None) -> Tensor:
        """Logits of the first `many` heads, or all: (…, h) to (heads, …, V)."""
        return side_by_side([*self][:many], states, None if self.own else project)

    def rows(self, many: int) -> int:
        """How many rows of one head `many` of them read of one state."""
        return many

    @classmethod
    def new(cls, config: MedusaConfig, model: Any) -> Self:
        """Untrained heads for a causal LM, ending in its projection."""
        return cls(config, checkpoint.sizes(model)[0], None)

    @classmethod
    def load(cls, folder: Path, target: Target) -> Self:
        """The heads in `folder` for this target, frozen. Raises NotAvailable, Unsuitable.

        Some public configs say too few heads: then the file says how many there are.
        """
        found = read_head(folder, "medusa")
        config = checkpoint.parsed(found.name, found.config, MedusaConfig)
        said = config.medusa_num_heads if "medusa_num_heads" in found.config else 0
        many = max(said, checkpoint.numbered(found.tensors))
        config = replace(config, medusa_num_heads=many)
        width, vocabulary = checkpoint.sizes(target.model)
        own = any_is(rf"\d+\.{config.medusa_num_layers}\.weight$", found.tensors)
        _check_fit(found, config, target)
        heads = cls(config, width, vocabulary if own else None)
        checkpoint.restore(found.name, heads, found.tensors, target.model)
        return heads

    def save(self, folder: Path) -> None:
        """Write config.json and model.safetensors."""
        checkpoint.write(folder, self.config.to_json(shared=not self.own), self)


def _check_fit(found: Head, config: MedusaConfig, target: Target) -> None:
    """Raise Unsuitable where the first head has another width or more tokens than the target."""
    block = found.tensors.get("0.0.linear.weight")
    last = found.tensors.get(f"0.{config.medusa_num_layers}.weight")
    if block is not None and block.dim() == 2:
        check_sizes(found.name, block.shape[1], 0 if last is None else len(last), target)


class Medusa(HeadDrafter):
    """Heads in eval mode, trained on the one target."""

    name = "medusa"
    network = MedusaHeads
    head: MedusaHeads

    def begin(self, target: TargetRun, settings: Settings) -> RankPathSession:
        """See `Drafter`."""
        project = target.target.model.get_output_embeddings()
        reader = NewestState(self.head, len(self.head), project, self.card.name)
        return RankPathSession(reader, target.target.eos, settings)

    def weights(self, target: Target) -> Weights:
        """See `Drafter`. One of the heads, all alike; an output head of its own is part of it."""
        borrowed = 0 if self.head.own else causal(target.model).head
        return Weights(matrices(self.head) // len(self.head), borrowed)


class NewestState:
    """Keeps one row: the state that predicted the newest token. Blockwise heads read it too."""

    def __init__(self, heads: Any, most: int, project: Project, name: str) -> None:
        """heads: (h,) states and a projection to (heads, V); the first guesses two ahead. It says
        how many rows a call of so many heads is.
        """
        self.heads = heads
        self.most = most
        self.project = project
        self.name = name
        self.remark: dict[str, Any] = {"form": "heads", "heads": most}
        self.state: Tensor

    def ahead(self, newest: int, depth: int) -> Ahead:
        """See `Heads`. Evidence: the head, from 1, and the place in the text of what it read."""
        logits = self.heads(self.state, self.project, depth)
        work = Work(body=self.heads.rows(depth), head=len(logits))
        return Ahead(logits, [{"head": i, "state": newest - 1} for i in range(1, depth + 1)], work)

    def commit(self, states: States) -> None:
        """See `Heads`."""
        assert states.final is not None
        self.state = states.final[-1]


FALLING: Final = 0.8  # the paper's λ: far guesses are rarely reached


def loss(head: MedusaHeads, outputs: TargetOutputs) -> Tensor:
    """The weighted mean over heads; head i, from 0, guesses t + 2 + i."""
    parts = [future_loss(row, outputs, 2 + i) for i, row in enumerate(guesses(head, outputs))]
    return weighted(parts, FALLING)


def guesses(head: MedusaHeads, outputs: TargetOutputs) -> Sequence[Tensor]:
    """Logits by depth, as in agreement.py."""
    return list(head(outputs.final, outputs.head))


def build(target: Target, _counts: Tensor) -> MedusaHeads:
    """New heads for this target."""
    width, vocabulary = checkpoint.sizes(target.model)
    config = MedusaConfig(
        base_model_name_or_path=target.card.name,
        made_for=target.card.hash,
        hidden_size=width,
        vocab_size=vocabulary,
    )
    return MedusaHeads.new(config, target.model)


TRAINING: Final = Family("medusa", build, loss, guesses)
