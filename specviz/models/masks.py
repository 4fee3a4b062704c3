"""Attention masks of new rows, for models whose layers may have a sliding window.

The cache keeps the rows of all tokens in every layer, so a window is a matter of masks alone: among
the rows that a new row sees, a layer with a window attends to the newest only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from specviz.adapters.transformers import Windows, passes_masks_on, sliding_windows


@dataclass(frozen=True, slots=True)
class LayerMasks:
    """Makes a pass's masks, by kind of layer. windows: None where all layers see everything."""

    windows: Windows | None = None

    def split(self, full: Tensor | None) -> list[Tensor]:
        """The masks of a pass, to be sent to the device.

        full: additive, (1, 1, r, rows); every row sees one row for each position up to its own, in
        rising order. None, and an empty list: transformers makes the masks.
        """
        if full is None or self.windows is None:
            return [] if full is None else [full]
        if full.shape[-1] <= self.windows.rows:
            return [full]
        sliding = windowed_mask(full, self.windows.rows)
        return [full, sliding] if self.windows.by_kind else [sliding]

    def argument(self, masks: Sequence[Tensor]) -> Any:
        """What the model's forward takes as `attention_mask`."""
        if not masks:
            return None
        return self.windows.argument(masks[0], masks[-1]) if self.windows else masks[0]

    def of(self, layer: int, masks: Sequence[Tensor]) -> Tensor:
        """The mask of one layer, counted from 0."""
        slides = self.windows is not None and self.windows.sliding[layer]
        return masks[-1] if slides else masks[0]


_MADE: WeakKeyDictionary[Any, LayerMasks] = WeakKeyDictionary()


def layer_masks(model: Any) -> LayerMasks:
    """The masks of a causal LM. Its first call for a model makes a pass over two tokens."""
    if model not in _MADE:
        windows = sliding_windows(model.config)
        _MADE[model] = LayerMasks(windows if windows and passes_masks_on(model, windows) else None)
    return _MADE[model]


def max_tokens(model: Any) -> int | None:
    """The most tokens that a causal LM can see; None where its config names no limit.

    A window is no limit, unless `hard_window` says so.
    """
    text = model.config.get_text_config(decoder=True)
    limits = [getattr(text, name, None) for name in ("max_position_embeddings", "n_positions")]
    limits.append(hard_window(model))
    return min((limit for limit in limits if limit), default=None)


def hard_window(model: Any) -> int | None:
    """The window that texts must not outgrow, since its masks cannot be given to the model."""
    windows = sliding_windows(model.config)
    return windows.rows if windows and layer_masks(model).windows is None else None


def windowed_mask(full: Tensor, rows: int) -> Tensor:
    """An additive mask (1, 1, r, n) in which each row sees only the newest `rows` that it saw."""
    sees = full == 0
    age = sees.flip(-1).cumsum(-1).flip(-1)  # 1: the row itself, or the newest that it sees
    return full.masked_fill(sees & (age > rows), torch.finfo(full.dtype).min)
