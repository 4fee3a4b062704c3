"""Convert the statistics of vLLM, SGLang, TensorRT-LLM and llama.cpp to `ServerStats`.

The comments before each program's metric names say where the names are defined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from statistics import mean
from typing import Any, Final

from specviz.cost.server.formats import (
    Metrics,
    Sample,
    lookup,
    object_list,
    optional_number,
    required_counts,
    required_number,
    step_counts,
    whole_number,
)
from specviz.cost.server.stats import ServerStats, UnreadableStats

# vLLM. Names as in vllm-project/vllm: vllm/v1/spec_decode/metrics.py (at 016a8587; counters, to
# which prometheus_client adds `_total`), vllm/v1/metrics/loggers.py (at 005a810b; running
# requests), vllm/v1/metrics/stats.py (pull request 48915; a request's histogram, vLLM 0.28 and
# later). `num_accepted_tokens_per_pos` at position i counts the drafts with more than i accepted
# tokens, and `num_drafts` counts drafts. Accepted tokens never include the target's own token.
VLLM: Final = "vllm:spec_decode_num_"
VLLM_RUNNING: Final = "vllm:num_requests_running"
# The time between two outputs of a request, which is one round; the second name is the older one.
VLLM_BETWEEN: Final = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")


def vllm_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse vLLM's /metrics: counters since the start, summed over engines."""
    drafts = f"{VLLM}drafts"
    if not family.has(drafts):
        raise UnreadableStats(
            "This vLLM reports no drafts: it decodes plainly (start it with --speculative-config), "
            "or it is too old to count them."
        )
    name, mine = family.of_model((drafts,), model)
    engines = max(1, len(mine.samples(drafts)))
    running = mine.total(VLLM_RUNNING)
    return replace(
        _counters("vLLM", mine, VLLM),
        model=name,
        engines=engines,
        running=None if running is None else running / engines,
        output_gaps=_time_between_outputs(mine),
    )


def _counters(program: str, mine: Metrics, prefix: str) -> ServerStats:
    # The counters of vLLM, which llama.cpp has, too.
    accepted = mine.by_position(f"{prefix}accepted_tokens_per_pos", "position")
    return ServerStats(
        program,
        "/metrics",
        rounds=mine.total(f"{prefix}drafts"),
        drafted=mine.total(f"{prefix}draft_tokens"),
        accepted=mine.total(f"{prefix}accepted_tokens"),
        accepted_by_position=accepted,
        gamma=len(accepted) or None,
        is_counter=True,
    )


def _time_between_outputs(mine: Metrics) -> tuple[float, float] | None:
    for name in VLLM_BETWEEN:
        seconds, count = mine.total(f"{name}_sum"), mine.total(f"{name}_count")
        if seconds is not None and count is not None:
            return seconds, count
    return None


def vllm_requests(requests: Sequence[Mapping[str, Any]]) -> ServerStats:
    """Parse and add the metrics of several vLLM requests; their drafts are concatenated."""
    return _add_requests([vllm_request(data) for data in requests])


def _add_requests(each: Sequence[ServerStats]) -> ServerStats:
    # A count that one of them lacks is None.
    if len(each) == 1:
        return each[0]
    positions = max(len(one.accepted_by_position) for one in each)
    lengths = [one.gamma for one in each if one.gamma is not None]
    drafted = [one.drafted for one in each if one.drafted is not None]
    accepted = [one.accepted for one in each if one.accepted is not None]
    return ServerStats(
        each[0].program,
        f"answers to {len(each):,} requests",
        rounds=sum(one.rounds or 0.0 for one in each),
        drafted=sum(drafted) if len(drafted) == len(each) else None,
        accepted=sum(accepted) if len(accepted) == len(each) else None,
        accepted_by_position=tuple(
            sum(one.accepted_by_position[at] for one in each if at < len(one.accepted_by_position))
            for at in range(positions)
        ),
        gamma=max(lengths, default=None),
        siblings=next((one.siblings for one in each if one.siblings is not None), None),
        steps=tuple(step for one in each for step in one.steps),
    )


