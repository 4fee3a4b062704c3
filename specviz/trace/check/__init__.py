"""Judge a trace again: every coin, threshold, verdict, draw and total, from what is stored.

One rule: a claim counts only where the file itself gives its causes. Standard library only.
"""

from __future__ import annotations

from specviz.trace.check.expectations import CheckFailed
from specviz.trace.check.trace import check, describe_losslessness, list_assumptions

__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]
