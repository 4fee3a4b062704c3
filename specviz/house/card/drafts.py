"""How large a drafter's usual draft is here, beside its paper's: for the card.

Rule: numbers come from the catalogue's usual settings and the checkpoints' configs, never typed.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any, Final

from specviz.catalog import find
from specviz.catalog.entry import filled
from specviz.house.differences import DIFFERENCES, SIZES
from specviz.house.measure import eagle_paths

HEADS: Final = ("medusa_num_heads", "n_head")


def difference(name: str) -> str:
    """What is said of how a drafter of the catalogue differs from its paper's."""
    size = SIZES.get(name, "")
    many = heads(name) if "{heads}" in size else None
    return f"{DIFFERENCES[name]} {size.format(guesses=guesses(name), heads=many)}".rstrip()


def guesses(name: str) -> int:
    """The most guesses of a draft with the drafter's usual settings."""
    entry = find(name, "drafter")
    assert entry is not None
    settings, reads = filled(name, {}), entry.reads
    if "rank_paths" in reads and settings["rank_paths"]:
        return len(settings["rank_paths"])
    if "budget" in reads:
        return int(settings["budget"])
    gamma = settings["gamma"]
    siblings = settings["siblings"] if "siblings" in reads else []
    widths = [*siblings, *[1] * gamma][:gamma]
    if name == "eagle":  # a better sibling on the way costs a child each
        return len(eagle_paths(widths))
    return sum(prod(widths[:depth]) for depth in range(1, gamma + 1))


def heads(name: str) -> int:
    """How many heads the drafter's checkpoint has."""
    entry = find(name, "drafter")
    assert entry is not None
    assert entry.path is not None
    config: dict[str, Any] = json.loads((entry.path / "config.json").read_text(encoding="utf-8"))
    return int(next(config[key] for key in HEADS if key in config))
