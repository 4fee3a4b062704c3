"""What DFlash's drafter is trained to do on a frozen target (2602.06036, section 4).

Blocks begin at random tokens of the text and are filled side by side, as a session fills one.
Every place learns the target's law there, given the text up to it (see future_loss.py); the first
places count most, since a wrong guess ends what can be kept.
"""

from __future__ import annotations

from typing import Final

import torch
import torch.nn.functional as functional
from torch import Tensor

from specviz.drafters.dflash.config import DFlashConfig
from specviz.drafters.dflash.head import DFlashHead
from specviz.drafters.dflash.layer import many_blocks
from specviz.drafters.kit.training import Family, TargetOutputs
from specviz.models.target import Target

ANCHORS: Final = 64  # blocks a text, at most; the paper takes 512 of longer texts
FADE: Final = (
    4.0  # place k counts exp(-(k - 1) / FADE), equation 4; the public value for blocks of 8
)


def loss(head: DFlashHead, outputs: TargetOutputs, anchors: Tensor | None = None) -> Tensor:
    """The weighted mean over the places of blocks that the text has.

    anchors: (A,) places of the text; drawn from torch's generator where None.
    """
    if anchors is None:
        anchors = some_anchors(outputs)
    logits = blocks(head, outputs, anchors).float()
    places = torch.arange(logits.shape[2], device=logits.device)
    rows = anchors[:, None] + places  # (A, n - 1): the target's logits there are of the next token
    length = outputs.tokens.shape[1]
    teacher = outputs.logits[:, rows.clamp(max=length - 1)].float().softmax(-1)
    missed = functional.cross_entropy(logits.flatten(0, 2), teacher.flatten(0, 2), reduction="none")
    weights = (-places / FADE).exp() * (rows < length)
    return (missed.view_as(logits[..., 0]) * weights).sum() / (weights.sum() * len(logits))


def guesses(head: DFlashHead, outputs: TargetOutputs) -> list[Tensor]:
    """Logits (B, T - 1, V) by depth, as in agreement.py: row t has the block begun at t + 1."""
    length = outputs.tokens.shape[1]
    every = torch.arange(1, length, device=outputs.tokens.device)
    return list(blocks(head, outputs, every).unbind(2))


def some_anchors(outputs: TargetOutputs) -> Tensor:
    """Different places of the text, rising; the first token has no state before it to read."""
    length = outputs.tokens.shape[1]
    drawn = torch.randperm(length - 1)[:ANCHORS].sort().values + 1
    return drawn.to(outputs.tokens.device)


def blocks(head: DFlashHead, outputs: TargetOutputs, anchors: Tensor) -> Tensor:
    """Logits (B, A, block_size - 1, V) of the masks of blocks that begin at `anchors` (A,)."""
    device, size = outputs.tokens.device, head.config.block_size
    past = head.past(outputs.states, torch.arange(outputs.tokens.shape[1], device=device))
    words = outputs.embed(head.block(outputs.tokens[:, anchors])).flatten(1, 2)
    positions = (anchors[:, None] + torch.arange(size, device=device)).flatten()
    rows = head(words, positions, [many_blocks(each, anchors) for each in past])
    return outputs.head(rows.unflatten(1, (-1, size))[:, :, 1:])


def build(target: Target, _counts: Tensor) -> DFlashHead:
    """A new head of the house size for this target."""
    return DFlashHead(DFlashConfig.house(target))


TRAINING: Final = Family("dflash", build, loss, guesses)
