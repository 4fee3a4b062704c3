"""How large a drafter's usual draft is here, beside its paper's: for the card.

Rule: numbers come from the catalogue's usual settings and the checkpoints' configs, never typed.
"""

from __future__ import annotations

import json
from math import prod
from typing import Any, Final

from specviz.catalog.entry import Entry, filled
from specviz.house.measure import eagle_paths

HEADS: Final = ("medusa_num_heads", "n_head")


def difference(entry: Entry) -> str:
    """What is said of how a drafter of the catalogue differs from its paper's."""
    many = heads(entry) if "{heads}" in entry.smaller else None
    size = entry.smaller.format(guesses=guesses(entry), heads=many) if entry.smaller else ""
    return f"{entry.differences} {size}".rstrip()


def guesses(entry: Entry) -> int:
    """The most guesses of a draft with the drafter's usual settings."""
    settings, reads = filled(entry.name, {}), entry.reads
    if "rank_paths" in reads and settings["rank_paths"]:
        return len(settings["rank_paths"])
    if "budget" in reads:
        return int(settings["budget"])
    gamma = settings["gamma"]
    siblings = settings["siblings"] if "siblings" in reads else []
    widths = [*siblings, *[1] * gamma][:gamma]
    if entry.name == "eagle":  # a better sibling on the way costs a child each
        return len(eagle_paths(widths))
    return sum(prod(widths[:depth]) for depth in range(1, gamma + 1))


def heads(entry: Entry) -> int:
    """How many heads the drafter's checkpoint has."""
    assert entry.path is not None
    config: dict[str, Any] = json.loads((entry.path / "config.json").read_text(encoding="utf-8"))
    return int(next(config[key] for key in HEADS if key in config))
