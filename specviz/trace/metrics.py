"""The numbers of a run, computed from its trace: acceptance, lengths, α, speed-up, noise.

Each number is computed here and nowhere else. Round 0, the prefill, drafts nothing and counts as a
pass both with and without a drafter. Standard library only.

One function, `explain_noise`, decides for Step, Compare and the command line whether a machine was
too busy to judge a run's speed. The work of each pass is known, so times that contradict it are
caused by the machine and not by the drafter: a pass that verifies guesses does all the work of a
plain pass, passes of the same size do the same work, and a run that saves no passes is not faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import harmonic_mean, mean, median, quantiles
from typing import Any, Final

from specviz.trace.events import Baseline, Event, Header, Judged, Round
from specviz.trace.file import Trace

# By how much a float32 logit may change by rounding if it is computed with other tensor shapes.
FLOAT32_MARGIN = 1e-3
# In half precision, the rounding error is proportional to the logit: 2 to 4 units in the last
# place.
HALF_PRECISION_MARGIN = {"bfloat16": 2.0**-6, "float16": 2.0**-9}
TYPICAL_TOP_LOGIT = 16.0  # assumed if a trace has no top logit; typical values are 8 to 32


def near_tie(margin: float, dtype: str, top: float | None = None) -> bool:
    """Return whether rounding may swap two logits that differ by `margin`.

    Args:
        margin: The difference.
        dtype: The target's number format, as torch names it.
        top: The larger logit; None if a trace does not have it. It matters only in half precision.
    """
    size = TYPICAL_TOP_LOGIT if top is None else abs(top)
    return margin < max(FLOAT32_MARGIN, HALF_PRECISION_MARGIN.get(dtype, 0.0) * size)


def mean_over_equal_text(ratios: Iterable[float]) -> float:
    """Return the mean of speed-ups, or of tokens per pass, over equal amounts of text.

    This is the harmonic mean: for equal amounts of text, times and passes add up, and these are the
    inverses of the ratios. With the arithmetic mean, one easy kind of text could outweigh all
    others.
    """
    return harmonic_mean(list(ratios))


def accepted_path(played: Round) -> list[int]:
    """Return the accepted nodes from the root down.

    They are the last node that was accepted by its own u, and its ancestors. Rules that judge from
    the root accept each of these by its own u; rules that judge from the leaf up accept them
    together.
    """
    return path_after(played, played.judged)


def path_after(played: Round, judged: Sequence[Judged]) -> list[int]:
    """Return the accepted nodes after the first `judged` verdicts of a round."""
    guesses = played.proposed.guesses if played.proposed else []
    node = next((event.node for event in reversed(judged) if event.accepted), 0)
    found: list[int] = []
    while 0 < node <= len(guesses) and node not in found:
        found.append(node)
        node = guesses[node - 1].parent
    return found[::-1]


def decided_nodes(played: Round) -> list[int]:
    """Return the nodes decided by their own u, and the ancestors of accepted nodes."""
    own = [event.node for event in played.judged]
    return own + [node for node in accepted_path(played) if node not in own]


def accepted_tokens(played: Round) -> list[int]:
    """Return the guessed tokens that a round accepted."""
    guesses = played.proposed.guesses if played.proposed else []
    return [guesses[node - 1].token for node in accepted_path(played)]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a run at temperature 0 first differs from plain decoding.

    Attributes:
        position: The index among the new tokens.
        margin: The target's top logit minus its second there; None if plain decoding had ended.
        near_tie: Whether rounding in the target's precision explains the difference; if not, there
            is an error.
    """

    position: int
    margin: float | None
    near_tie: bool


def token_ids(trace: Trace) -> list[int]:
    """Return the new tokens; without rounds, as in a lane of plain decoding, the baseline's."""
    if not trace.rounds and trace.baseline:
        return list(trace.baseline.token_ids)
    return [token for played in trace.rounds for token in _tokens(played)]


