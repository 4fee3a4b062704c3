"""Drafts of equal size, so that lengths of different drafters can be compared.

Rule: each tree has as many guesses as EAGLE's own static tree, and goes as deep.
"""

from typing import Any, Final

from specviz.catalog import find

SIBLINGS: Final = [4, 3, 3, 2]  # EAGLE's tree by depth: see `drafters.eagle.width_under`
NAMES: Final = ("eagle", "eagle2", "eagle3", "medusa", "moa")


def eagle_paths() -> list[list[int]]:
    """The paths of ranks in that tree: a better sibling on the way costs a child each."""
    level: list[list[int]] = [[]]
    found: list[list[int]] = []
    for width in SIBLINGS:
        level = [[*path, rank] for path in level for rank in range(max(0, width - sum(path)))]
        found += level
    return found


BUDGET: Final = len(eagle_paths())


def of_equal_size(drafter: str) -> dict[str, Any] | None:
    """The settings that give such a draft; None for a drafter that makes no such trees."""
    entry = find(drafter, "drafter")
    if entry is None or drafter not in NAMES:
        return None
    depth = {"gamma": len(SIBLINGS)}
    if "budget" in entry.reads:
        return depth | {"budget": BUDGET, "fan_out": SIBLINGS[0]}  # as wide as that tree is
    if "rank_paths" in entry.reads:
        return depth | {"rank_paths": eagle_paths()}
    return depth | {"siblings": SIBLINGS}
