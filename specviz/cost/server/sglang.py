"""Statistics of SGLang: averages in /server_info and /metrics; no counts, no positions.

Names as in sgl-project/sglang: python/sglang/srt/observability/metrics_collector.py (at 016d8605):
`spec_accept_length` is "accepted drafts + bonus token per forward", over the last few steps;
python/sglang/srt/managers/scheduler.py: `avg_spec_accept_length` is the same since the start.
`spec_accept_rate` is not read: releases differ in whether it includes the target's own token
(pull request 13212 and scheduler_metrics_mixin.py at 00eef542 against the text above).

`speculative_num_steps` is the depth of a draft and `speculative_eagle_topk` its number of siblings;
`speculative_num_draft_tokens` includes the last committed token.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean
from typing import Any, Final

from specviz.cost.server.json_fields import object_list, optional_number, whole_number
from specviz.cost.server.prometheus import Metrics, Sample
from specviz.cost.server.stats import ServerStats, UnreadableStats

LENGTH: Final = "sglang:spec_accept_length"
STEPS: Final = "sglang:spec_num_steps"
TOKENS: Final = "sglang:spec_num_draft_tokens"
RUNNING: Final = "sglang:num_running_reqs"
OFF: Final = (
    "This SGLang reports no accepted tokens: it decodes plainly (start it with "
    "--speculative-algorithm), or nothing was decoded yet."
)
LATELY: Final = (
    "The average covers only the last few steps, so it fluctuates from one reading to the next."
)
EQUALLY: Final = "Several copies of the model were averaged with equal weight."


def from_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Parse the gauges of /metrics. Copies of the model differ in `dp_rank`."""
    if not family.has(LENGTH):
        raise UnreadableStats(OFF)
    name, mine = family.of_model((LENGTH,), model)
    lengths = [value for value in _by_copy(mine.samples(LENGTH)) if value]
    if not lengths:
        raise UnreadableStats(OFF)
    steps = whole_number(max(_by_copy(mine.samples(STEPS)), default=0), "“spec_num_steps”")
    verified = whole_number(
        max(_by_copy(mine.samples(TOKENS)), default=0), "“spec_num_draft_tokens”"
    )
    running = _by_copy(mine.samples(RUNNING))
    return ServerStats(
        "SGLang",
        "/metrics",
        name,
        mean=mean(lengths),
        gamma=steps,
        siblings=_siblings(steps, verified, None),
        engines=len(lengths),
        running=mean(running) if running else None,
        notes=(LATELY, *((EQUALLY,) if len(lengths) > 1 else ())),
    )


def _by_copy(samples: list[Sample]) -> list[float]:
    """Return one value per copy: its ranks agree, and breakdowns by priority are skipped."""
    found: dict[str, float] = {}
    for sample in samples:
        if "priority" not in sample.labels:
            copy = sample.labels.get("dp_rank", "")
            found[copy] = max(found.get(copy, 0.0), sample.value)
    return list(found.values())


def from_info(data: Mapping[str, Any]) -> ServerStats:
    """Parse /server_info: the server's settings and the state of its schedulers."""
    states = object_list(data.get("internal_states", []), "internal_states")
    lengths = [
        found for state in states if (found := optional_number(state, "avg_spec_accept_length"))
    ]
    if not lengths:
        raise UnreadableStats(OFF)
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
        notes=(EQUALLY,) if len(lengths) > 1 else (),
    )


def _siblings(steps: int | None, verified: int | None, beside: int | None) -> int:
    """Return 1 for a chain; a tree has top-k siblings, or more draft tokens than levels."""
    if beside is not None:
        return beside
    return 2 if steps and verified and verified > steps + 1 else 1
