"""Numbers of one lane's trace: times, FLOPs, and whether its text equals plain decoding's.

Times were measured by the engine and exclude recording and display. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from specviz.trace.events import Baseline, Round
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids
from specviz.trace.work import Weights, Work

PassSeconds = tuple[float, float, float]  # seconds of one pass: drafting, the target pass, the rest
Point = tuple[float, int]  # seconds and tokens so far
Verdict = Literal["same", "near-tie", "fault", "length", "lossy", "sampled", "stopped", "unknown"]


def is_finished(trace: Trace) -> bool:
    """Return whether a lane ran to its end, so that it was not stopped or interrupted."""
    ended = trace.finished
    return ended is not None and ended.reason != "stopped"


def complete_rounds(trace: Trace) -> list[Round]:
    """Return the rounds that have committed their tokens."""
    return [played for played in trace.rounds if played.committed]


def pass_seconds(trace: Trace) -> list[PassSeconds]:
    """Return the seconds of each pass; plain decoding has one number for pass and sampling."""
    if not trace.rounds and trace.baseline:
        return [(0.0, seconds, 0.0) for seconds in trace.baseline.seconds]
    return [_round_seconds(played) for played in complete_rounds(trace)]


def _round_seconds(played: Round) -> PassSeconds:
    assert played.committed is not None
    draft = played.proposed.seconds if played.proposed else 0.0
    target = played.scored.seconds if played.scored else 0.0
    return draft, target, played.committed.judge_seconds + played.committed.commit_seconds


def total_seconds(trace: Trace) -> float:
    """Return the seconds that the lane took."""
    return sum(map(sum, pass_seconds(trace)))


def timeline(trace: Trace, passes: Sequence[PassSeconds]) -> Iterator[Point]:
    """Yield the seconds and tokens so far after every pass, from `pass_seconds`."""
    rounds = complete_rounds(trace)
    tokens_added = [len(r.committed.tokens) for r in rounds if r.committed] or [1] * len(passes)
    seconds, tokens = 0.0, 0
    for parts, added in zip(passes, tokens_added, strict=True):
        seconds, tokens = seconds + sum(parts), tokens + added
        yield seconds, tokens


@dataclass(frozen=True, slots=True)
class Flops:
    """FLOPs of a whole run.

    2 FLOPs are counted for every weight of a matrix and every row (token) multiplied with it,
    including the prompt's rows. An embedding table counts only if it is also the output head, and
    an output head only for rows whose logits are read. Not counted: attention's products with the
    cache (they grow with the text, not with the weights), norms, softmax, sampling.

    Attributes:
        prompt: FLOPs of the target's first pass.
        target: FLOPs of the target's later passes.
        drafter: FLOPs of the drafter; None if the trace does not have the number of its rows.
    """

    prompt: int
    target: int
    drafter: int | None

    @property
    def total(self) -> int | None:
        """All FLOPs; None if the drafter's are unknown."""
        return None if self.drafter is None else self.prompt + self.target + self.drafter


def count_flops(trace: Trace, target: Weights, drafter: Weights) -> Flops:
    """Compute the FLOPs of a run from its trace and the sizes of its models."""
    draft = drafter_work(trace)
    return Flops(
        prompt=work_flops(Work(len(trace.header.prompt_ids), 1), target),
        target=work_flops(target_work(trace), target),
        drafter=None if draft is None else work_flops(draft, drafter),
    )


def count_plain_flops(trace: Trace, target: Weights) -> Flops:
    """Compute the FLOPs of plain decoding: the prompt, then one row per pass."""
    passes = len(trace.baseline.seconds) if trace.baseline else 0
    if not passes:
        return Flops(0, 0, 0)
    prompt = Work(len(trace.header.prompt_ids), 1)
    later = Work(passes - 1, passes - 1)
    return Flops(work_flops(prompt, target), work_flops(later, target), 0)


def drafter_work(trace: Trace) -> Work | None:
    """Return the work of the drafter's own networks; None if a round does not report it."""
    total = Work()
    for played in trace.rounds:
        if played.proposed is None:
            continue
        if played.proposed.work is None:
            return None
        total += played.proposed.work
    return total


def target_work(trace: Trace) -> Work:
    """Return the rows of the target's passes after the prefill; all their logits are read."""
    rows = sum(played.scored.rows_in_pass for played in trace.rounds[1:] if played.scored)
    return Work(rows, rows)


def work_flops(work: Work, weights: Weights) -> int:
    """Return the FLOPs of this work with these weights."""
    products = work.body * weights.body + work.head * weights.head + work.entry * weights.entry
    return 2 * (products + (work.correction or 0) * (weights.correction or 0))


@dataclass(frozen=True, slots=True)
class Equality:
    """A lane's token ids compared with those of plain decoding.

    Attributes:
        verdict: "same": all are equal. "stopped": the lane did not finish. "unknown": plain
            decoding did not finish. "sampled": they differ as two samples from one distribution do.
            "lossy": the rule does not guarantee the same text. At temperature 0 also "near-tie":
            rounding explains the difference; "length": one text ends earlier; "fault": nothing
            explains the difference.
        position: Index of the first new token that differs; None if none does.
        margin: At temperature 0, the target's highest logit minus its second highest at this
            position.
    """

    verdict: Verdict
    tokens: int
    position: int | None = None
    margin: float | None = None


def compare_token_ids(trace: Trace, plain: Baseline | None) -> Equality:
    """Compare a lane's text with plain decoding's. plain: plain decoding, if it finished."""
    ours = token_ids(trace)
    if plain is None or not is_finished(trace):
        return Equality("unknown" if plain is None else "stopped", len(ours))
    position = first_difference(ours, plain.token_ids)
    if position is None:
        return Equality("same", len(ours))
    if plain.margins is None:
        return Equality("sampled" if trace.header.lossless else "lossy", len(ours), position)
    found = baseline_difference(trace)
    margin = found.margin if found else None
    if not trace.header.lossless:
        return Equality("lossy", len(ours), position, margin)
    if position >= min(len(ours), len(plain.token_ids)):
        return Equality("length", len(ours), position)
    near = found is not None and found.near_tie
    return Equality("near-tie" if near else "fault", len(ours), position, margin)


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Return the index where two lists first differ or one ends; None if they are equal."""
    pairs = enumerate(zip_longest(ours, theirs))
    return next((i for i, (one, other) in pairs if one != other), None)
