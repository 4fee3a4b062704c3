"""Compute the numbers of each lane from the traces of a race. Standard library only.

The unit of cost is one plain token: plain decoding's seconds per token. Both plain decoding's
seconds and a lane's rounds include the prefill, so a round's tokens divided by its cost are exactly
the speed-up. (That would not hold for the unit on the Cost tab, a plain pass without the prefill.)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from specviz.compare.measures import (
    Equality,
    Flops,
    PassSeconds,
    Point,
    compare_token_ids,
    complete_rounds,
    count_flops,
    count_plain_flops,
    is_finished,
    pass_seconds,
    timeline,
)
from specviz.compare.race import PLAIN, Results
from specviz.frames.memory_limit import memory_sentence
from specviz.trace import metrics
from specviz.trace.events import Baseline, EndReason
from specviz.trace.file import Trace
from specviz.trace.metrics import explain_disagreement, explain_noise, run_spread, share


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of an average round, in plain tokens.

    Attributes:
        overhead: Time of judging and cache updates.
        prefill: The round's share of the prefill, including the first token.
    """

    draft: float
    target: float
    overhead: float
    prefill: float

    @property
    def total(self) -> float:
        """The total cost of a round."""
        return self.draft + self.target + self.overhead + self.prefill


@dataclass(frozen=True, slots=True)
class Depth:
    """Counts at one depth of the draft; the first guess after the text has depth 1.

    Attributes:
        positions: Positions that were judged; siblings share a position. Acceptance by depth is per
            position, not per guess.
        kept: Accepted guesses, at most one per position.
    """

    judged: int
    positions: int
    kept: int


@dataclass(frozen=True, slots=True)
class LaneReport:
    """One lane's numbers; a number that was not measured is None.

    Attributes:
        ended: Why the run ended; None if it was interrupted.
        passes: Target passes, including the prefill.
        seconds: Seconds of the lane in the run with the median time.
        runs: Seconds of each of its runs.
        speedups: Lowest and highest speed-up over several runs; None if all lanes ran once.
        brings: Tokens per round.
        costs: Cost per round, in plain tokens.
        speedup: `brings` divided by `costs.total`.
        guesses: Guesses per round.
        kept: Accepted guesses per round.
        drafting: Number of rounds with at least one guess.
        alpha: See `metrics.summary`.
        acceptance_rate: See `metrics.summary`.
        flops_per_token: See `Flops`.
        bytes: Size of the drafter's own weight files.
        held_bytes: Memory that the drafter holds, as in `Finished`.
        timeline: After every pass, (seconds, tokens) so far.
        parts: Seconds of every pass: drafting, the target pass, the rest.
        uneven: How much pass times vary, see `run_spread`; about 1 on an idle machine.
        noise: Why the lane's speed is too noisy to compare; None if it is not.
        limit: The sentence on what else than memory limits plain passes; empty if nothing.
    """

    name: str
    drafter: str
    settings: dict[str, Any]
    rule: str
    lossless: bool
    dtype: str
    ended: EndReason | None
    tokens: int
    passes: int
    seconds: float
    runs: list[float]
    speedups: tuple[float, float] | None
    tokens_per_second: float | None
    brings: float | None
    costs: Costs | None
    speedup: float | None
    guesses: float | None
    kept: float | None
    drafting: int
    alpha: float | None
    acceptance_rate: float | None
    depths: list[Depth]
    flops: Flops | None
    flops_per_token: float | None
    bytes: int
    held_bytes: int | None
    equality: Equality
    token_ids: list[int]
    text: str
    timeline: list[Point]
    parts: list[PassSeconds]
    uneven: float | None
    noise: str | None
    limit: str


def reports(results: Results) -> list[LaneReport]:
    """Report on every lane that ran, in the order of the race's lanes, plain decoding last."""
    names = [*(lane.name for lane in results.race.lanes), PLAIN]
    return [report(results, name) for name in names if name in results.traces]


def report(results: Results, name: str) -> LaneReport:
    """Report on one lane. Raises KeyError if the race ended before the lane ran."""
    trace = results.with_baseline(name)
    head = trace.header
    passes, ids = pass_seconds(trace), metrics.token_ids(trace)
    seconds = sum(map(sum, passes))
    arithmetic = _flops(results, name, trace)
    compared = _costs(trace, passes, results.plain)
    speedups = _speedups(results, name, compared["speedup"])
    return LaneReport(
        name=name,
        drafter=head.drafter.name,
        settings=head.settings,
        rule=head.rule,
        lossless=head.lossless,
        dtype=head.dtype,
        ended=trace.finished.reason if trace.finished else None,
        tokens=len(ids),
        passes=len(passes),
        seconds=seconds,
        runs=list(results.seconds.get(name, [seconds])),
        speedups=speedups,
        tokens_per_second=len(ids) / seconds if seconds > 0 else None,
        brings=share(len(ids), len(passes)),
        **compared,
        **_guesses(trace, len(passes)),
        flops=arithmetic,
        flops_per_token=share(arithmetic.total if arithmetic else None, len(ids)),
        bytes=_bytes(trace),
        held_bytes=trace.finished.held_bytes if trace.finished else None,
        equality=_equality(results, name, trace),
        token_ids=ids,
        text=metrics.text(trace),
        timeline=list(timeline(trace, passes)),
        parts=passes,
        uneven=run_spread(trace),
        noise=_noise(trace, results.plain, speedups),
        limit=memory_sentence(head, results.plain),
    )


