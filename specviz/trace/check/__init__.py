"""Recompute a trace from its stored inputs: random numbers, thresholds, verdicts, draws, totals.

A claim in the file counts only if the file also stores its inputs. Standard library only.
"""

from __future__ import annotations

from specviz.trace.check.expectations import CheckFailed
from specviz.trace.check.trace import check, describe_losslessness, list_assumptions

__all__ = ["CheckFailed", "check", "describe_losslessness", "list_assumptions"]
