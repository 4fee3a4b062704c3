"""Depths of the nodes of a tree, for traces, rules and the page."""

from __future__ import annotations

from collections.abc import Sequence


def node_depths(parents: Sequence[int]) -> list[int]:
    """Return each node's distance from node 0, the root; parents come before their children."""
    found = [0]
    for parent in parents[1:]:
        found.append(found[parent] + 1)
    return found
