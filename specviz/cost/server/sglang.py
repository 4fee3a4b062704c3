"""What SGLang says: averages in /server_info and /metrics, no counts and nothing by position.

Names as in sgl-project/sglang: python/sglang/srt/observability/metrics_collector.py (at 016d8605):
`spec_accept_length` is "accepted drafts + bonus token per forward", over the last few steps;
python/sglang/srt/managers/scheduler.py: `avg_spec_accept_length` is the same since the start.
`spec_accept_rate` is left alone: releases differ in whether the target's own token is counted in it
(pull request 13212 and scheduler_metrics_mixin.py at 00eef542 against the text above).

`speculative_num_steps` is the depth of a draft, `speculative_eagle_topk` how many guesses stand
beside each other; `speculative_num_draft_tokens` counts the last committed token too.
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
    "This SGLang tells of no accepted guess: it decodes plainly (start it with "
    "--speculative-algorithm), or nothing was decoded yet."
)
LATELY: Final = "The average is over its last few steps alone: it swings, and two differ."
EQUALLY: Final = "Several copies were averaged as if each had done as much."


def from_metrics(family: Metrics, model: str | None) -> ServerStats:
    """The gauges of /metrics. Copies of the model are told apart by `dp_rank`."""
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
    """One value a copy: its ranks say the same; a breakdown by priority is left out."""
    found: dict[str, float] = {}
    for sample in samples:
        if "priority" not in sample.labels:
            copy = sample.labels.get("dp_rank", "")
            found[copy] = max(found.get(copy, 0.0), sample.value)
    return list(found.values())


def from_info(data: Mapping[str, Any]) -> ServerStats:
    """/server_info: the server's settings, and what its schedulers say of themselves."""
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
    """1 for a chain. A tree is told by its settings, or by more guesses than it is deep."""
    if beside is not None:
        return beside
    return 2 if steps and verified and verified > steps + 1 else 1
