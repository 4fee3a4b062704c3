"""Drafting without sampling: a head's guesses along a known text, several steps ahead of it.

Step s, row t: the head has the target's states up to token t and the text's own tokens up to
t + 1 + s, and speaks of token t + 2 + s. This is what a session does along a path that the text
takes, all rows at once; losses and measures are made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from specviz.heads.eagle_layer import Unrolled
from specviz.heads.frozen import Frozen


def unroll(head: Any, states: Tensor, frozen: Frozen, steps: int) -> Iterator[Tensor]:
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
