"""Recorded runs: events, the file that holds them, and what can be recomputed from them.

A trace stores probabilities, random numbers and tokens. Results such as acceptance are computed
from them. Standard library only.
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
