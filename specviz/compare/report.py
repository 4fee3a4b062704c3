"""From the traces of a race to its numbers, lane by lane. Standard library only.

Rule: the unit, one plain token, is plain decoding's seconds per token, and a round is a target
pass, the prefill among both; so what a round brings by what it costs is the speed-up, to the last
digit. A plain pass, Cost's unit, is without the prefill: by that, brings by costs would not be it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from specviz.compare.equality import Equality, equality
from specviz.compare.flops import Flops, flops, plain_flops
from specviz.compare.race import PLAIN
from specviz.compare.results import Results, whole
from specviz.compare.timing import Parts, Point, parts, rounds, timeline
from specviz.trace import metrics
from specviz.trace.events import Baseline, EndReason
from specviz.trace.file import Trace
from specviz.trace.noise import explain_disagreement, explain_noise, run_spread


@dataclass(frozen=True, slots=True)
class Costs:
    """What a round costs, in plain tokens, all rounds taken together.

    draft: making guesses. target: the passes that check them. overhead: judging, and keeping the
    caches. prefill: reading the prompt, the first token with it.
    """

    draft: float
    target: float
    overhead: float
    prefill: float

    @property
    def total(self) -> float:
        """What a round costs in all."""
        return self.draft + self.target + self.overhead + self.prefill


@dataclass(frozen=True, slots=True)
class Depth:
    """At one depth of the draft (the first guess after the text is 1). What is kept by depth is
    kept by positions: see `Tally.kept_by_depth` for why not by guesses.

    judged: guesses. positions: where they stood (siblings share one). kept: at most one a position.
    """

    judged: int
    positions: int
    kept: int


@dataclass(frozen=True, slots=True)
class LaneReport:
    """One lane's numbers. What nothing was measured for is None.

    ended: None where the lane broke off. passes: of the target, the prefill among them. seconds:
    of the lane's own work. runs: seconds of each of its runs, of which this is the middle one.
    brings: tokens a round. costs: what a round costs. speedup: brings by costs; as these, only
    where the lane and plain decoding came to their ends. speedups: the least and the most, turn by
    turn; None where all ran once. guesses, kept: a round; drafting: rounds with a guess. alpha,
    acceptance_rate: as in `metrics.summary`. flops_per_token: see flops.py, as it counts. bytes: of
    the drafter's own weight files. held_bytes: in memory, as `Finished` has it. timeline: after
    every pass, (seconds, tokens) so far. parts: by pass, its seconds: drafting, the target's, the
    rest. uneven: see `run_spread`; near 1 where the machine did nothing else. noise: why nothing can be
    said of its speed, whatever the speed-up came to; None where something can.
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
    parts: list[Parts]
    uneven: float | None
    noise: str | None


def reports(results: Results) -> list[LaneReport]:
    """Every lane that the race came to: in the order of the race's lanes, plain decoding last."""
    names = [*(lane.name for lane in results.race.lanes), PLAIN]
    return [report(results, name) for name in names if name in results.traces]


def report(results: Results, name: str) -> LaneReport:
    """One lane's numbers. Raises KeyError for a lane that the race did not come to."""
    trace = results.measured(name)
    head = trace.header
    passes, ids = parts(trace), _tokens(trace)
    seconds = sum(map(sum, passes))
    arithmetic = _flops(results, name, trace)
    against = _against(trace, passes, results.plain)
    speedups = _speedups(results, name, against["speedup"])
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
        brings=_share(len(ids), len(passes)),
        **against,
        **_guessed(trace, len(passes)),
        flops=arithmetic,
        flops_per_token=_share(arithmetic.total if arithmetic else None, len(ids)),
        bytes=_bytes(trace),
        held_bytes=trace.finished.held_bytes if trace.finished else None,
        equality=_equality(results, name, trace),
        token_ids=ids,
        text=_text(trace, ids),
        timeline=list(timeline(trace, passes)),
        parts=passes,
        uneven=run_spread(trace),
        noise=_noise(trace, results.plain, speedups),
    )


def _tokens(trace: Trace) -> list[int]:
    """The lane's new tokens; of plain decoding, which has no rounds, its baseline's."""
    ids = metrics.token_ids(trace)
    return list(trace.baseline.token_ids) if not trace.rounds and trace.baseline else ids


def _text(trace: Trace, ids: list[int]) -> str:
    """The new text; bytes that are no character show as U+FFFD."""
    words = trace.vocabulary
    return b"".join(words.get(token, b"") for token in ids).decode("utf-8", errors="replace")