def text(trace: Trace) -> str:
    """Return the new text; bytes that are not valid UTF-8 become U+FFFD."""
    words = trace.vocabulary
    joined = b"".join(words.get(token, b"") for token in token_ids(trace))
    return joined.decode("utf-8", errors="replace")


def baseline_difference(trace: Trace) -> Difference | None:
    """Return where a run at temperature 0 first differs from its baseline; None if they are equal.

    A text that stops early differs at its end.
    """
    plain = trace.baseline
    if plain is None or plain.margins is None:
        return None
    ours = token_ids(trace)
    for at, token in enumerate(plain.token_ids):
        if at >= len(ours) or ours[at] != token:
            top = plain.tops[at] if plain.tops else None
            tied = near_tie(plain.margins[at], trace.header.dtype, top)
            return Difference(at, plain.margins[at], tied and at < len(ours))
    ended = len(plain.token_ids)
    return Difference(ended, None, False) if len(ours) > ended else None


def summary(trace: Trace) -> dict[str, Any]:
    """Return the numbers of a run; seconds do not include the time that recording took.

    accepted_length is the mean over all rounds, including round 0. acceptance_rate is accepted /
    judged; a guess that is accepted together with a later one counts as judged and accepted. alpha
    is the mean of `Judged.alpha` over the judged positions. A value is None if it cannot be
    computed (no baseline, nothing judged).
    """
    rounds = [played for played in trace.rounds if played.committed]
    tokens, passes = sum(len(_tokens(r)) for r in rounds), len(rounds)
    judged = [event for played in rounds for event in played.judged]
    accepted = sum(len(accepted_path(played)) for played in rounds)
    decided = sum(len(decided_nodes(played)) for played in rounds)
    alphas = [event.alpha for event in judged if event.alpha is not None]
    draft = sum(r.proposed.seconds for r in rounds if r.proposed)
    verify = sum(verify_seconds(r) for r in rounds)
    commit = sum(r.committed.commit_seconds for r in rounds if r.committed)
    total = draft + verify + commit
    plain = trace.baseline
    return {
        "tokens": tokens,
        "target_passes": passes,
        "tokens_per_pass": share(tokens, passes),
        "accepted_length": share(accepted, passes),
        "acceptance_rate": share(accepted, decided),
        "alpha": share(sum(alphas), len(alphas)),
        "draft_seconds": draft,
        "verify_seconds": verify,
        "total_seconds": total,
        "baseline_seconds": sum(plain.seconds) if plain else None,
        "speedup": speedup(tokens, total, plain),
    }


def verify_seconds(played: Round) -> float:
    """Return the seconds of a round's target pass and of judging."""
    scored = played.scored.seconds if played.scored else 0.0
    return scored + (played.committed.judge_seconds if played.committed else 0.0)


def speedup(tokens: int, seconds: float, plain: Baseline | None) -> float | None:
    """Return plain decoding's seconds per token over the run's; None without a baseline."""
    if plain is None or not plain.token_ids or not tokens or seconds <= 0:
        return None
    return (sum(plain.seconds) / len(plain.token_ids)) / (seconds / tokens)


def report(trace: Trace) -> dict[str, Any]:
    """Return what `specviz run --json` prints."""
    rounds = [
        {
            "drafted": [g.token for g in played.proposed.guesses] if played.proposed else [],
            "accepted": accepted_tokens(played),
            "emitted": _tokens(played),
        }
        for played in trace.rounds
        if played.committed
    ]
    return {
        "text": text(trace),
        "prompt_ids": trace.header.prompt_ids,
        "token_ids": token_ids(trace),
        "rounds": rounds,
        "summary": summary(trace),
    }


