"""What a trace remembers of a head."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from specviz.catalog.files import fingerprint, size_of, weight_files
from specviz.trace import ModelCard


def card_of(head: nn.Module, title: str, family: str, folder: Path) -> ModelCard:
    """The card of the head in `folder`. parameters: its own, without what the target shares."""
    files = weight_files(folder)
    size = sum(weight.numel() for weight in head.parameters())
    return ModelCard(title, family, size, size_of(files), fingerprint(files))
