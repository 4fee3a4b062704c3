"""What can draft for a model of the presets: a head, n-gram lookup, a smaller model."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from specviz.cost import sources
from specviz.cost.shapes import ModelShape

NGRAM: Final = "n-gram"
HEAD: Final = "head"


def drafters(model: str) -> dict[str, tuple[str, ModelShape | None]]:
    """By name what can draft for a model: title and shape; None where drafting costs nothing."""
    target = sources.models()[model].shape
    head = replace(target, layers=1, tied=True)  # its output head is the target's own
    found: dict[str, tuple[str, ModelShape | None]] = {
        HEAD: ("A head of one layer, as EAGLE, -2 and -3 have", head),
        NGRAM: ("N-gram lookup, which costs nothing", None),
    }
    for name, other in sources.smaller(model).items():
        found[name] = (f"{other.title}, a model of its own", other.shape)
    return found