def _against(trace: Trace, passes: list[Parts], plain: Baseline | None) -> dict[str, Any]:
    """Costs and speed-up, where the lane and plain decoding are whole."""
    if plain is None or not passes or not whole(trace) or sum(plain.seconds) <= 0:
        return {"costs": None, "speedup": None}
    a_token = sum(plain.seconds) / len(plain.token_ids)
    scale = len(passes) * a_token
    later = [*passes[1:], (0.0, 0.0, 0.0)]
    draft, target, rest = (sum(column) / scale for column in zip(*later, strict=True))
    costs = Costs(draft, target, rest, sum(passes[0]) / scale)
    brings = len(_tokens(trace)) / len(passes)
    return {"costs": costs, "speedup": brings / costs.total if costs.total > 0 else None}


def _speedups(results: Results, name: str, shown: float | None) -> tuple[float, float] | None:
    """The least and the most that a lane was faster, each turn beside its plain decoding.

    A lane that is not short ran in the first turn alone, which stands for the others too. shown:
    the speed-up of the middle runs, which lies between.
    """
    mine, plain = results.seconds.get(name, []), results.seconds.get(PLAIN, [])
    if shown is None or name == PLAIN or max(len(mine), len(plain)) < 2:
        return None
    share = len(_tokens(results.traces[name])) / len(_tokens(results.traces[PLAIN]))
    pairs = zip_longest(mine, plain)
    found = [share * (other or plain[0]) / (own or mine[0]) for own, other in pairs]
    return min([shown, *found]), max([shown, *found])


def _noise(
    trace: Trace, plain: Baseline | None, speedups: tuple[float, float] | None
) -> str | None:
    """Why nothing can be said of a lane's speed; of plain decoding itself nothing is."""
    if plain is None or not trace.rounds or not whole(trace):
        return None
    return explain_noise(trace, plain) or explain_disagreement(speedups)


def _guessed(trace: Trace, passes: int) -> dict[str, Any]:
    """What was guessed and what was kept; nothing of it in plain decoding."""
    numbers = metrics.summary(trace)
    drafted = [len(r.proposed.guesses) for r in rounds(trace) if r.proposed]
    plain = not trace.rounds
    return {
        "guesses": None if plain else _share(sum(drafted), passes),
        "kept": numbers["accepted_length"],
        "drafting": sum(many > 0 for many in drafted),
        "alpha": numbers["alpha"],
        "acceptance_rate": numbers["acceptance_rate"],
        "depths": by_depth(trace),
    }


def by_depth(trace: Trace) -> list[Depth]:
    """What became of the guesses at every depth, from 1; to the deepest that was come to.

    A position was come to where the guess before it was kept. So a rule that judges from the leaf
    up is counted as the others are, though its coins fall further down too.
    """
    found: dict[int, list[int]] = {}
    for played in rounds(trace):
        guesses = played.proposed.guesses if played.proposed else []
        depths = [0, *(played.proposed.depths if played.proposed else [])]
        kept = metrics.accepted_path(played)
        told = {node: guesses[node - 1].parent for node in metrics.decided_nodes(played)}
        for place in (0, *kept):
            below = [node for node, parent in told.items() if parent == place]
            if below:
                here = found.setdefault(depths[place] + 1, [0, 0, 0])
                here[0] += len(below)
                here[1] += 1
                here[2] += any(node in kept for node in below)
    return [Depth(*found.get(d, (0, 0, 0))) for d in range(1, max(found, default=0) + 1)]


def _flops(results: Results, name: str, trace: Trace) -> Flops | None:
    """The lane's arithmetic; None before the race has said how large its models are."""
    if results.target is None:
        return None
    if name == PLAIN:
        return plain_flops(trace, results.target)
    return flops(trace, results.target, results.drafters[name])


def _bytes(trace: Trace) -> int:
    """Weight files that the drafter adds: none where it is the target itself."""
    target, drafter = trace.header.target, trace.header.drafter
    return 0 if drafter.hash is not None and drafter.hash == target.hash else drafter.bytes


def _equality(results: Results, name: str, trace: Trace) -> Equality:
    """Beside plain decoding; which is the same as itself."""
    if name != PLAIN:
        return equality(trace, results.plain)
    return Equality("same" if whole(trace) else "stopped", len(_tokens(trace)))


def _share(part: float | None, whole: int) -> float | None:
    return part / whole if part is not None and whole else None
