"""Statistics of TensorRT-LLM: iterations as JSON at /metrics, counters at /prometheus/metrics.

Names as in NVIDIA/TensorRT-LLM: cpp/include/tensorrt_llm/executor/types.h (at a98a9061,
SpecDecodingStats: `numRequestsWithDraftTokens` are the drafts of an iteration, `acceptanceLength`
counts the target's own token), tensorrt_llm/metrics/collector.py (at 050f80de: counters by
`token_position`; a position appears once something happened there).

/metrics returns each iteration only once: a second reader does not get it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, Final

from specviz.cost.server.json_fields import lookup, optional_number, required_number
from specviz.cost.server.prometheus import Metrics
from specviz.cost.server.stats import ServerStats, UnreadableStats

DRAFTED: Final = "trtllm_spec_decode_num_draft_tokens"
ACCEPTED: Final = "trtllm_spec_decode_num_accepted_tokens"
DRAFTED_AT: Final = "trtllm_spec_decode_drafted_tokens"
ACCEPTED_AT: Final = "trtllm_spec_decode_accepted_tokens"
POSITION: Final = "token_position"
RUNNING: Final = ("trtllm_num_generation_requests", "trtllm_num_requests_running")
OFF: Final = (
    "This TensorRT-LLM reports no draft tokens: it decodes plainly, nothing was decoded yet, or "
    "the statistics are off (enable_iter_perf_stats, return_perf_metrics)."
)
FEW: Final = "Each iteration is reported once: these are the newest, not all since the start."


def from_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse the counters of /prometheus/metrics, by position if they are present."""
    if not family.has(DRAFTED, DRAFTED_AT):
        raise UnreadableStats(OFF)
    name, mine = family.of_model((DRAFTED, DRAFTED_AT), model)
    drafts = mine.by_position(DRAFTED_AT, POSITION)
    accepted = mine.by_position(ACCEPTED_AT, POSITION)
    running = [value for each in RUNNING if (value := mine.total(each)) is not None]
    placed = ServerStats(
        "TensorRT-LLM",
        "/prometheus/metrics",
        name,
        rounds=drafts[0] if drafts else None,
        drafted=sum(drafts) if drafts else mine.total(DRAFTED),
        accepted=sum(accepted) if drafts else mine.total(ACCEPTED),
        kept=(*accepted, *[0.0] * (len(drafts) - len(accepted))) if drafts else (),
        gamma=len(drafts) or None,
        running=running[0] if running else None,
        counting=True,
    )
    if not placed.drafted:
        raise UnreadableStats(OFF)
    return placed


def from_iterations(iterations: Sequence[Mapping[str, Any]]) -> ServerStats:
    """Parse the list of /metrics, skipping iterations without drafts."""
    stats = [found for each in iterations if (found := each.get("specDecodingStats"))]
    if not all(isinstance(each, dict) for each in stats):
        raise UnreadableStats("“specDecodingStats” must be an object.")
    drafting = [each for each in stats if required_number(each, "numDraftTokens")]
    if not drafting:
        raise UnreadableStats(OFF)
    batches = [
        found
        for each in iterations
        if (found := optional_number(lookup(each, "inflightBatchingStats") or {}, "numGenRequests"))
    ]
    return ServerStats(
        "TensorRT-LLM",
        "/metrics",
        rounds=sum(required_number(each, "numRequestsWithDraftTokens") for each in drafting),
        drafted=sum(required_number(each, "numDraftTokens") for each in drafting),
        accepted=sum(required_number(each, "numAcceptedTokens") for each in drafting),
        running=mean(batches) if batches else None,
        notes=(FEW,),
    )
