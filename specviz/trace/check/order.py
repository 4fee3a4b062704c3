"""That a run is whole: every round there once, with all its parts, and nothing after its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specviz.trace.check.expectations import expect, expect_duration, expect_pass_duration
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Judged,
    Proposed,
    Round,
    Scored,
)
from specviz.trace.file import Trace

PLAIN = "plain"  # the family of plain decoding's own lane: no rounds, all it did is its baseline
STAGES = ("proposed", "scored", "judged", "drew", "committed")
ONCE = (Proposed, Scored, Drew, Committed)  # a round has one of each at most


def check_whole(played: Round, expected: int) -> None:
    """The round is the one that comes next, it was finished, and all but the first drafted."""
    where = f"Round {played.number}"
    expect(played.number == expected, where, f"round {expected} is missing")
    whole = played.scored is not None and played.committed is not None
    expect(whole, where, "the round was not finished")
    drafted = played.proposed is not None
    expect(drafted == (played.number > 0), where, "every round but the first has its proposal")
    if played.proposed:
        expect_duration(played.proposed.seconds, where, "drafting")
    if played.scored:
        expect_pass_duration(played.scored.seconds, where, "the target pass")
    if played.committed:
        expect_duration(played.committed.judge_seconds, where, "judging")
        expect_duration(played.committed.commit_seconds, where, "keeping the caches")


def check_once(events: Sequence[Event]) -> None:
    """No event is there twice, and no round after the end. Raises CheckFailed."""
    counts: Counter[tuple[str, int]] = Counter()
    ended = False
    for event in events:
        if isinstance(event, ONCE):
            counts[event.event, event.round] += 1
            once = counts[event.event, event.round] == 1
            expect(once, f"Round {event.round}", f"it has a second {event.event!r} event")
        if isinstance(event, Finished | Baseline):
            counts[event.event, 0] += 1
            expect(counts[event.event, 0] == 1, "End", f"a second {event.event!r} event")
        if isinstance(event, (*ONCE, Judged)):
            expect(not ended, f"Round {event.round}", "it comes after the run's end")
        ended = ended or isinstance(event, Finished)


def check_order(events: Sequence[Event]) -> None:
    """The events of a round come in the order in which they happen, and plain decoding last."""
    now, latest, ended = -1, "", False
    for event in events:
        if isinstance(event, (*ONCE, Judged)):
            if event.round != now:
                now, latest = event.round, ""
            late = not latest or STAGES.index(latest) <= STAGES.index(event.event)
            expect(late, f"Round {now}", f"{event.event!r} comes after {latest!r}")
            latest = event.event
        ended = ended or isinstance(event, Finished)
        early = isinstance(event, Baseline) and not ended
        expect(not early, "Baseline", "it comes before the run's end")


def check_has_rounds(trace: Trace) -> None:
    """Only plain decoding's own lane, or a run stopped at once, has no rounds."""
    stopped = trace.finished is not None and trace.finished.reason == "stopped"
    plain = trace.header.drafter.family == PLAIN
    expect(bool(trace.rounds) or plain or stopped, "Rounds", "there are none")
    expect(not (trace.rounds and plain), "Rounds", "plain decoding has none")
