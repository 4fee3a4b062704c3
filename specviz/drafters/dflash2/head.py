"""DFlash2's head and its training: a DFlash head with convolutions and a candidate selector.

In DFlash, attention alone connects the positions of a block, and no guess depends on another.
DFlash2 (z-lab; https://inco.ai/blog/dflash2) adds two small parts. A convolution before and after
each attention and MLP adds to a row a multiple of the row before it, so neighbours exchange what
they computed. The selector then chooses among the most probable tokens of each position: its score
of token b after token a is the logit of b plus ⟨A(a) · H(h), B(b)⟩, where h is the position's
output.

The names of the tensors are z-lab's. The public code has no training; as in speculators', the
selector is trained on its candidates, with the text's own token before each guess. Both parts of
the loss compare with the target's distribution, as for our other heads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from specviz.drafters.common.layers import Layer, Mix, SplitAttention
from specviz.drafters.common.training import Family, TargetOutputs
from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import (
    DFlashHead,
    block_targets,
    blocks,
    random_anchors,
    start_from_dflash,
)
from specviz.drafters.dspark.training import guess_losses
from specviz.models.errors import Unsuitable
from specviz.models.target import Target

HOUSE_RANK: Final = 48
COUNTS: Final = ("conv_kernel_size", "conv_group_size", "selector_rank", "selector_top_k")


@dataclass(frozen=True)
class DFlash2Config(DFlashConfig):
    """Config of a DFlash2 head.

    Attributes:
        conv_kernel_size: Rows that a convolution reads: a row and those before it.
        conv_group_size: Channels that share one predicted kernel.
        selector_top_k: Candidates per position.
    """

    architectures: ClassVar[tuple[str, ...]] = ("DFlash2DraftModel",)
    implemented: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        **DFlashConfig.implemented,
        "projector_type": ("dflash2",),
    }
    SUPPORTED: ClassVar[tuple[str, ...]] = architectures
    nested: ClassVar[tuple[str, ...]] = (*DFlashConfig.nested, *COUNTS)

    conv_kernel_size: int = 2
    conv_group_size: int = 16
    selector_rank: int = HOUSE_RANK
    selector_top_k: int = 16

    def _check(self, name: str) -> None:
        super()._check(name)
        for key in COUNTS:
            value = getattr(self, key)
            if type(value) is not int or value < 1:
                raise Unsuitable(f"{name!r}: {key} must be at least 1, not {value!r}.")
        if self.hidden_size % self.conv_group_size or self.conv_kernel_size > self.block_size:
            raise Unsuitable(f"{name!r}: its convolutions do not fit its layers.")
        if self.selector_top_k > self.vocab_size:
            raise Unsuitable(f"{name!r} selects from more candidates than there are tokens.")


class BlockConvolution(nn.Module):
    """Convolutions along a block, before and after a part of a layer.

    A row's kernel is a learned one plus a part that is predicted from the row itself, the same for
    all channels of a group. Rows before the block count as zeros.
    """

    def __init__(self, config: DFlash2Config) -> None:
        super().__init__()
        taps, wide = config.conv_kernel_size, config.hidden_size
        self.block, self.group = config.block_size, config.conv_group_size
        self.taps, groups = taps, wide // config.conv_group_size
        self.base_kernel = nn.Parameter(torch.zeros(2, taps, wide))
        self.kernel_projection = nn.Linear(wide, 2 * taps * groups, bias=False)
        with torch.no_grad():  # an untrained convolution changes nothing
            self.base_kernel[:, 0] = 1.0
            self.kernel_projection.weight.zero_()

    def forward(self, rows: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the convolved output of `part`, given the convolved rows (B, n, h) of blocks."""
        predicted = self.kernel_projection(rows).unflatten(-1, (2, self.taps, -1))
        kernels = self.base_kernel + predicted.repeat_interleave(self.group, dim=-1)
        before, after = kernels.unbind(2)
        return self._convolve(part(self._convolve(rows, before)), after)

    def _convolve(self, rows: Tensor, kernels: Tensor) -> Tensor:
        # kernels (B, n, taps, h), rows (B, n, h)
        padded = functional.pad(rows.unflatten(1, (-1, self.block)), (0, 0, self.taps - 1, 0))
        windows = padded.unfold(2, self.taps, 1).flip(-1).flatten(1, 2)  # (B, n, h, taps)
        out: Tensor = (windows * kernels.mT).sum(-1)
        return out


class ConvolvedLayer(Layer):
    """A layer of DFlash with convolutions around its attention and its MLP."""

    def __init__(self, shape: DFlash2Config) -> None:
        super().__init__(shape, SplitAttention)
        self.attention_conv = BlockConvolution(shape)
        self.mlp_conv = BlockConvolution(shape)

    def forward(self, rows: Tensor, positions: Tensor, mix: Mix) -> Tensor:
        """Map (B, n, h) to (B, n, h); the rows are whole blocks."""
        rows = rows + self.attention_conv(
            self.input_layernorm(rows), lambda given: self.self_attn(given, positions, mix)
        )
        out: Tensor = rows + self.mlp_conv(self.post_attention_layernorm(rows), self.mlp)
        return out


