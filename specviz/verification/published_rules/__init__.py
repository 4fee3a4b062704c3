"""Published rules: what was claimed, where, and the exact output distribution.

`GALLERY` lists the case studies in the order shown and `find_case_study(key)` returns one. Each has
its texts, its own p and q, and `result(p, q)` with the output distribution, its distance from p,
the verdict, and how many guesses are accepted. `sample_counts` returns only samples, for a reader
who wants to find the error. There is one module for each kind of error.
"""

from __future__ import annotations

from typing import Final

from specviz.verification.published_rules import (
    blocks,
    candidates,
    drafts,
    randomness,
    refined,
)
from specviz.verification.published_rules.case_study import (
    EXACT,
    CaseResult,
    CaseStudy,
    CaseVerdict,
    Source,
    sample_counts,
)

__all__ = [
    "EXACT",
    "GALLERY",
    "CaseResult",
    "CaseStudy",
    "CaseVerdict",
    "Source",
    "find_case_study",
    "sample_counts",
]

GALLERY: Final[tuple[CaseStudy, ...]] = (
    *candidates.WITHOUT_Q,
    *candidates.WITH_OTHER_Q,
    *randomness.CASE_STUDIES,
    *blocks.CASE_STUDIES,
    *drafts.CASE_STUDIES,
    *refined.CASE_STUDIES,
)


def find_case_study(key: str) -> CaseStudy:
    """Return the case study with this key. Raises KeyError if there is none."""
    return {each.key: each for each in GALLERY}[key]
