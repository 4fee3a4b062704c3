"""How the run ended, and plain decoding after it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from specviz.trace.check.demands import demand, pass_time, time
from specviz.trace.check.header import Plan
from specviz.trace.events import Baseline
from specviz.trace.file import Trace
from specviz.trace.metrics import difference, token_ids


def reason_of(tokens: Sequence[int], plan: Plan) -> str:
    """What ends a text of these new tokens; "stopped" where nothing has."""
    if tokens and tokens[-1] in plan.eos:
        return "eos"
    return "limit" if len(tokens) == plan.settings.max_new_tokens else "stopped"


def check_text(tokens: Sequence[int], plan: Plan, where: str) -> None:
    """New tokens: no more than the limit, and none after the end of the text."""
    limit = len(tokens) <= plan.settings.max_new_tokens
    demand(limit, where, "more tokens than the limit allows")
    on = all(token not in plan.eos for token in tokens[:-1])
    demand(on, where, "the text goes on after its end")


def check_finished(trace: Trace, plan: Plan) -> None:
    """The run has an end, and its tokens say the same of it. Raises CheckFailed."""
    finished = trace.finished
    if finished is None:
        demand(False, f"Line {len(trace.events) + 1}", "the file ends before the run does")
        return
    time(finished.trace_seconds, "End", "recording")
    held = finished.held_bytes
    demand(held is None or held >= 0, "End", f"{held!r} bytes cannot be held in memory")
    plain = trace.baseline
    # Plain decoding's own lane has no rounds: its text is its baseline's.
    tokens = plain.token_ids if plain and not trace.rounds else token_ids(trace)
    check_text(tokens, plan, "End")
    follows = reason_of(tokens, plan)
    demand(finished.reason == follows, "End", f"it says {finished.reason!r}, but {follows!r} is so")


def check_baseline(trace: Trace, plan: Plan) -> None:
    """Plain decoding: measured pass by pass to its end; at temperature 0 the same text."""
    plain = trace.baseline
    if plain is None:
        return
    check_passes(plain, plan.settings.sampling.greedy)
    check_text(plain.token_ids, plan, "Baseline")
    stopped = trace.finished is not None and trace.finished.reason == "stopped"
    ended = reason_of(plain.token_ids, plan) != "stopped"
    demand(ended or (stopped and not trace.rounds), "Baseline", "it stops before its text is over")
    found = difference(trace) if trace.rounds and not stopped else None
    if found is not None and not found.near_tie:
        apart = "" if found.margin is None else f", with logits {found.margin:.2g} apart"
        problem = f"new token {found.position + 1} is not plain decoding's{apart}"
        demand(not trace.header.lossless, "Baseline", problem)


def check_passes(plain: Baseline, greedy: bool) -> None:
    """Seconds of every pass; at temperature 0 margins, and where they are kept top logits."""
    size = len(plain.token_ids)
    demand(len(plain.seconds) == size, "Baseline", "it needs the seconds of every token")
    for seconds in plain.seconds:
        pass_time(seconds, "Baseline", "a pass")
    kept = (plain.margins is not None) == greedy
    demand(kept, "Baseline", "margins are kept at temperature 0, and only there")
    for logits in (plain.margins, plain.tops):
        demand(logits is None or len(logits) == size, "Baseline", "a margin for every token")
    finite = all(map(math.isfinite, [*(plain.margins or []), *(plain.tops or [])]))
    demand(finite, "Baseline", "logits are numbers")
    demand(min(plain.margins or [0.0]) >= 0, "Baseline", "a margin is below 0")
