"""Recompute a trace: every random number, threshold, verdict, draw and total, from what it stores.

A claim in the file counts only if the file also stores what it follows from. Standard library only.
"""

from __future__ import annotations

from specviz.trace.check.expectations import CheckFailed
from specviz.trace.check.trace import check, describe_losslessness, list_assumptions

__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]
