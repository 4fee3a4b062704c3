"""How the run ended, and plain decoding after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from specviz.trace.check.counts import MOST_BYTES
from specviz.trace.check.expectations import (
    TOLERANCE,
    expect,
    expect_duration,
    expect_pass_duration,
)
from specviz.trace.check.greedy import check_margins
from specviz.trace.check.header import RunSpec
from specviz.trace.events import Baseline
from specviz.trace.file import Trace
from specviz.trace.metrics import baseline_difference, token_ids


def end_reason(tokens: Sequence[int], plan: RunSpec) -> str:
    """What ends a text of these new tokens; "stopped" where nothing has."""
    if tokens and tokens[-1] in plan.eos:
        return "eos"
    return "limit" if len(tokens) == plan.settings.max_new_tokens else "stopped"


def check_text(tokens: Sequence[int], plan: RunSpec, where: str) -> None:
    """New tokens: no more than the limit, and none after the end of the text."""
    limit = len(tokens) <= plan.settings.max_new_tokens
    expect(limit, where, "more tokens than the limit allows")
    on = all(token not in plan.eos for token in tokens[:-1])
    expect(on, where, "the text goes on after its end")


def check_finished(trace: Trace, plan: RunSpec) -> None:
    """The run has an end, and its tokens say the same of it. Raises CheckFailed."""
    finished = trace.finished
    if finished is None:
        expect(False, f"Line {len(trace.events) + 1}", "the file ends before the run does")
        return
    expect_duration(finished.trace_seconds, "End", "recording")
    held = finished.held_bytes
    possible = held is None or 0 <= held <= MOST_BYTES
    expect(possible, "End", f"{held!r} bytes cannot be held in memory")
    plain = trace.baseline
    # Plain decoding's own lane has no rounds: its text is its baseline's.
    tokens = plain.token_ids if plain and not trace.rounds else token_ids(trace)
    check_text(tokens, plan, "End")
    follows = end_reason(tokens, plan)
    expect(finished.reason == follows, "End", f"it says {finished.reason!r}, but {follows!r} is so")


def check_baseline(trace: Trace, plan: RunSpec) -> None:
    """Plain decoding: measured pass by pass to its end; at temperature 0 the same text."""
    plain = trace.baseline
    if plain is None:
        return
    check_passes(plain, plan.settings.sampling.greedy)
    check_text(plain.token_ids, plan, "Baseline")
    inside = all(0 <= token < trace.header.vocab_size for token in plain.token_ids)
    expect(inside, "Baseline", "a token lies outside the vocabulary")
    stopped = trace.finished is not None and trace.finished.reason == "stopped"
    ended = end_reason(plain.token_ids, plan) != "stopped"
    expect(ended or (stopped and not trace.rounds), "Baseline", "it stops before its text is over")
    found = baseline_difference(trace) if trace.rounds and not stopped else None
    if found is not None and not found.near_tie:
        apart = "" if found.margin is None else f", with logits {found.margin:.2g} apart"
        problem = f"new token {found.position + 1} is not plain decoding's{apart}"
        expect(not trace.header.lossless, "Baseline", problem)
    check_margins(trace, plain)
    check_first(trace, plain, plan)


def check_first(trace: Trace, plain: Baseline, plan: RunSpec) -> None:
    """Plain decoding draws its first token from the distribution that round 0 drew from."""
    drew = trace.rounds[0].drew if trace.rounds else None
    if drew is None or not plain.token_ids or plan.settings.sampling.greedy:
        return
    token, u = plain.token_ids[0], plan.settings.chance(0).baseline()
    totals = [0.0, *accumulate(drew.p)]
    if token in drew.tokens[:-1]:  # behind the last, others may come before it
        at = drew.tokens.index(token)
        fits = totals[at] - TOLERANCE <= u <= totals[at + 1] + TOLERANCE
    else:
        fits = u >= totals[-2] - TOLERANCE
    expect(fits, "Baseline", "its first token is not what its coin draws")


def check_passes(plain: Baseline, greedy: bool) -> None:
    """Seconds of every pass; at temperature 0 margins, and where they are kept top logits."""
    size = len(plain.token_ids)
    expect(len(plain.seconds) == size, "Baseline", "it needs the seconds of every token")
    for seconds in plain.seconds:
        expect_pass_duration(seconds, "Baseline", "a pass")
    kept = (plain.margins is not None) == greedy
    expect(kept, "Baseline", "margins are kept at temperature 0, and only there")
    for logits in (plain.margins, plain.tops):
        expect(logits is None or len(logits) == size, "Baseline", "a margin for every token")
    finite = all(map(math.isfinite, [*(plain.margins or []), *(plain.tops or [])]))
    expect(finite, "Baseline", "logits are numbers")
    expect(min(plain.margins or [0.0]) >= 0, "Baseline", "a margin is below 0")
