"""Statistics of llama.cpp's server: the counters of /metrics, and the `timings` of an answer.

Names as in ggml-org/llama.cpp: tools/server/server-task.cpp (at 00efb3e1, result_timings: `draft_n`
and `draft_n_accepted`, left out where nothing was drafted), and pull request 26389, which gave
/metrics the same counters as vLLM's (August 2026), with one position per token of the longest
draft (--spec-draft-n-max).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specviz.cost.server.json_fields import required_number
from specviz.cost.server.prometheus import Metrics
from specviz.cost.server.stats import ServerStats, UnreadableStats

DRAFTS: Final = "llamacpp:spec_decode_num_drafts"
DRAFTED: Final = "llamacpp:spec_decode_num_draft_tokens"
ACCEPTED: Final = "llamacpp:spec_decode_num_accepted_tokens"
PLACES: Final = "llamacpp:spec_decode_num_accepted_tokens_per_pos"
RUNNING: Final = "llamacpp:requests_processing"
OFF: Final = (
    "This llama.cpp drafted nothing: it was started without a drafter (--spec-type, or a draft "
    "model), or it is too old to count draft tokens."
)
ALL_PASSES: Final = (
    "Its tokens per pass include every pass of the answer, also those without a draft and the one "
    "over the prompt: each yields one token of the target’s own."
)


def from_metrics(family: Metrics) -> ServerStats:
    """Parse the counters of /metrics, which count from the start of the server."""
    if not family.total(DRAFTS):
        raise UnreadableStats(OFF)
    kept = family.by_position(PLACES, "position")
    return ServerStats(
        "llama.cpp",
        "/metrics",
        rounds=family.total(DRAFTS),
        drafted=family.total(DRAFTED),
        accepted=family.total(ACCEPTED),
        kept=kept,
        gamma=len(kept) or None,
        running=family.total(RUNNING),
        counting=True,
    )


def from_timings(timings: Mapping[str, Any]) -> ServerStats:
    """Parse the `timings` of one answer."""
    if "draft_n" not in timings:
        raise UnreadableStats(OFF)
    drafted, accepted = (
        required_number(timings, "draft_n"),
        required_number(timings, "draft_n_accepted"),
    )
    tokens = required_number(timings, "predicted_n")
    if tokens <= accepted:
        raise UnreadableStats(
            f"{accepted:,.0f} accepted of {tokens:,.0f} tokens is impossible: each pass adds one."
        )
    return ServerStats(
        "llama.cpp",
        "answer to one request",
        drafted=drafted,
        accepted=accepted,
        mean=tokens / (tokens - accepted),
        running=1.0,
        notes=(ALL_PASSES,),
    )
