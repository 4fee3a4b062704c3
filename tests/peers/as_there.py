"""Make our drafters compute as vLLM does where it differs, to show why guesses differ.

This is used in the comparison only, never for drafting.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from specviz.drafters.dflash.head import DFlashHead, Past, rotate
from specviz.drafters.mtp import MTPSession


@contextmanager
def as_there(drafter: str) -> Iterator[None]:
    """Make the drafter compute as in vLLM within the context. Raises KeyError for others."""
    kind, name, other = OTHERWISE[drafter]
    with patch.object(kind, name, other):
        yield


def first_norm(self: DFlashHead, states: dict[int, Tensor], positions: Tensor) -> list[Past]:
    """Replace `DFlashHead.past`: norm all keys with the first layer's weights."""
    taps = [states[k] for k in self.config.tap_layers]
    fused = self.hidden_norm(self.fc(torch.cat(taps, dim=-1)))
    parts = [layer.self_attn for layer in self._layers()]
    found = []
    for part in parts:
        keys = parts[0].k_norm(part._by_head(part.k_proj(fused)))
        values = part._by_head(part.v_proj(fused))
        found.append((rotate(keys, part.rotary(positions)), values))
    return found


STEP = MTPSession._step


def normed(self: MTPSession, step: int, rows: Tensor, tokens: Tensor, past: int) -> Tensor:
    """Replace `MTPSession._step`: read the normed output, and the second token as zeros."""
    if step > self.count:
        rows = self.modules.module(step).shared_head.norm(rows)
    plain = self.embed
    if step == 1 and self.known == 0:
        self.embed = lambda ids: _without_first(plain(ids))
    try:
        return STEP(self, step, rows, tokens, past)
    finally:
        self.embed = plain


def _without_first(words: Tensor) -> Tensor:
    words = words.clone()
    words[:, 0] = 0
    return words


OTHERWISE: dict[str, tuple[Any, str, Any]] = {
    "dflash": (DFlashHead, "past", first_norm),
    "mtp": (MTPSession, "_step", normed),
}