def _costs(trace: Trace, passes: list[PassSeconds], plain: Baseline | None) -> dict[str, Any]:
    # None if the lane or plain decoding did not finish.
    if plain is None or not passes or not is_finished(trace) or sum(plain.seconds) <= 0:
        return {"costs": None, "speedup": None}
    plain_token = sum(plain.seconds) / len(plain.token_ids)
    scale = len(passes) * plain_token
    later = [*passes[1:], (0.0, 0.0, 0.0)]
    draft, target, rest = (sum(column) / scale for column in zip(*later, strict=True))
    costs = Costs(draft, target, rest, sum(passes[0]) / scale)
    brings = len(metrics.token_ids(trace)) / len(passes)
    return {"costs": costs, "speedup": brings / costs.total if costs.total > 0 else None}


def _speedups(results: Results, name: str, shown: float | None) -> tuple[float, float] | None:
    # Each run is compared with plain decoding's of the same turn; a lane that ran once, with all.
    mine, plain = results.seconds.get(name, []), results.seconds.get(PLAIN, [])
    if shown is None or name == PLAIN or max(len(mine), len(plain)) < 2:
        return None
    lengths = [len(metrics.token_ids(results.traces[lane])) for lane in (name, PLAIN)]
    share = lengths[0] / lengths[1]
    pairs = zip_longest(mine, plain)
    found = [share * (other or plain[0]) / (own or mine[0]) for own, other in pairs]
    return min([shown, *found]), max([shown, *found])


def _noise(
    trace: Trace, plain: Baseline | None, speedups: tuple[float, float] | None
) -> str | None:
    if plain is None or not trace.rounds or not is_finished(trace):
        return None
    return explain_noise(trace, plain) or explain_disagreement(speedups)


def _guesses(trace: Trace, passes: int) -> dict[str, Any]:
    numbers = metrics.summary(trace)
    drafted = [len(r.proposed.guesses) for r in complete_rounds(trace) if r.proposed]
    plain = not trace.rounds
    return {
        "guesses": None if plain else share(sum(drafted), passes),
        "kept": numbers["accepted_length"],
        "drafting": sum(guesses > 0 for guesses in drafted),
        "alpha": numbers["alpha"],
        "acceptance_rate": numbers["acceptance_rate"],
        "depths": count_by_depth(trace),
    }


def count_by_depth(trace: Trace) -> list[Depth]:
    """Count judged and accepted guesses by depth, from 1 to the deepest one reached.

    A position is reached if the guess before it was accepted. Rules that judge from the leaf up
    also judge guesses at positions that are not reached; these are not counted.
    """
    found: dict[int, list[int]] = {}
    for played in complete_rounds(trace):
        guesses = played.proposed.guesses if played.proposed else []
        depths = [0, *(played.proposed.depths if played.proposed else [])]
        accepted = metrics.accepted_path(played)
        parents = {node: guesses[node - 1].parent for node in metrics.decided_nodes(played)}
        for reached in (0, *accepted):
            below = [node for node, parent in parents.items() if parent == reached]
            if below:
                counts = found.setdefault(depths[reached] + 1, [0, 0, 0])
                counts[0] += len(below)
                counts[1] += 1
                counts[2] += any(node in accepted for node in below)
    return [Depth(*found.get(d, (0, 0, 0))) for d in range(1, max(found, default=0) + 1)]


def _flops(results: Results, name: str, trace: Trace) -> Flops | None:
    if results.target is None:
        return None
    if name == PLAIN:
        return count_plain_flops(trace, results.target)
    return count_flops(trace, results.target, results.drafters[name])


def _bytes(trace: Trace) -> int:
    # 0 if the drafter is the target.
    target, drafter = trace.header.target, trace.header.drafter
    return 0 if drafter.hash is not None and drafter.hash == target.hash else drafter.bytes


def _equality(results: Results, name: str, trace: Trace) -> Equality:
    if name != PLAIN:
        return compare_token_ids(trace, results.plain)
    return Equality("same" if is_finished(trace) else "stopped", len(metrics.token_ids(trace)))