class CandidateSelector(nn.Module):
    """Scores the candidates of a position, given the token before it."""

    def __init__(self, config: DFlash2Config) -> None:
        super().__init__()
        self.top_k = config.selector_top_k
        shape = (config.vocab_size, config.selector_rank)
        self.predecessor_codebook = nn.Parameter(torch.randn(shape))
        self.successor_codebook = nn.Parameter(torch.zeros(shape))  # at first, nothing is added
        self.hidden_projection = nn.Linear(config.hidden_size, config.selector_rank, bias=False)

    def candidates(self, logits: Tensor) -> Tensor:
        """Return the most probable tokens (…, k) of logits (…, V), in descending order."""
        return logits.topk(min(self.top_k, logits.shape[-1]), dim=-1).indices

    def added(self, before: Tensor, rows: Tensor, candidates: Tensor) -> Tensor:
        """Return what is added to the logits of the candidates, (…, k).

        Args:
            before: The token before each position, (…).
            rows: The positions' outputs, (…, h).
            candidates: Their candidates, (…, k).
        """
        last = len(self.predecessor_codebook) - 1  # see OwnEmbedding
        known = self.predecessor_codebook[before.clamp(max=last)] * self.hidden_projection(rows)
        successors = self.successor_codebook[candidates.clamp(max=last)]
        added: Tensor = successors @ known[..., None]
        return added[..., 0]


class DFlash2Head(DFlashHead):
    """A DFlash head with convolutions and `candidate_selector`, named as in z-lab's files."""

    family = "dflash2"
    config_type = DFlash2Config
    config: DFlash2Config

    def __init__(self, config: DFlash2Config) -> None:
        super().__init__(config)
        self.candidate_selector = CandidateSelector(config)

    def new_layer(self, shape: DFlash2Config) -> Layer:
        """Implement `DFlashHead.new_layer`."""
        return ConvolvedLayer(shape)


def loss(head: DFlash2Head, outputs: TargetOutputs, anchors: Tensor | None = None) -> Tensor:
    """Return the weighted mean loss over the positions of blocks.

    The layers' part is the cross-entropy of all logits to the target's distribution. The selector's
    part compares its choice with the target's distribution over the candidates; it counts as much
    as the target's probability of all candidates together. anchors: positions where blocks start,
    (A,); random ones from torch's generator if None.
    """
    if anchors is None:
        anchors = random_anchors(outputs)
    logits, candidates, added = selected(head, outputs, anchors)
    teacher, weights = block_targets(outputs, anchors, logits.shape[2])
    p, log_q = teacher.float().softmax(-1), logits.float().log_softmax(-1)
    choice = guess_losses(
        teacher.gather(-1, candidates), logits.gather(-1, candidates) + added, None
    )
    part = -(p * log_q).sum(-1) + choice * p.gather(-1, candidates).sum(-1)
    return (part * weights).sum() / (weights.sum() * len(logits))


def guesses(head: DFlash2Head, outputs: TargetOutputs) -> list[Tensor]:
    """Return logits (B, T - 1, V) for each depth; row t is the block at t + 1, given the text."""
    every = torch.arange(1, outputs.tokens.shape[1], device=outputs.tokens.device)
    logits, candidates, added = selected(head, outputs, every)
    chosen = torch.full_like(logits, -torch.inf)
    chosen.scatter_(-1, candidates, logits.gather(-1, candidates) + added)
    return list(chosen.unbind(2))


def selected(
    head: DFlash2Head, outputs: TargetOutputs, anchors: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logits (B, A, n, V) of blocks, their candidates (B, A, n, k), and what is added.

    The tokens before each guess are the text's. See `blocks` and `CandidateSelector.added`.
    """
    rows = blocks(head, outputs, anchors)
    logits, length = outputs.head(rows), outputs.tokens.shape[1]
    positions = anchors[:, None] + torch.arange(rows.shape[2], device=anchors.device)
    before = outputs.tokens[:, positions.clamp(max=length - 1)]
    candidates = head.candidate_selector.candidates(logits.detach())
    return logits, candidates, head.candidate_selector.added(before, rows, candidates)


def build(target: Target, _counts: Tensor) -> DFlash2Head:
    """Build a small head for this target, which starts as a DFlash head."""
    head = DFlash2Head(DFlash2Config.house(target))
    start_from_dflash(head, target)
    return head


TRAINING: Final = Family("dflash2", build, loss, guesses, sampled=True)
