"""Whether the seconds of a run can carry a verdict on its speed, or this machine was too busy.

Rule: one function decides for Step, Compare and the command line. What work it takes is known, so
seconds that contradict it are the machine's and not the drafter's: a pass that checks guesses does
all that a plain pass does, passes over as many tokens do the same, and nothing is gained where no
pass is saved. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median, quantiles
from typing import Final

from specviz.trace import metrics
from specviz.trace.events import Baseline, Round
from specviz.trace.file import Trace

EVEN: Final = 0.05  # a speed-up this near to 1 is no gain: two measurements of one lane differ so
CHEAPEST: Final = 0.95  # in plain passes: on idle machines checks took 1.03 and more
WIDE: Final = 1.25  # see `run_spread`; on idle machines it was 1.11 at most
FEWEST: Final = 4  # checks whose mean says something
QUARTERED: Final = 8  # passes whose quarters say something
VERDICT: Final = "Too noisy here; measure again"


def explain_noise(trace: Trace, plain: Baseline) -> str | None:
    """Why nothing can be said of a run's speed, as a clause; None where its seconds make sense.

    plain: plain decoding of the same prompt on the same machine.
    """
    rounds = [played for played in trace.rounds if played.committed]
    tokens = len(metrics.token_ids(trace))
    ratio = metrics.speedup(tokens, metrics.summary(trace)["total_seconds"], plain)
    if ratio is not None and ratio >= 1 + EVEN and tokens <= len(rounds):
        return f"{ratio:.2f} times as fast was measured, and no pass was saved"
    check = _check(trace, rounds, plain)
    if check is not None and check < CHEAPEST:
        return f"a checking pass took {check:.2f} plain passes, and it cannot take less than one"
    wide = max(run_spread(trace) or 1.0, plain_spread(plain) or 1.0)
    if wide >= WIDE:
        return f"passes that do the same work took unlike times, {wide:.1f} times as long"
    return None


def explain_disagreement(speedups: tuple[float, float] | None) -> str | None:
    """Why several runs of one thing say nothing together: some were faster, some slower."""
    low, high = speedups or (1.0, 1.0)
    if low > 1 - EVEN or high < 1 + EVEN:
        return None
    return f"it was {low:.2f} times as fast in one run, {high:.2f} times in another"


def run_spread(trace: Trace) -> float | None:
    """How unlike the times were of target passes that do the same work, with as many rows.

    The greater of two: their mean by their median, which few slow passes raise; and their third
    quartile by the first, which many do. Near 1 on a machine that does nothing else. The prompt's
    pass is left out. None where there is no other.
    """
    if not trace.rounds and trace.baseline:
        return plain_spread(trace.baseline)
    later = [played for played in trace.rounds if played.committed][1:]
    alike: dict[int, list[float]] = {}
    for scored in (played.scored for played in later if played.scored):
        alike.setdefault(scored.rows_in_pass, []).append(scored.seconds)
    return _spread(list(alike.values()))


def plain_spread(plain: Baseline) -> float | None:
    """The same of plain decoding."""
    return _spread([plain.seconds[1:]])


def _spread(alike: list[list[float]]) -> float | None:
    """alike: seconds of the passes of each size."""
    usual = sum(len(same) * median(same) for same in alike if same)
    if usual <= 0:
        return None
    slow = sum(map(sum, alike)) / usual
    scaled = [second / median(same) for same in alike if len(same) >= FEWEST for second in same]
    if len(scaled) < QUARTERED:
        return slow
    low, _, high = quantiles(scaled, n=4, method="inclusive")
    return max(slow, high / low) if low > 0 else slow


def _check(trace: Trace, rounds: list[Round], plain: Baseline) -> float | None:
    """Mean seconds of a pass that checks guesses, in plain passes; None where there are too few.

    A drafter without weights of its own may run the target's lower layers while it drafts, which
    the pass then leaves out; so there its drafting counts too.
    """
    card = trace.header.drafter
    borrows = card.parameters == 0
    checks = list(_seconds(rounds, borrows))
    usual = mean(plain.seconds[1:]) if len(plain.seconds) > 1 else 0.0
    return mean(checks) / usual if len(checks) >= FEWEST and usual > 0 else None


def _seconds(rounds: list[Round], drafting: bool) -> Iterator[float]:
    """By round that guessed, its target pass and judging; with its drafting where that is asked."""
    for played in rounds:
        if played.proposed and played.proposed.guesses:
            draft = played.proposed.seconds if drafting else 0.0
            yield draft + metrics.verify_seconds(played)
