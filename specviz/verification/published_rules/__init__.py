"""A gallery of rules in the wild: what was claimed, where, and the exact law that comes out.

`GALLERY` has the exhibits in the order shown, `exhibit(key)` one of them. Each has its texts, its
own p and q, and `result(p, q)`: the law, its distance to p, the verdict, and how much is kept.
`sample_counts` throws coins and tells no more, for a reader who wants to find the fault. One file for
every kind of fault.
"""

from __future__ import annotations

from typing import Final

from specviz.verification.published_rules import (
    blocks,
    mismatched,
    point_masses,
    randomness,
    residuals,
    unverified,
)
from specviz.verification.published_rules.case_study import (
    EXACT,
    CaseResult,
    CaseStudy,
    Source,
    sample_counts,
)

__all__ = [
    "EXACT",
    "GALLERY",
    "CaseResult",
    "CaseStudy",
    "Source",
    "find_case_study",
    "sample_counts",
]

GALLERY: Final[tuple[CaseStudy, ...]] = (
    *point_masses.CASE_STUDIES,
    *residuals.CASE_STUDIES,
    *mismatched.CASE_STUDIES,
    *randomness.CASE_STUDIES,
    *unverified.CASE_STUDIES,
    *blocks.CASE_STUDIES,
)


def find_case_study(key: str) -> CaseStudy:
    """The exhibit of this key. Raises KeyError where there is none."""
    return {each.key: each for each in GALLERY}[key]
