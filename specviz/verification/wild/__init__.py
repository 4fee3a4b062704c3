"""A gallery of rules in the wild: what was claimed, where, and the exact law that comes out.

`GALLERY` has the exhibits in the order shown, `exhibit(key)` one of them. Each has its texts, its
own p and q, and `result(p, q)`: the law, its distance to p, the verdict, and how much is kept.
`evidence` throws coins and tells no more, for a reader who wants to find the fault. One file for
every kind of fault.
"""

from __future__ import annotations

from typing import Final

from specviz.verification.wild import (
    blocks,
    chance,
    mismatched,
    point_masses,
    residuals,
    unseen,
)
from specviz.verification.wild.exhibit import EXACT, Exhibit, Result, Source, evidence

__all__ = ["EXACT", "GALLERY", "Exhibit", "Result", "Source", "evidence", "exhibit"]

GALLERY: Final[tuple[Exhibit, ...]] = (
    *point_masses.EXHIBITS,
    *residuals.EXHIBITS,
    *mismatched.EXHIBITS,
    *chance.EXHIBITS,
    *unseen.EXHIBITS,
    *blocks.EXHIBITS,
)


def exhibit(key: str) -> Exhibit:
    """The exhibit of this key. Raises KeyError where there is none."""
    return {each.key: each for each in GALLERY}[key]
