"""What EAGLE's head is trained to do: guess the target's next feature (2401.15077).

Unrolling drafts without sampling: a head's guesses along a known text, several steps ahead of it.
Step s, row t: the head has the target's states up to token t and the text's own tokens up to
t + 1 + s, and speaks of token t + 2 + s. This is what a session does along a path that the text
takes, all rows at once; losses and measures are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import torch
import torch.nn.functional as functional
from torch import Tensor

from specviz.drafters.eagle.head import EagleConfig, EagleHead
from specviz.drafters.kit.layers import Unrolled
from specviz.drafters.kit.training import DEPTH, Family, TargetOutputs
from specviz.models.target import Target


def unroll(head: Any, states: Tensor, frozen: TargetOutputs, steps: int) -> Iterator[Tensor]:
    """Outputs (B, T - 1 - s, h) of steps s = 0, 1, ..., each from those before.

    states: (B, T, h), the target's, as the head takes them. Stops where the text is too short.
    """
    mix, length = Unrolled(), frozen.tokens.shape[1]
    embed = frozen.embed if head.embed_tokens is None else head.embed_tokens
    words = embed(frozen.tokens)
    for step in range(min(steps, length - 1)):
        rows = length - 1 - step
        positions = torch.arange(step, step + rows, device=words.device)
        states = head(states[:, :rows], words[:, step + 1 :], positions, mix)
        yield states


LAW_WEIGHT = 0.1  # the paper's; features come first


def loss(head: EagleHead, frozen: TargetOutputs) -> Tensor:
    """SmoothL1 to the feature f_{t+1}, and a little cross-entropy to the target's law there.

    One step from true features, as published; the paper also adds noise to the features, and this
    does not, since a loss here is a function of the batch alone.
    """
    (output,) = unroll(head, frozen.final, frozen, 1)
    feature = functional.smooth_l1_loss(output.float(), frozen.final[:, 1:].float())
    guessed = frozen.head(output).float().log_softmax(-1)
    law = -(frozen.logits[:, 1:].softmax(-1) * guessed).sum(-1).mean()
    return feature + LAW_WEIGHT * law


def guesses(head: EagleHead, frozen: TargetOutputs, depth: int) -> list[Tensor]:
    """Logits (B, T - d, V) by depth d = 1, 2, ..., for `agreement`."""
    return [frozen.head(output) for output in unroll(head, frozen.final, frozen, depth)]


def build(target: Target, _counts: Tensor) -> EagleHead:
    """A new head for this target; without a bias in fc, since vLLM reads none."""
    return EagleHead(replace(EagleConfig.like(target), bias=False))


TRAINING: Final = Family(
    "eagle", build, loss, guesses=lambda head, frozen: guesses(head, frozen, DEPTH), sampled=True
)
