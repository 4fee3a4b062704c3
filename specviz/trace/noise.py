"""Whether the times of a run are good enough to judge its speed, or the machine was too busy.

One function decides for Step, Compare and the command line. The work of each pass is known, so
times that contradict it come from the machine and not from the drafter: a pass that checks guesses
does all the work of a plain pass, passes of the same size do the same work, and a run that saves
no passes is not faster. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median, quantiles
from typing import Final

from specviz.trace import metrics
from specviz.trace.events import Baseline, Round
from specviz.trace.file import Trace

EVEN: Final = 0.05  # speed-ups within 1 ± this count as equal: repeated runs differ as much
MIN_CHECK: Final = 0.95  # plain passes; on idle machines a checking pass took at least 1.03
MAX_SPREAD: Final = 1.25  # see `run_spread`; on idle machines it was at most 1.11
MIN_PASSES: Final = 4  # for a mean
MIN_FOR_QUARTILES: Final = 8  # passes
VERDICT: Final = "Too noisy here; measure again"


def explain_noise(trace: Trace, plain: Baseline) -> str | None:
    """Return why a run's speed cannot be judged, as a clause; None if its times are plausible.

    Args:
        trace: The run.
        plain: Plain decoding of the same prompt on the same machine.
    """
    rounds = [played for played in trace.rounds if played.committed]
    tokens = len(metrics.token_ids(trace))
    ratio = metrics.speedup(tokens, metrics.summary(trace)["total_seconds"], plain)
    if ratio is not None and ratio >= 1 + EVEN and tokens <= len(rounds):
        return f"{ratio:.2f} times as fast was measured, although no pass was saved"
    check = _check(trace, rounds, plain)
    if check is not None and check < MIN_CHECK:
        return f"a checking pass took {check:.2f} plain passes, but it cannot take less than one"
    spread = max(run_spread(trace) or 1.0, plain_spread(plain) or 1.0)
    if spread >= MAX_SPREAD:
        return f"passes of the same size differ in time by up to {spread:.1f} ×"
    return None


def explain_disagreement(speedups: tuple[float, float] | None) -> str | None:
    """Return why repeated runs of a drafter disagree on its speed; None if they agree.

    Args:
        speedups: The smallest and the largest speed-up.
    """
    low, high = speedups or (1.0, 1.0)
    if low > 1 - EVEN or high < 1 + EVEN:
        return None
    return f"it was {low:.2f} times as fast in one run, {high:.2f} times in another"


def run_spread(trace: Trace) -> float | None:
    """Return the spread of the times of equally large passes; near 1 on an idle machine.

    The larger of two ratios: mean to median, which a few slow passes raise, and third quartile to
    first, which many slow passes raise. The prompt's pass is left out. None if it is the only one.
    """
    if not trace.rounds and trace.baseline:
        return plain_spread(trace.baseline)
    later = [played for played in trace.rounds if played.committed][1:]
    alike: dict[int, list[float]] = {}
    for scored in (played.scored for played in later if played.scored):
        alike.setdefault(scored.rows_in_pass, []).append(scored.seconds)
    return _spread(list(alike.values()))


def plain_spread(plain: Baseline) -> float | None:
    """Return `run_spread` of plain decoding."""
    return _spread([plain.seconds[1:]])


def _spread(alike: list[list[float]]) -> float | None:
    """Return the spread; `alike` holds the seconds of the passes of each size."""
    typical = sum(len(same) * median(same) for same in alike if same)
    if typical <= 0:
        return None
    slow = sum(map(sum, alike)) / typical
    scaled = [second / median(same) for same in alike if len(same) >= MIN_PASSES for second in same]
    if len(scaled) < MIN_FOR_QUARTILES:
        return slow
    low, _, high = quantiles(scaled, n=4, method="inclusive")
    return max(slow, high / low) if low > 0 else slow


def _check(trace: Trace, rounds: list[Round], plain: Baseline) -> float | None:
    """Return the mean seconds of a checking pass in plain passes; None if there are too few.

    A drafter without weights may run the target's lower layers while it drafts, which the pass then
    skips; its drafting time is added.
    """
    card = trace.header.drafter
    borrows = card.parameters == 0
    checks = list(_seconds(rounds, borrows))
    typical = mean(plain.seconds[1:]) if len(plain.seconds) > 1 else 0.0
    return mean(checks) / typical if len(checks) >= MIN_PASSES and typical > 0 else None


def _seconds(rounds: list[Round], drafting: bool) -> Iterator[float]:
    """Yield the verification time of each round with guesses, plus drafting time on request."""
    for played in rounds:
        if played.proposed and played.proposed.guesses:
            draft = played.proposed.seconds if drafting else 0.0
            yield draft + metrics.verify_seconds(played)