def vllm_request(data: Mapping[str, Any]) -> ServerStats:
    """Parse the metrics of one vLLM request, level "summary" or "detailed".

    The histogram counts, for each j, the rounds with exactly j accepted tokens. Level "detailed"
    adds two lists with one entry per step. Source: vLLM's "Per-Request Acceptance Metrics".
    """
    histogram = required_counts(data, "acceptance_histogram")
    rounds = sum(histogram)
    reported = optional_number(data, "num_spec_steps")
    if reported is not None and reported != rounds:
        raise UnreadableStats(
            f"“acceptance_histogram” sums to {rounds:,.0f} rounds and “num_spec_steps” is "
            f"{reported:,.0f}."
        )
    gamma = whole_number(optional_number(data, "num_spec_tokens"), "“num_spec_tokens”")
    return ServerStats(
        "vLLM",
        "answer to one request",
        rounds=rounds,
        drafted=required_number(data, "num_draft_tokens"),
        accepted=optional_number(data, "num_accepted_draft_tokens"),
        accepted_by_position=_at_each_position(histogram),
        gamma=gamma or len(histogram) - 1 or None,
        steps=_steps(data, histogram),
    )


def _at_each_position(histogram: Sequence[float]) -> tuple[float, ...]:
    # How many rounds accepted at least 1, 2, 3, … tokens.
    return tuple(accumulate(reversed(histogram)))[::-1][1:]


def _steps(data: Mapping[str, Any], histogram: Sequence[float]) -> tuple[tuple[int, int], ...]:
    # Empty if only a summary is reported.
    names = ("per_step_accepted", "per_step_drafted")
    if all(data.get(name) is None for name in names):
        return ()
    accepted, drafted = (step_counts(data, name) for name in names)
    if len(accepted) != len(drafted) or any(k > d for k, d in zip(accepted, drafted, strict=False)):
        raise UnreadableStats(
            "“per_step_accepted” and “per_step_drafted” need a count for each step, and no step "
            "can accept more tokens than it drafted."
        )
    counted = [float(accepted.count(length)) for length in range(len(histogram))]
    if counted != list(histogram):
        raise UnreadableStats("“per_step_accepted” contradicts “acceptance_histogram”.")
    return tuple(zip(accepted, drafted, strict=True))


# SGLang reports averages in /server_info and /metrics, and neither counts nor positions. Names as
# in sgl-project/sglang: python/sglang/srt/observability/metrics_collector.py (at 016d8605):
# `spec_accept_length` is "accepted drafts + bonus token per forward", over the last few steps;
# python/sglang/srt/managers/scheduler.py: `avg_spec_accept_length` is the same since the start.
# `spec_accept_rate` is not read: releases differ in whether it includes the target's own token
# (pull request 13212, and scheduler_metrics_mixin.py at 00eef542, contradict the text above).
# `speculative_num_steps` is the depth of a draft, `speculative_eagle_topk` its number of siblings,
# and `speculative_num_draft_tokens` includes the last committed token.
SGLANG_LENGTH: Final = "sglang:spec_accept_length"
SGLANG_STEPS: Final = "sglang:spec_num_steps"
SGLANG_TOKENS: Final = "sglang:spec_num_draft_tokens"
SGLANG_RUNNING: Final = "sglang:num_running_reqs"
SGLANG_OFF: Final = (
    "This SGLang reports no accepted tokens: it decodes plainly (start it with "
    "--speculative-algorithm), or nothing was decoded yet."
)
RECENT_AVERAGE: Final = (
    "The average covers only the last few steps, so it fluctuates from one reading to the next."
)
EQUAL_WEIGHTS: Final = "Several copies of the model were averaged with equal weight."


def sglang_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse SGLang's /metrics, which are gauges; copies of the model differ in `dp_rank`."""
    if not family.has(SGLANG_LENGTH):
        raise UnreadableStats(SGLANG_OFF)
    name, mine = family.of_model((SGLANG_LENGTH,), model)
    lengths = [value for value in _by_copy(mine.samples(SGLANG_LENGTH)) if value]
    if not lengths:
        raise UnreadableStats(SGLANG_OFF)
    steps = whole_number(max(_by_copy(mine.samples(SGLANG_STEPS)), default=0), "“spec_num_steps”")
    verified = whole_number(
        max(_by_copy(mine.samples(SGLANG_TOKENS)), default=0), "“spec_num_draft_tokens”"
    )
    running = _by_copy(mine.samples(SGLANG_RUNNING))
    return ServerStats(
        "SGLang",
        "/metrics",
        name,
        mean=mean(lengths),
        gamma=steps,
        siblings=_siblings(steps, verified, None),
        engines=len(lengths),
        running=mean(running) if running else None,
        notes=(RECENT_AVERAGE, *((EQUAL_WEIGHTS,) if len(lengths) > 1 else ())),
    )


def _by_copy(samples: list[Sample]) -> list[float]:
    # The largest value of each copy of the model, ignoring values for one priority only.
    found: dict[str, float] = {}
    for sample in samples:
        if "priority" not in sample.labels:
            copy = sample.labels.get("dp_rank", "")
            found[copy] = max(found.get(copy, 0.0), sample.value)
    return list(found.values())


