"""Sliding windows: layers that attend to the newest rows only.

The config defines which layers have a window, by `layer_types`, or by `sliding_window` for all
layers, as in `create_masks_for_generate` of transformers. A forward takes a dict with one mask per
kind of layer, or a single mask if all layers are of one kind. None of this is documented, so
`passes_masks_on` tests it. If it fails, callers limit the text to the window. Without a mask,
transformers builds one from the sizes of the cache.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    PreTrainedConfig,
    PreTrainedModel,
)

from specviz.adapters.transformers.decoder import decoder_layers

FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True, slots=True)
class Windows:
    """Which layers attend to the newest `rows` rows only.

    Attributes:
        rows: Size of the window, including the row itself.
        sliding: By layer, whether it has the window.
        by_kind: Whether the forward takes one mask per kind of layer.
    """

    rows: int
    sliding: tuple[bool, ...]
    by_kind: bool

    def argument(self, full: Tensor, sliding: Tensor) -> Any:
        """Return the value of the forward's `attention_mask`."""
        return {FULL: full, SLIDING: sliding} if self.by_kind else sliding


def sliding_windows(config: PreTrainedConfig) -> Windows | None:
    """Return the sliding windows in a config, or None if no layer has one."""
    text: Any = config.get_text_config(decoder=True)
    rows = getattr(text, "sliding_window", None)
    if not rows or not getattr(text, "use_sliding_window", True):
        return None
    kinds = getattr(text, "layer_types", None)
    if kinds is None:
        return Windows(rows, (True,) * text.num_hidden_layers, by_kind=False)
    sliding = tuple(kind == SLIDING for kind in kinds)
    return Windows(rows, sliding, by_kind=True) if any(sliding) else None


@torch.inference_mode()
def passes_masks_on(model: PreTrainedModel, windows: Windows) -> bool:
    """Return whether every decoder layer gets the mask of its kind, in a pass over two tokens.

    A config may have a window that its network does not implement. If a network takes a single
    mask, it implements the window only if its module imports the function that builds such masks.
    """
    layers = decoder_layers(model)
    if layers is None or len(layers) != len(windows.sliding):
        return False
    if not windows.by_kind and not hasattr(
        _module_of(layers[0]), "create_sliding_window_causal_mask"
    ):
        return False
    given: list[Any] = []
    hooks = [
        layer.register_forward_pre_hook(
            lambda _layer, args, named: given.append(named.get("attention_mask", args)),
            with_kwargs=True,
        )
        for layer in layers
    ]
    lowest = torch.finfo(model.dtype).min
    full = torch.zeros(1, 1, 2, 2, dtype=model.dtype, device=model.device)
    full[..., 0, 1] = lowest
    sliding = full.clone()
    sliding[..., 1, 0] = lowest
    ids = torch.zeros(1, 2, dtype=torch.long, device=model.device)
    try:
        model(input_ids=ids, attention_mask=windows.argument(full, sliding), use_cache=False)
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError):
        return False
    finally:
        for hook in hooks:
            hook.remove()
    expected = [sliding if slides else full for slides in windows.sliding]
    pairs = zip(given, expected, strict=False)
    return len(given) == len(expected) and all(_same(one, other) for one, other in pairs)


def _module_of(part: nn.Module) -> Any:
    """Return the module whose code defines a part of a network."""
    return sys.modules.get(type(part).__module__)


def _same(given: Any, mask: Tensor) -> bool:
    return isinstance(given, Tensor) and given.shape == mask.shape and bool((given == mask).all())
