"""Sliding windows: layers that attend to the newest rows only.

Which layers have a window is read from the config as `create_masks_for_generate` of transformers
reads it: `layer_types`, or `sliding_window` for all layers. A forward takes one mask per kind of
layer, in a dict, or one mask if all layers are alike. None of this is documented, so
`passes_masks_on` tries it; if it does not hold, callers stay within the window. Without a mask,
transformers makes its own, of the cache's sizes.
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
        rows: Size of the window, a row's own included.
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
    """Return what a config says about sliding windows, or None if no layer has one."""
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
    """Return whether every decoder layer receives the mask of its kind, in a pass over two tokens.

    A config may name a window that its network does not implement. A network that takes one mask
    and has a window builds its mask by a function that its module imports.
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
