"""How deep the nodes of a tree stand: the trace, the rules and the screen all ask."""

from __future__ import annotations

from collections.abc import Sequence


def node_depths(parents: Sequence[int]) -> list[int]:
    """By node, its distance from the root, which is node 0; parents stand before their children."""
    found = [0]
    for parent in parents[1:]:
        found.append(found[parent] + 1)
    return found
