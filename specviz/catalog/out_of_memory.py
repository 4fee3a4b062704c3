"""Memory that ran out: what gives way, and what would fit instead."""

from __future__ import annotations

from typing import Final

import torch

from specviz.catalog.entry import entries, weights_path
from specviz.catalog.loading import unload_last
from specviz.models.devices import free_memory, pick_device

BYTES: Final = {"float32": 4, "bfloat16": 2}  # a parameter takes so many


def unload_and_suggest(device: str | None = None) -> str:
    """Unload what was loaded last, unless it is the house's; what that was and what would fit.

    device: where nothing was unloaded that says it; None: the best here. Whoever still holds the
    model lets go of it when the run has ended, so its bytes are counted as free.
    """
    gone = unload_last()
    place = torch.device(gone.device) if gone else pick_device(device)
    said = f"{gone.title} was unloaded. " if gone else ""
    if place.type == "cuda":
        torch.cuda.empty_cache()
    free = free_memory(place)
    return said + ("" if free is None else models_that_fit(free + (gone.bytes if gone else 0)))


def models_that_fit(free: int) -> str:
    """Which models so many free bytes hold, by their weights: a run needs some more beside them."""
    most = [
        f"{free / each / 1e6:,.0f} million parameters in {name}" for name, each in BYTES.items()
    ]
    here = [e for e in entries() if e.kind == "target" and not e.address and weights_path(e)]
    fits = [each for each in here if each.memory < free]
    largest = max(fits, key=lambda each: each.memory, default=None)
    such = "" if largest is None else f"; of those here, {largest.title} is the largest that does"
    return f"About {free / 1e9:.1f} GB are free, which hold {' or '.join(most)} at most{such}."
