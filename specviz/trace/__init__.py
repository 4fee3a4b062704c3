"""A run as data: events, the file they are kept in, and what can be recomputed from them.

Rule: causes only; effects are derived. Standard library only.
"""

from __future__ import annotations

from specviz.trace.chat import Chat, Piece, Turn
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Guess,
    Header,
    Interval,
    Judged,
    ModelCard,
    Proposed,
    Round,
    Rows,
    Scored,
    Unknown,
    Vocabulary,
)
from specviz.trace.file import Trace, TraceError, dumps, loads
from specviz.trace.work import Weights, Work

__all__ = [
    "Baseline",
    "Chat",
    "Committed",
    "Drew",
    "Event",
    "Finished",
    "Guess",
    "Header",
    "Interval",
    "Judged",
    "ModelCard",
    "Piece",
    "Proposed",
    "Round",
    "Rows",
    "Scored",
    "Trace",
    "TraceError",
    "Turn",
    "Unknown",
    "Vocabulary",
    "Weights",
    "Work",
    "dumps",
    "loads",
]
