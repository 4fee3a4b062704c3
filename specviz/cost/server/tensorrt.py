"""What TensorRT-LLM says: iterations as JSON at /metrics, counters at /prometheus/metrics.

Names as in NVIDIA/TensorRT-LLM: cpp/include/tensorrt_llm/executor/types.h (at a98a9061,
SpecDecodingStats: `numRequestsWithDraftTokens` are the drafts of an iteration, `acceptanceLength`
counts the target's own token), tensorrt_llm/metrics/collector.py (at 050f80de: counters by
`token_position`; a position is there once something happened at it).

/metrics gives each iteration once: whoever reads it takes it from the next reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any, Final

from specviz.cost.server.prometheus import Family
from specviz.cost.server.told import Told, Unreadable
from specviz.cost.server.values import inner, needed, number

DRAFTED: Final = "trtllm_spec_decode_num_draft_tokens"
ACCEPTED: Final = "trtllm_spec_decode_num_accepted_tokens"
DRAFTED_AT: Final = "trtllm_spec_decode_drafted_tokens"
ACCEPTED_AT: Final = "trtllm_spec_decode_accepted_tokens"
POSITION: Final = "token_position"
RUNNING: Final = ("trtllm_num_generation_requests", "trtllm_num_requests_running")
OFF: Final = (
    "This TensorRT-LLM tells of no drafted guess: it decodes plainly, or nothing was decoded, or "
    "it does not keep such counts (enable_iter_perf_stats, return_perf_metrics)."
)
FEW: Final = "An iteration is told once: these are the newest, not all since the start."


def from_metrics(family: Family, model: str | None) -> Told:
    """The counters of /prometheus/metrics; by position where they are there."""
    if not family.has(DRAFTED, DRAFTED_AT):
        raise Unreadable(OFF)
    name, mine = family.of_model((DRAFTED, DRAFTED_AT), model)
    drafts = mine.by_position(DRAFTED_AT, POSITION)
    kept = mine.by_position(ACCEPTED_AT, POSITION)
    running = [value for each in RUNNING if (value := mine.total(each)) is not None]
    placed = Told(
        "TensorRT-LLM",
        "/prometheus/metrics",
        name,
        rounds=drafts[0] if drafts else None,
        drafted=sum(drafts) if drafts else mine.total(DRAFTED),
        accepted=sum(kept) if drafts else mine.total(ACCEPTED),
        kept=(*kept, *[0.0] * (len(drafts) - len(kept))) if drafts else (),
        gamma=len(drafts) or None,
        running=running[0] if running else None,
        counting=True,
    )
    if not placed.drafted:
        raise Unreadable(OFF)
    return placed


def from_iterations(iterations: Sequence[Mapping[str, Any]]) -> Told:
    """The list of /metrics, iterations without drafts left out."""
    stats = [found for each in iterations if (found := each.get("specDecodingStats"))]
    if not all(isinstance(each, dict) for each in stats):
        raise Unreadable("“specDecodingStats” must be an object.")
    drafting = [each for each in stats if needed(each, "numDraftTokens")]
    if not drafting:
        raise Unreadable(OFF)
    batches = [
        found
        for each in iterations
        if (found := number(inner(each, "inflightBatchingStats") or {}, "numGenRequests"))
    ]
    return Told(
        "TensorRT-LLM",
        "/metrics",
        rounds=sum(needed(each, "numRequestsWithDraftTokens") for each in drafting),
        drafted=sum(needed(each, "numDraftTokens") for each in drafting),
        accepted=sum(needed(each, "numAcceptedTokens") for each in drafting),
        running=mean(batches) if batches else None,
        notes=(FEW,),
    )