def sglang_info(data: Mapping[str, Any]) -> ServerStats:
    """Parse SGLang's /server_info: the server's settings and the state of its schedulers."""
    states = object_list(data.get("internal_states", []), "internal_states")
    lengths = [
        found for state in states if (found := optional_number(state, "avg_spec_accept_length"))
    ]
    if not lengths:
        raise UnreadableStats(SGLANG_OFF)
    everything = {**data, **states[0]}

    def setting(name: str) -> int | None:
        return whole_number(optional_number(everything, name), f"“{name}”")

    steps = setting("speculative_num_steps")
    verified = setting("speculative_num_draft_tokens")
    name = everything.get("served_model_name")
    return ServerStats(
        "SGLang",
        "/server_info",
        name if isinstance(name, str) else "",
        mean=mean(lengths),
        gamma=steps,
        siblings=_siblings(steps, verified, setting("speculative_eagle_topk")),
        engines=len(lengths),
        notes=(EQUAL_WEIGHTS,) if len(lengths) > 1 else (),
    )


# The `meta_info` of an SGLang answer. Names as in sgl-project/sglang:
# python/sglang/srt/managers/tokenizer_manager.py, later
# tokenizer_manager_components/spec_decoding_meta.py (at 9155cf0e). Newer releases write
# `spec_correct_drafts_histogram` and keep `spec_accept_histogram`, the only name of older ones, as
# an alias. Entry j counts the steps that accepted j tokens, without the target's own; the list ends
# at the largest j that occurred. The proposed tokens are `spec_verify_ct` times
# (`speculative_num_draft_tokens` - 1), which are the nodes of a tree and the length of a chain.
SGLANG_HISTOGRAMS: Final = ("spec_correct_drafts_histogram", "spec_accept_histogram")
SGLANG_CORRECT: Final = ("spec_num_correct_drafts", "spec_accepted_drafts")
SGLANG_PROPOSED: Final = (
    "spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num"
)  # fmt: skip
SGLANG_VERIFIED: Final = "spec_verify_ct"
CHAIN_OR_TREE: Final = (
    "An SGLang answer does not report whether its drafts were chains or trees, so their length is "
    "unknown."
)


def sglang_requests(requests: Sequence[Mapping[str, Any]]) -> ServerStats:
    """Parse and add the `meta_info` of the answers to several SGLang requests."""
    total = _add_requests([sglang_request(data) for data in requests])
    # One server drafts with one configuration, so a chain in one answer decides for all.
    return replace(total, notes=() if total.siblings == 1 else (CHAIN_OR_TREE,))


def sglang_request(data: Mapping[str, Any]) -> ServerStats:
    """Parse the `meta_info` of an SGLang answer, with a histogram.

    Raises UnreadableStats if a count is not valid, or two of them contradict each other.
    """
    name = next(name for name in SGLANG_HISTOGRAMS if name in data)
    histogram = required_counts(data, name)
    rounds, accepted = sum(histogram), sum(j * steps for j, steps in enumerate(histogram))
    for other, counted in [
        (SGLANG_VERIFIED, rounds),
        *((each, accepted) for each in SGLANG_CORRECT),
    ]:
        reported = optional_number(data, other)
        if reported is not None and reported != counted:
            raise UnreadableStats(
                f"“{name}” gives {counted:,.0f} and “{other}” is {reported:,.0f}."
            )
    proposed = [optional_number(data, each) for each in SGLANG_PROPOSED]
    drafted = next((each for each in proposed if each is not None), None)
    # Only a chain can be accepted as a whole.
    chain = drafted is not None and drafted == rounds * (len(histogram) - 1)
    return ServerStats(
        "SGLang",
        "answer to one request",
        rounds=rounds,
        drafted=drafted,
        accepted=accepted,
        accepted_by_position=_at_each_position(histogram),
        gamma=len(histogram) - 1 or None if chain else None,
        siblings=1 if chain else None,
    )


def _siblings(steps: int | None, verified: int | None, beside: int | None) -> int:
    # Top-k if known; else 2 if there are more tokens than levels, otherwise 1.
    if beside is not None:
        return beside
    return 2 if steps and verified and verified > steps + 1 else 1


