"""From a trace to its numbers. Every effect (kept, lengths, α, speed-up) is computed here, once.

Round 0, the prefill, drafts nothing and counts as a pass in both loops. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import harmonic_mean
from typing import Any

from specviz.trace.events import Baseline, Judged, Round
from specviz.trace.file import Trace

FLOAT32_MARGIN = (
    1e-3  # how far rounding moves a float32 logit between two shapes of one computation
)
# Half precision moves it by its last places, so with its size: 2 to 4 of them (8 and 11 bits).
HALF_PRECISION_MARGIN = {"bfloat16": 2.0**-6, "float16": 2.0**-9}
TYPICAL_TOP_LOGIT = (
    16.0  # the top logit of a trace that did not keep it; language models' are 8 to 32
)


def near_tie(margin: float, dtype: str, top: float | None = None) -> bool:
    """Whether rounding may swap two logits that lie `margin` apart.

    dtype: what the target computes in, as torch names it. top: the larger logit; where a trace
    lacks it, `TYPICAL_TOP_LOGIT` stands for it, and matters in half precision only.
    """
    size = TYPICAL_TOP_LOGIT if top is None else abs(top)
    return margin < max(FLOAT32_MARGIN, HALF_PRECISION_MARGIN.get(dtype, 0.0) * size)


def mean_over_equal_text(ratios: Iterable[float]) -> float:
    """What speed-ups, or tokens a pass, come to over as much text of each: their harmonic mean.

    Each says how little time, or how few passes, a piece of text took, so what adds up is their
    inverses; the usual mean would let one kind of text that hardly takes any carry all others.
    """
    return harmonic_mean(list(ratios))


def accepted_path(played: Round) -> list[int]:
    """The kept nodes, in order: the last that its coin kept, and all above it.

    Judged from the root, each of these was kept by a coin of its own; from the leaf up, with it.
    """
    return path_after(played, played.judged)


def path_after(played: Round, judged: Sequence[Judged]) -> list[int]:
    """The kept nodes by the first verdicts of a round alone."""
    guesses = played.proposed.guesses if played.proposed else []
    node = next((event.node for event in reversed(judged) if event.accepted), 0)
    found: list[int] = []
    while 0 < node <= len(guesses) and node not in found:
        found.append(node)
        node = guesses[node - 1].parent
    return found[::-1]


def decided_nodes(played: Round) -> list[int]:
    """The nodes that a coin decided on: their own, or that of a guess after them."""
    own = [event.node for event in played.judged]
    return own + [node for node in accepted_path(played) if node not in own]


def accepted_tokens(played: Round) -> list[int]:
    """The draft tokens that a round kept."""
    guesses = played.proposed.guesses if played.proposed else []
    return [guesses[node - 1].token for node in accepted_path(played)]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a temperature-0 run first left plain decoding, and by what margin the two were tied.

    position: index among the new tokens. margin: the target's top logit minus its second there;
    None where plain decoding had already ended. near_tie: rounding in the target's precision
    explains it; anything else is a fault.
    """

    position: int
    margin: float | None
    near_tie: bool


def token_ids(trace: Trace) -> list[int]:
    """The new tokens."""
    return [token for played in trace.rounds for token in _tokens(played)]


def text(trace: Trace) -> str:
    """The new text; bytes that are no character show as U+FFFD."""
    words = trace.vocabulary
    joined = b"".join(words.get(token, b"") for token in token_ids(trace))
    return joined.decode("utf-8", errors="replace")


def baseline_difference(trace: Trace) -> Difference | None:
    """The first place where a temperature-0 run and its baseline differ; None where they agree.

    Lengths count: a text that stops early differs at its end.
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
    """The numbers of a run. Seconds leave out the recording itself.

    accepted_length averages over all rounds, round 0 included; acceptance_rate = accepted /
    judged, a guess that is kept along with a later one counting among both; alpha = the chance that
    a judged position keeps one of its candidates, as `Judged.alpha` has it, averaged over judged
    positions.
    Values that nothing was measured for (no baseline, nothing judged) are None.
    """
    rounds = [played for played in trace.rounds if played.committed]
    tokens, passes = sum(len(_tokens(r)) for r in rounds), len(rounds)
    judged = [event for played in rounds for event in played.judged]
    accepted = sum(len(accepted_path(played)) for played in rounds)
    told = sum(len(decided_nodes(played)) for played in rounds)
    chances = [event.alpha for event in judged if event.alpha is not None]
    draft = sum(r.proposed.seconds for r in rounds if r.proposed)
    verify = sum(verify_seconds(r) for r in rounds)
    commit = sum(r.committed.commit_seconds for r in rounds if r.committed)
    total = draft + verify + commit
    plain = trace.baseline
    return {
        "tokens": tokens,
        "target_passes": passes,
        "tokens_per_pass": _share(tokens, passes),
        "accepted_length": _share(accepted, passes),
        "acceptance_rate": _share(accepted, told),
        "alpha": _share(sum(chances), len(chances)),
        "draft_seconds": draft,
        "verify_seconds": verify,
        "total_seconds": total,
        "baseline_seconds": sum(plain.seconds) if plain else None,
        "speedup": speedup(tokens, total, plain),
    }


def verify_seconds(played: Round) -> float:
    """Seconds of a round's target pass and of the judging."""
    scored = played.scored.seconds if played.scored else 0.0
    return scored + (played.committed.judge_seconds if played.committed else 0.0)


def speedup(tokens: int, seconds: float, plain: Baseline | None) -> float | None:
    """Seconds per token of plain decoding, over ours; None until plain decoding was measured."""
    if plain is None or not plain.token_ids or not tokens or seconds <= 0:
        return None
    return (sum(plain.seconds) / len(plain.token_ids)) / (seconds / tokens)


def report(trace: Trace) -> dict[str, Any]:
    """What `specviz run --json` prints."""
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


def _tokens(played: Round) -> list[int]:
    return played.committed.tokens if played.committed else []


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
