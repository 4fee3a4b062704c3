"""DSpark's head (2607.05147) and its training: DFlash, a Markov head and a confidence head.

DFlash fills all positions of a block in one pass, so no guess depends on the guess before it, and
later guesses are worse. The Markov head corrects that: it adds to each position's logits a term
that depends on the token before it. It is small (two matrices of a low rank), so the guesses can be
drawn one after the other without another pass. The confidence head predicts the probability that a
guess is accepted, from what is known before the guess is drawn.

The names of the tensors are DeepSpec's. Its three kinds of Markov heads are implemented.

In training, the tokens before each guess are the text's. The loss is cross-entropy and total
variation to the target's distribution; the confidence head is trained on Σ min(p, q), which is the
probability that a sampled guess is accepted. The paper's cross-entropy is to the text's token, and
its weights are 0.1 and 0.9; with the short training of our small heads, equal weights learned
faster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DECAY, DFlashHead, random_anchors, separate_blocks
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

MARKOV_HEADS: Final = ("vanilla", "gated", "rnn")
HOUSE_RANK: Final = 64
HOUSE_BLOCK: Final = 7
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
    PUBLIC_BLOCK: ClassVar[int] = 7
    SUPPORTED: ClassVar[tuple[str, ...]] = ARCHITECTURES

    block_size: int = HOUSE_BLOCK
    markov_rank: int = HOUSE_RANK
    markov_head_type: str = "vanilla"
    enable_confidence_head: bool = True
    confidence_head_with_markov: bool = True
    own_vocabulary: bool = False

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Self:
        """Parse config.json.

        Raises:
            Unsuitable: If it is invalid or not supported.
        """
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
    def public(cls, target: Target) -> Self:
        """Return a config as large as deepseek-ai/dspark_qwen3_4b_block7."""
        return cls._reading(
            target, 5, num_hidden_layers=5, block_size=cls.PUBLIC_BLOCK, markov_rank=256
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
        self.markov_w1 = nn.Embedding(config.vocab_size, rank)
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
        return self.markov_w2(mixed), embedded, state


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

    def __init__(self, config: DSparkConfig) -> None:
        super().__init__(config)
        if config.own_vocabulary:
            self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
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


def loss(head: DSparkHead, outputs: TargetOutputs, anchors: Tensor | None = None) -> Tensor:
    """Return the weighted mean loss over the positions of blocks.

    Args:
        head: The head.
        outputs: The target's outputs.
        anchors: Positions where blocks start, (A,); random ones from torch's generator if None.
    """
    if anchors is None:
        anchors = random_anchors(outputs)
    logits, confidence = blocks(head, outputs, anchors)
    logits = logits.float()
    offsets = torch.arange(logits.shape[2], device=logits.device)
    rows = anchors[:, None] + offsets  # (A, n): rows whose target logits are the guess's
    length = outputs.tokens.shape[1]
    teacher = outputs.logits[:, rows.clamp(max=length - 1)].float().softmax(-1)
    log_q = logits.log_softmax(-1)
    entropy = -(teacher * log_q).sum(-1)
    apart = (teacher - log_q.exp()).abs().sum(-1)
    part = (entropy + apart) / 2
    if confidence is not None:
        accepted = (1 - apart.detach() / 2).clamp(0, 1)
        part = part + functional.binary_cross_entropy_with_logits(
            confidence.float(), accepted, reduction="none"
        )
    weights = (-offsets / DECAY).exp() * (rows < length)
    return (part * weights).sum() / (weights.sum() * len(logits))


def guesses(head: DSparkHead, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth, the input of `overlaps`.

    Row t is the block that starts at t + 1. The tokens before each guess are the text's.
    """
    every = torch.arange(1, outputs.tokens.shape[1], device=outputs.tokens.device)
    return list(blocks(head, outputs, every)[0].unbind(2))


def blocks(
    head: DSparkHead, outputs: TargetOutputs, anchors: Tensor
) -> tuple[Tensor, Tensor | None]:
    """Return logits and confidence logits of blocks that start at `anchors` (A,).

    Returns:
        Logits (B, A, block_size, V), given the text's own tokens, and the confidence head's logits
        (B, A, block_size), or None.
    """
    device, size = outputs.tokens.device, head.config.block_size
    length = outputs.tokens.shape[1]
    past = head.past(outputs.states, torch.arange(length, device=device))
    words = outputs.embed(head.block(outputs.tokens[:, anchors])).flatten(1, 2)
    positions = anchors[:, None] + torch.arange(size, device=device)
    rows = head(words, positions.flatten(), [separate_blocks(each, anchors) for each in past])
    rows = rows.unflatten(1, (-1, size))
    before = outputs.tokens[:, positions.clamp(max=length - 1)]  # shape (B, A, n)
    state = head.markov_head.start(rows[:, :, 0])
    corrections, embeddings = [], []
    for k in range(size):
        correction, embedded, state = head.markov_head.step(before[:, :, k], rows[:, :, k], state)
        corrections.append(correction)
        embeddings.append(embedded)
    logits = outputs.head(rows) + torch.stack(corrections, dim=2)
    if not head.config.enable_confidence_head:
        return logits, None
    # No gradient: training the prediction must not change the guesses.
    return logits, head.confidence(rows.detach(), torch.stack(embeddings, dim=2).detach())


def build(target: Target, _counts: Tensor) -> DSparkHead:
    """Build a new small head for this target."""
    return DSparkHead(DSparkConfig.house(target))


TRAINING: Final = Family("dspark", build, loss, guesses, sampled=True)