def request_metrics(trace: Trace) -> dict[str, Any]:
    """Return the counts in the format of vLLM's per-request metrics, level "detailed".

    A step is a round with guesses. For a tree, all guesses count as drafted, and the length of the
    accepted path as accepted. Source: vLLM's "Per-Request Acceptance Metrics".
    """
    steps = [each for each in trace.rounds if each.proposed and each.proposed.guesses]
    steps = [each for each in steps if each.committed]
    accepted = [len(accepted_path(each)) for each in steps]
    drafted = [len(each.proposed.guesses) for each in steps if each.proposed]
    longest = max([int(trace.header.settings["gamma"]), *accepted])
    kept = sum(accepted)
    counts = {
        "mean_acceptance_length": 1 + kept / len(steps) if steps else 1.0,
        "draft_acceptance_rate": kept / sum(drafted) if steps else 0.0,
        "acceptance_histogram": [accepted.count(length) for length in range(longest + 1)],
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": kept,
        "num_draft_tokens": sum(drafted),
        "num_spec_tokens": longest,
        "per_step_accepted": accepted,
        "per_step_drafted": drafted,
    }
    return {"metrics": {"speculative_decoding": counts}}


def _tokens(played: Round) -> list[int]:
    return played.committed.tokens if played.committed else []


def share(part: float | None, whole: int) -> float | None:
    """Return part / whole; None if the part is unknown or the whole is 0."""
    return part / whole if part is not None and whole else None


EVEN: Final = 0.05  # speed-ups within 1 ± this count as equal, since repeated runs differ as much
MIN_CHECK: Final = 0.95  # in plain passes; on idle machines a pass with guesses took at least 1.03
MAX_SPREAD: Final = 1.25  # see `run_spread`; on idle machines it was at most 1.11
MIN_PASSES: Final = 4  # minimum number of passes for a mean
MIN_FOR_QUARTILES: Final = 8  # minimum number of passes for a spread
MEMORY_BOUND: Final = 0.5  # share of a pass's time from which on memory is what limits it
VERDICT: Final = "These times are unreliable; measure again"


def explain_noise(trace: Trace, plain: Baseline) -> str | None:
    """Return why a run's speed cannot be judged, as a clause; None if its times are plausible.

    Args:
        trace: The run.
        plain: Plain decoding of the same prompt on the same machine.
    """
    rounds = [played for played in trace.rounds if played.committed]
    tokens = len(token_ids(trace))
    ratio = speedup(tokens, summary(trace)["total_seconds"], plain)
    check = _check(trace, rounds, plain)
    spread = max(run_spread(trace) or 1.0, plain_spread(plain) or 1.0)
    return explain_impossible(ratio, tokens > len(rounds), check) or explain_spread(spread)


def explain_impossible(ratio: float | None, saves: bool, check: float | None) -> str | None:
    """Return how the times of a run contradict its work, as a clause; None if they do not.

    Args:
        ratio: The speed-up; None if unknown.
        saves: Whether the run saves passes, because some add more than one token.
        check: The time of a pass with guesses, in plain passes; None if unknown.
    """
    if ratio is not None and ratio >= 1 + EVEN and not saves:
        return f"a speed-up of {ratio:.2f} was measured, although no pass added more than one token"
    if check is not None and check < MIN_CHECK:
        return f"a checking pass took {check:.2f} plain passes, but it cannot take less than one"
    return None


def explain_spread(spread: float) -> str | None:
    """Return a clause on how much the times of equally large passes vary; None if it is usual."""
    if spread < MAX_SPREAD:
        return None
    return f"passes of the same size differ in time by up to {spread:.1f} ×"


@dataclass(frozen=True, slots=True)
class SlowPass:
    """A plain pass that something other than memory limits.

    Attributes:
        seconds: Its time: the median over a run of plain decoding, without the prompt.
        reading: The time in which the machine reads as much memory as the weights take.
        weights: The bytes of these.
        speed: Bytes read per second.
    """

    seconds: float
    reading: float
    weights: int
    speed: float


