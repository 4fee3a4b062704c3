"""When a lane had what: the seconds of its passes. Standard library only.

Rule: seconds are the engine's own; what recording and watching cost is in none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from specviz.trace.events import Round
from specviz.trace.file import Trace

Parts = tuple[float, float, float]  # seconds of one pass: drafting, the target's, the rest


Point = tuple[float, int]  # seconds and tokens so far


def rounds(trace: Trace) -> list[Round]:
    """The whole rounds."""
    return [played for played in trace.rounds if played.committed]


def parts(trace: Trace) -> list[Parts]:
    """By pass, its seconds. Plain decoding has one clock, which holds the pass and the draw."""
    if not trace.rounds and trace.baseline:
        return [(0.0, seconds, 0.0) for seconds in trace.baseline.seconds]
    return [_parts(played) for played in rounds(trace)]


def _parts(played: Round) -> Parts:
    assert played.committed is not None
    draft = played.proposed.seconds if played.proposed else 0.0
    target = played.scored.seconds if played.scored else 0.0
    return draft, target, played.committed.judge_seconds + played.committed.commit_seconds


def seconds_of(trace: Trace) -> float:
    """What the lane itself took in all."""
    return sum(map(sum, parts(trace)))


def timeline(trace: Trace, passes: Sequence[Parts]) -> Iterator[Point]:
    """After every pass, seconds and tokens so far. passes: as `parts` gives them."""
    brought = [len(r.committed.tokens) for r in rounds(trace) if r.committed] or [1] * len(passes)
    seconds, tokens = 0.0, 0
    for part, new in zip(passes, brought, strict=True):
        seconds, tokens = seconds + sum(part), tokens + new
        yield seconds, tokens
