"""Make our drafters compute as vLLM does where it differs, to show why guesses differ.

This is used in the comparison only, never for drafting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from torch import Tensor

from specviz.drafters.common.layers import Past, rotate
from specviz.drafters.common.proposal_builder import Level
from specviz.drafters.common.session import LevelPass
from specviz.drafters.dflash.head import DFlashHead
from specviz.drafters.mtp import MTPSession
from specviz.verification.transfer import UploadBatch


@contextmanager
def as_there(drafter: str) -> Iterator[None]:
    """Make the drafter compute as in vLLM within the context. Raises KeyError for others."""
    kind, name, other = OTHERWISE[drafter]
    with patch.object(kind, name, other):
        yield


def first_norm(self: DFlashHead, joined: Tensor, positions: Tensor) -> list[Past]:
    """Replace `DFlashHead.past_of`: norm all keys with the first layer's weights."""
    fused = self.hidden_norm(self.fc(joined))
    parts = [layer.self_attn for layer in self._layers()]
    found = []
    for part in parts:
        keys = parts[0].k_norm(part._by_head(part.k_proj(fused)))
        values = part._by_head(part.v_proj(fused))
        found.append((rotate(keys, part.rotary(positions)), values))
    return found


PLAN = MTPSession.plan_level


def normed(
    self: MTPSession, context: Sequence[int], level: Level, uploads: UploadBatch
) -> LevelPass:
    """Replace `MTPSession.plan_level`: read the normed output, and the second token as zeros."""
    step, known = level.nodes[0] + 1, self.known
    module, reading = self.modules.module(step), PLAN(self, context, level, uploads)
    join = module.join

    def joined(rows: Tensor, tokens: Tensor, embed: Callable[[Tensor], Tensor]) -> Tensor:
        words = embed(tokens)
        if step == 1 and known == 0:
            words = _without_first(words)
        rows = module.shared_head.norm(rows) if step > self.count else rows
        return join(rows, tokens, lambda _: words)

    def read(words: Tensor) -> Tensor:
        with patch.object(module, "join", joined):
            return reading(words)

    return read


def _without_first(words: Tensor) -> Tensor:
    words = words.clone()
    words[:, 0] = 0
    return words


OTHERWISE: dict[str, tuple[Any, str, Any]] = {
    "dflash": (DFlashHead, "past_of", first_norm),
    "mtp": (MTPSession, "plan_level", normed),
}
