"""The loop of speculative decoding, its protocols, and plain decoding beside it.

Rule: it knows protocols, never a family of drafters or a screen.
"""

from __future__ import annotations

from specviz.engine.decode import run, run_stepwise
from specviz.engine.loop import Decoding, plain, rounds
from specviz.engine.round import Clocks, PlainStep, RoundResult, Stop, never

__all__ = [
    "Clocks",
    "Decoding",
    "PlainStep",
    "RoundResult",
    "Stop",
    "never",
    "plain",
    "rounds",
    "run",
    "run_stepwise",
]
