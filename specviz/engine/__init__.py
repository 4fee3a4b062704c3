"""The speculative decoding loop, its protocols, and plain decoding.

The engine depends on protocols only, never on a particular drafter or on the user interface.
"""

from __future__ import annotations

from specviz.engine.decode import run, run_stepwise
from specviz.engine.loop import Clocks, Decoding, PlainStep, RoundResult, Stop, never, plain, rounds

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
