"""DSpark's head (2607.05147): DFlash, a Markov head and a confidence head.

DFlash fills all positions of a block in one pass, so no guess depends on the guess before it, and
later guesses are worse. The Markov head corrects that: it adds to each position's logits a term
that depends on the token before it. It is small (two matrices of a low rank), so the guesses can be
drawn one after the other without another pass. The confidence head predicts the probability that a
guess is accepted, from what is known before the guess is drawn.

The names of the tensors are DeepSpec's. Its three kinds of Markov heads are implemented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import torch
from torch import Tensor, nn

from specviz.drafters.common.layers import OwnEmbedding
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DFlashHead
from specviz.drafters.eagle.head import default_taps
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

MARKOV_HEADS: Final = ("vanilla", "gated", "rnn")
HOUSE_RANK: Final = 64
HOUSE_BLOCK: Final = 7
# A head trained on answers: for SmolLM2-135M, 12.8 million parameters, 25.6 MB in bf16.
ANSWER_LAYERS: Final = 2
ANSWER_RANK: Final = 48
ARCHITECTURES: Final = ("Qwen3DSparkModel", "DSparkDraftModel")


@dataclass(frozen=True)
class DSparkConfig(DFlashConfig):
    """Config of a DSpark head. Every position of a block gives a guess, even the anchor's.

    Attributes:
        markov_rank: Width of the Markov head.
        markov_head_type: Kind of the Markov head, one of MARKOV_HEADS.
        enable_confidence_head: Whether the head predicts which guesses will be accepted.
        confidence_head_with_markov: Whether that prediction also reads the token before the guess.
        own_vocabulary: Whether it has its own embeddings and output head, as public files do;
            inferred from the names of the tensors. Otherwise it uses the target's.
    """

    architectures: ClassVar[tuple[str, ...]] = ARCHITECTURES[:1]
    implemented: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **DFlashConfig.implemented,
        "projector_type": ("dspark",),
        "sample_from_anchor": (True,),
    }
    SUPPORTED: ClassVar[tuple[str, ...]] = ARCHITECTURES

    block_size: int = HOUSE_BLOCK
    markov_rank: int = HOUSE_RANK
    markov_head_type: str = "vanilla"
    enable_confidence_head: bool = True
    confidence_head_with_markov: bool = True
    own_vocabulary: bool = False

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json."""
        # Raises Unsuitable if it is invalid or not supported.
        config = super().from_json(name, data)
        if config.markov_head_type not in MARKOV_HEADS:
            raise Unsuitable(
                f"{name!r} has a Markov head of the type {config.markov_head_type!r}; "
                f"only {', '.join(MARKOV_HEADS)} are supported."
            )
        if type(config.markov_rank) is not int or config.markov_rank < 1:
            raise Unsuitable(f"{name!r}: markov_rank must be at least 1.")
        return config

    @classmethod
    def on_answers(cls, target: Target, **changes: Any) -> Self:
        """Return a config for stored answers: their layers, as large as the target's."""
        taps = sorted({max(1, layer) for layer in default_taps(target.layers)})
        ids = tuple(layer - 1 for layer in taps)
        rank = min(ANSWER_RANK, target.model.config.hidden_size)
        return cls._reading(
            target, ids, num_hidden_layers=ANSWER_LAYERS, markov_rank=rank, **changes
        )

    def to_json(self) -> dict[str, Any]:
        """Return the contents of config.json in DeepSpec's form."""
        found = super().to_json()
        del found["own_vocabulary"]
        nested: dict[str, Any] = found.pop("dflash_config")
        return found | nested

    @property
    def confidence_width(self) -> int:
        """Width of the confidence head's input."""
        return self.hidden_size + (self.markov_rank if self.confidence_head_with_markov else 0)


class MarkovHead(nn.Module):
    """A correction of a position's logits from the token before it: W2 · W1[token].

    The type `gated` scales W1[token] by a gate computed from the position's output; the type `rnn`
    has a recurrent state along the block, which starts at zero.
    """

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__()
        rank, wide = config.markov_rank, config.hidden_size
        self.kind, self.rank = config.markov_head_type, rank
        self.markov_w1 = OwnEmbedding(config.vocab_size, rank)
        self.markov_w2 = nn.Linear(rank, config.vocab_size, bias=False)
        if self.kind == "gated":
            self.gate_proj = nn.Linear(wide + rank, rank)
        if self.kind == "rnn":
            self.joint_proj = nn.Linear(2 * rank + wide, 3 * rank)
        nn.init.zeros_(self.markov_w2.weight)  # an untrained head corrects nothing

    def start(self, rows: Tensor) -> Tensor:
        """Return the state before a block, (…, rank), given a position's output `rows`, (…, h)."""
        return rows.new_zeros(*rows.shape[:-1], self.rank)

    def step(self, tokens: Tensor, rows: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the correction (…, V), the tokens' embedding (…, rank) and the next state.

        Args:
            tokens: The tokens before the position, (…).
            rows: The position's output, (…, h).
            state: The state after the position before, (…, rank).
        """
        mixed, embedded, state = self.mix(tokens, rows, state)
        return self.markov_w2(mixed), embedded, state

    def mix(self, tokens: Tensor, rows: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return W2's input (…, rank), the embedding (…, rank) and the next state; see `step`."""
        embedded: Tensor = self.markov_w1(tokens).to(rows.dtype)
        mixed = embedded
        if self.kind == "gated":
            gate = self.gate_proj(torch.cat([rows, embedded], dim=-1)).sigmoid()
            mixed = gate * embedded
        elif self.kind == "rnn":
            joint = self.joint_proj(torch.cat([state, embedded, rows], dim=-1))
            gate, candidate, out = joint.chunk(3, dim=-1)
            state = gate.sigmoid() * state + (1 - gate.sigmoid()) * candidate.tanh()
            mixed = out.tanh()
        return mixed, embedded, state


class ConfidenceHead(nn.Module):
    """Predicts the logit of the probability that a guess is accepted, by one linear map."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.proj = nn.Linear(width, 1)

    def forward(self, rows: Tensor) -> Tensor:
        """Map (…, width) to (…)."""
        out: Tensor = self.proj(rows).squeeze(-1)
        return out


class DSparkHead(DFlashHead):
    """A DFlash head with `markov_head` and `confidence_head`, named as in DeepSpec's files."""

    family = "dspark"
    config_type = DSparkConfig
    config: DSparkConfig
    frequent: Tensor

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__(config)
        if config.own_vocabulary:
            self.embed_tokens = OwnEmbedding(config.vocab_size, config.hidden_size)
            self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.markov_head = MarkovHead(config)
        if config.enable_confidence_head:
            self.confidence_head = ConfidenceHead(config.confidence_width)

    def confidence(self, rows: Tensor, embedded: Tensor) -> Tensor:
        """Return the logits (…) of the predicted probabilities of acceptance.

        Args:
            rows: The positions' outputs, (…, h).
            embedded: The tokens before them as the Markov head embeds them, (…, rank).
        """
        if self.config.confidence_head_with_markov:
            rows = torch.cat([rows, embedded], dim=-1)
        out: Tensor = self.confidence_head(rows)
        return out
