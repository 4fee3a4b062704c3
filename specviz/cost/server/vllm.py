"""Statistics of vLLM: the counters of /metrics, and a request's `metrics.speculative_decoding`.

Names as in vllm-project/vllm: vllm/v1/spec_decode/metrics.py (at 016a8587; the counters, to which
prometheus_client adds `_total`), vllm/v1/metrics/loggers.py (at 005a810b; requests that run),
vllm/v1/metrics/stats.py (pull request 48915; a request's histogram, vLLM 0.28 and later).

`num_accepted_tokens_per_pos` at position i counts the drafts with more than i accepted tokens, and
`num_drafts` counts drafts. Accepted tokens never include the target's own token.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

from specviz.cost.server.json_fields import (
    optional_number,
    required_counts,
    required_number,
    whole_number,
)
from specviz.cost.server.prometheus import Metrics
from specviz.cost.server.stats import ServerStats, UnreadableStats

DRAFTS: Final = "vllm:spec_decode_num_drafts"
DRAFTED: Final = "vllm:spec_decode_num_draft_tokens"
ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens"
PLACES: Final = "vllm:spec_decode_num_accepted_tokens_per_pos"
RUNNING: Final = "vllm:num_requests_running"
# The time between two outputs of a request, which is one round; the second name is the older one.
BETWEEN: Final = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")


def from_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse the counters of /metrics, which count from the start, summed over engines."""
    if not family.has(DRAFTS):
        raise UnreadableStats(
            "This vLLM reports no drafts: it decodes plainly (start it with --speculative-config), "
            "or it is too old to count them."
        )
    name, mine = family.of_model((DRAFTS,), model)
    accepted = mine.by_position(PLACES, "position") if mine.has(PLACES) else ()
    engines = max(1, len(mine.samples(DRAFTS)))
    running = mine.total(RUNNING)
    return ServerStats(
        "vLLM",
        "/metrics",
        name,
        rounds=mine.total(DRAFTS),
        drafted=mine.total(DRAFTED),
        accepted=mine.total(ACCEPTED),
        kept=accepted,
        gamma=len(accepted) or None,
        engines=engines,
        running=None if running is None else running / engines,
        between=_between(mine),
        counting=True,
    )


def _between(mine: Metrics) -> tuple[float, float] | None:
    for name in BETWEEN:
        seconds, count = mine.total(f"{name}_sum"), mine.total(f"{name}_count")
        if seconds is not None and count is not None:
            return seconds, count
    return None


def from_request(data: Mapping[str, Any]) -> ServerStats:
    """Parse one request's histogram: the number of rounds with exactly j accepted tokens."""
    histogram = required_counts(data, "acceptance_histogram")
    rounds = sum(histogram)
    reported = optional_number(data, "num_spec_steps")
    if reported is not None and reported != rounds:
        raise UnreadableStats(
            f"“acceptance_histogram” sums to {rounds:,.0f} rounds and “num_spec_steps” is "
            f"{reported:,.0f}."
        )
    at_least = list(accumulate(reversed(histogram)))[::-1]
    gamma = whole_number(optional_number(data, "num_spec_tokens"), "“num_spec_tokens”")
    return ServerStats(
        "vLLM",
        "answer to one request",
        rounds=rounds,
        drafted=required_number(data, "num_draft_tokens"),
        accepted=optional_number(data, "num_accepted_draft_tokens"),
        kept=tuple(at_least[1:]),
        gamma=gamma or len(histogram) - 1 or None,
    )
