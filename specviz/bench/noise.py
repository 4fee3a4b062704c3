"""Why the times of a row of `bench` are implausible, by the limits that `run` has, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from specviz.trace.metrics import MAX_SPREAD, VERDICT, explain_impossible, explain_spread

if TYPE_CHECKING:
    from specviz.bench.measure import Row, TimedCall

MOST_NAMED: Final = 3  # rows whose reasons are printed


def explain_row_noise(
    row: Row, mine: Sequence[TimedCall], plain: Sequence[TimedCall], prompts: int
) -> str | None:
    """Return why a row's speed cannot be judged, as a clause; None if its times are plausible.

    Args:
        row: The row.
        mine: The method's calls, one per turn: each prompt once, then again for every repeat.
        plain: Plain decoding's calls in the same turns.
        prompts: The number of different prompts.
    """
    return (
        _impossible_costs(row, mine)
        or _uneven_passes(mine)
        or _uneven_repeats(mine, prompts)
        or _uneven_plain(plain, prompts)
    )


def _impossible_costs(row: Row, mine: Sequence[TimedCall]) -> str | None:
    if all(timed.outcome.tally is None for timed in mine):
        return None  # no drafter of ours, so its passes may differ from ours
    ratio, check, guesses = row.ratio_to_plain, row.round_check_cost, row.guesses_per_round
    borrows = any(timed.outcome.borrows for timed in mine)  # its pass may skip what drafting ran
    whole = None if borrows or not guesses else check
    if found := explain_impossible(ratio, row.tokens_per_pass > 1, whole):
        return found
    if check is not None and guesses and check > MAX_SPREAD * (1 + guesses):
        rows = f"{1 + guesses:.1f} rows"
        return f"a checking pass over {rows} took {check:.1f} plain passes, but it cannot take more"
    return None


def _uneven_passes(calls: Sequence[TimedCall]) -> str | None:
    found = [timed.outcome.spread for timed in calls if timed.outcome.spread is not None]
    return explain_spread(median(found) if found else 1.0)


def _uneven_repeats(calls: Sequence[TimedCall], prompts: int) -> str | None:
    ranges = [_range(timed.speed for timed in calls[at::prompts]) for at in range(prompts)]
    typical = median(ranges)
    if typical < MAX_SPREAD:
        return None
    return f"repeats of the same prompt differ in speed by {typical:.1f} ×"


def _uneven_plain(plain: Sequence[TimedCall], prompts: int) -> str | None:
    found = _uneven_passes(plain) or _uneven_repeats(plain, prompts)
    return found and f"plain decoding is uneven: {found}"


def _range(speeds: Iterable[float]) -> float:
    found = list(speeds)
    return max(found) / min(found) if found else 1.0


def noise_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence that names the unreliable rows with reasons; empty if there are none."""
    noisy = [row for row in rows if row["noise"]]
    named = [f"{row['name']} on {row['domain']}: {row['noise']}" for row in noisy[:MOST_NAMED]]
    more = len(noisy) - len(named)
    ending = f"; {more} more, whose reasons --json writes" if more else ""
    return f"{VERDICT} ({'; '.join(named)}{ending})." if noisy else ""