def slow_pass(header: Header, plain: Baseline) -> SlowPass | None:
    """Return plain decoding's pass if reading the weights is less than half of its time.

    None if memory limits it, or if the memory's speed was not measured.
    """
    weights, speed, later = header.weight_bytes, header.memory_speed, plain.seconds[1:]
    if not weights or not speed or not later:
        return None
    found = SlowPass(median(later), weights / speed, weights, speed)
    return found if found.reading < MEMORY_BOUND * found.seconds else None


def alike(one: Trace, other: Trace) -> bool:
    """Return whether two runs did the same work, so that each time of one has its equal."""
    return _work(one) == _work(other)


def _work(trace: Trace) -> tuple[object, ...]:
    passes = [played.scored.rows_in_pass for played in trace.rounds if played.scored]
    plain = len(trace.baseline.seconds) if trace.baseline else 0
    return [type(event) for event in trace.events], token_ids(trace), passes, plain


def median_times(runs: Sequence[Trace]) -> Trace:
    """Return the last of several runs, with each of its times replaced by the median of all runs.

    Args:
        runs: Runs that are `alike`.
    """
    events = zip(*(run.events for run in runs), strict=True)
    return Trace(runs[-1].header, [_median_times(same) for same in events])


def _median_times(same: Sequence[Any]) -> Event:
    last: Event = same[-1]
    if isinstance(last, Baseline):
        passes = zip(*(event.seconds for event in same), strict=True)
        return replace(last, seconds=[median(seconds) for seconds in passes])
    times = ("seconds", "judge_seconds", "commit_seconds")
    known = [name for name in times if hasattr(last, name)]
    medians = {name: median(getattr(event, name) for event in same) for name in known}
    return replace(last, **medians)


def explain_disagreement(speedups: tuple[float, float] | None) -> str | None:
    """Return a clause that says how repeated runs of a drafter disagree; None if they agree.

    Args:
        speedups: The smallest and the largest speed-up.
    """
    low, high = speedups or (1.0, 1.0)
    if low > 1 - EVEN or high < 1 + EVEN:
        return None
    return f"the speed-up was {low:.2f} in one run and {high:.2f} in another"


def run_spread(trace: Trace) -> float | None:
    """Return by what ratio the times of equally large passes vary; about 1 on an idle machine.

    This is the larger of two ratios: mean to median, which a few slow passes increase, and third to
    first quartile, which many slow passes increase. The prompt's pass is left out; if there is no
    other, the result is None.
    """
    if not trace.rounds and trace.baseline:
        return plain_spread(trace.baseline)
    later = [played for played in trace.rounds if played.committed][1:]
    alike: dict[int, list[float]] = {}
    for scored in (played.scored for played in later if played.scored):
        alike.setdefault(scored.rows_in_pass, []).append(scored.seconds)
    return spread(list(alike.values()))


def plain_spread(plain: Baseline) -> float | None:
    """Return `run_spread` of plain decoding."""
    return spread([plain.seconds[1:]])


def spread(alike: Sequence[Sequence[float]]) -> float | None:
    """Return how much the times of equally large passes vary, as `run_spread` does.

    Args:
        alike: For each size, the seconds of its passes.

    Returns:
        A ratio of at least 1; None if there are no times.
    """
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
    # None if too few are known. A drafter without weights may run the target's lower layers while
    # it drafts, and the pass then skips these, so its drafting time is added.
    card = trace.header.drafter
    borrows = card.parameters == 0
    checks = list(_seconds(rounds, borrows))
    typical = mean(plain.seconds[1:]) if len(plain.seconds) > 1 else 0.0
    return mean(checks) / typical if len(checks) >= MIN_PASSES and typical > 0 else None


def _seconds(rounds: list[Round], drafting: bool) -> Iterator[float]:
    for played in rounds:
        if played.proposed and played.proposed.guesses:
            draft = played.proposed.seconds if drafting else 0.0
            yield draft + verify_seconds(played)
