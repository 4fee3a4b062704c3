"""Attention masks of new rows, for models whose layers may have a sliding window.

Every layer caches the rows of all tokens, so a window is implemented by the mask alone: of the rows
that a new row would see, a windowed layer attends to the newest only.
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
    """Builds the masks of a pass, one for each kind of layer.

    Attributes:
        windows: Which layers have a window. None if all layers see everything.
    """

    windows: Windows | None = None

    def split(self, full: Tensor | None) -> list[Tensor]:
        """Return the masks of a pass, on the host.

        Args:
            full: Additive mask, (1, 1, r, rows), in which every row sees exactly one row per
                position up to its own, in ascending order. None: transformers builds the masks.

        Returns:
            The mask of each kind of layer; empty if `full` is None.
        """
        if full is None or self.windows is None:
            return [] if full is None else [full]
        if full.shape[-1] <= self.windows.rows:
            return [full]
        sliding = windowed_mask(full, self.windows.rows)
        return [full, sliding] if self.windows.by_kind else [sliding]

    def argument(self, masks: Sequence[Tensor]) -> Any:
        """Return the value of the forward's `attention_mask`."""
        if not masks:
            return None
        return self.windows.argument(masks[0], masks[-1]) if self.windows else masks[0]

    def of(self, layer: int, masks: Sequence[Tensor]) -> Tensor:
        """Return the mask of one layer, counted from 0."""
        slides = self.windows is not None and self.windows.sliding[layer]
        return masks[-1] if slides else masks[0]


_MASKS: WeakKeyDictionary[Any, LayerMasks] = WeakKeyDictionary()


def layer_masks(model: Any) -> LayerMasks:
    """Return the mask builder of a causal LM.

    The first call for a model runs a pass over two tokens.
    """
    if model not in _MASKS:
        windows = sliding_windows(model.config)
        _MASKS[model] = LayerMasks(windows if windows and passes_masks_on(model, windows) else None)
    return _MASKS[model]


def context_length(model: Any) -> int | None:
    """Return the context length of a causal LM in tokens, or None if its config sets no limit.

    A sliding window limits it only if `hard_window` returns the window.
    """
    text = model.config.get_text_config(decoder=True)
    limits = [getattr(text, name, None) for name in ("max_position_embeddings", "n_positions")]
    limits.append(hard_window(model))
    return min((limit for limit in limits if limit), default=None)


def hard_window(model: Any) -> int | None:
    """Return the sliding window if the model accepts no mask for it, and None otherwise.

    A text must then not be longer than the window.
    """
    windows = sliding_windows(model.config)
    return windows.rows if windows and layer_masks(model).windows is None else None


def windowed_mask(full: Tensor, rows: int) -> Tensor:
    """Restrict a mask: each row sees only the newest `rows` of the rows that it saw.

    Args:
        full: Additive mask, (1, 1, r, n).
        rows: Size of the window.
    """
    sees = full == 0
    age = sees.flip(-1).cumsum(-1).flip(-1)  # 1 for the newest row that it sees
    return full.masked_fill(sees & (age > rows), torch.finfo(full.dtype).min)