# TensorRT-LLM reports iterations as JSON at /metrics, and counters at /prometheus/metrics. Names as
# in NVIDIA/TensorRT-LLM: cpp/include/tensorrt_llm/executor/types.h (at a98a9061, SpecDecodingStats:
# `numRequestsWithDraftTokens` are the drafts of an iteration, `acceptanceLength` counts the
# target's own token), tensorrt_llm/metrics/collector.py (at 050f80de: counters by `token_position`;
# a position appears once something happened there). /metrics returns each iteration only once, so a
# second reader does not get it again.
TRTLLM_DRAFTED: Final = "trtllm_spec_decode_num_draft_tokens"
TRTLLM_ACCEPTED: Final = "trtllm_spec_decode_num_accepted_tokens"
TRTLLM_DRAFTED_AT: Final = "trtllm_spec_decode_drafted_tokens"
TRTLLM_ACCEPTED_AT: Final = "trtllm_spec_decode_accepted_tokens"
TRTLLM_POSITION: Final = "token_position"
TRTLLM_RUNNING: Final = ("trtllm_num_generation_requests", "trtllm_num_requests_running")
TRTLLM_OFF: Final = (
    "This TensorRT-LLM reports no draft tokens: it decodes plainly, nothing was decoded yet, or "
    "the statistics are off (enable_iter_perf_stats, return_perf_metrics)."
)
NEWEST_ONLY: Final = (
    "Each iteration is reported once: these are the newest, not all since the start."
)


def tensorrt_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse TensorRT-LLM's /prometheus/metrics: counters, by position if present."""
    if not family.has(TRTLLM_DRAFTED, TRTLLM_DRAFTED_AT):
        raise UnreadableStats(TRTLLM_OFF)
    name, mine = family.of_model((TRTLLM_DRAFTED, TRTLLM_DRAFTED_AT), model)
    drafts = mine.by_position(TRTLLM_DRAFTED_AT, TRTLLM_POSITION)
    accepted = mine.by_position(TRTLLM_ACCEPTED_AT, TRTLLM_POSITION)
    running = [value for each in TRTLLM_RUNNING if (value := mine.total(each)) is not None]
    placed = ServerStats(
        "TensorRT-LLM",
        "/prometheus/metrics",
        name,
        rounds=drafts[0] if drafts else None,
        drafted=sum(drafts) if drafts else mine.total(TRTLLM_DRAFTED),
        accepted=sum(accepted) if drafts else mine.total(TRTLLM_ACCEPTED),
        accepted_by_position=(*accepted, *[0.0] * (len(drafts) - len(accepted))) if drafts else (),
        gamma=len(drafts) or None,
        running=running[0] if running else None,
        is_counter=True,
    )
    if not placed.drafted:
        raise UnreadableStats(TRTLLM_OFF)
    return placed


def tensorrt_iterations(iterations: Sequence[Mapping[str, Any]]) -> ServerStats:
    """Parse TensorRT-LLM's /metrics, a list of iterations, of which some have no drafts."""
    stats = [found for each in iterations if (found := each.get("specDecodingStats"))]
    if not all(isinstance(each, dict) for each in stats):
        raise UnreadableStats("“specDecodingStats” must be an object.")
    drafting = [each for each in stats if required_number(each, "numDraftTokens")]
    if not drafting:
        raise UnreadableStats(TRTLLM_OFF)
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
        notes=(NEWEST_ONLY,),
    )


# llama.cpp. Names as in ggml-org/llama.cpp: tools/server/server-task.cpp (at 00efb3e1,
# result_timings: `draft_n` and `draft_n_accepted`, left out if nothing was drafted), and pull
# request 26389, which gave /metrics the same counters as vLLM's (August 2026), with one position
# per token of the longest draft (--spec-draft-n-max).
LLAMACPP: Final = "llamacpp:spec_decode_num_"
LLAMACPP_RUNNING: Final = "llamacpp:requests_processing"
LLAMACPP_OFF: Final = (
    "This llama.cpp drafted nothing: it was started without a drafter (--spec-type, or a draft "
    "model), or it is too old to count draft tokens."
)
LLAMACPP_ALL_PASSES: Final = (
    "Its tokens per pass include every pass of the answer, also those without a draft and the one "
    "over the prompt: each yields one token of the target’s own."
)


def llamacpp_metrics(family: Metrics) -> ServerStats:
    """Parse llama.cpp's /metrics: counters since the start of the server."""
    if not family.total(f"{LLAMACPP}drafts"):
        raise UnreadableStats(LLAMACPP_OFF)
    counted = _counters("llama.cpp", family, LLAMACPP)
    return replace(counted, running=family.total(LLAMACPP_RUNNING))


def llamacpp_timings(timings: Mapping[str, Any]) -> ServerStats:
    """Parse the `timings` of one llama.cpp answer."""
    if "draft_n" not in timings:
        raise UnreadableStats(LLAMACPP_OFF)
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
        notes=(LLAMACPP_ALL_PASSES,),
    )
