"""A run's settings in few words. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def brief(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """A run's settings in few words, from plain data as `to_json` writes it.

    reads: the fields that the run's drafter heeds, where that is known; others are not said.
    """
    temperature = settings.get("sampling", {}).get("temperature")
    parts = [f"T {temperature:g}", shape(settings, reads), f"seed {settings.get('seed')}"]
    return " · ".join(filter(None, parts))


def shape(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """What of `brief` is about the draft alone: its tree, depth and budget; perhaps nothing."""
    siblings = settings.get("siblings", []) if reads is None or "siblings" in reads else []
    paths = settings.get("rank_paths", []) if reads is not None and "rank_paths" in reads else []
    tree = "tree " + "·".join(map(str, siblings)) if any(many > 1 for many in siblings) else ""
    parts = [
        f"{len(paths)} paths" if paths else tree,
        f"γ {settings.get('gamma')}" if reads is None or "gamma" in reads else "",
        f"best {settings.get('budget')}" if reads is not None and "budget" in reads else "",
    ]
    return " · ".join(filter(None, parts))
