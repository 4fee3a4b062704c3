"""Recognize which program's statistics a text holds, and parse them.

Everything that is not recognized is refused with a sentence that names the supported formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specviz.cost.server import llamacpp, sglang, tensorrt, vllm
from specviz.cost.server.json_fields import lookup, object_list, parse_json
from specviz.cost.server.prometheus import Metrics, parse
from specviz.cost.server.stats import ServerStats, UnknownFormat, UnreadableStats

MAX_CHARACTERS: Final = 400_000  # characters
READABLE: Final = (
    "Supported are /metrics of vLLM, SGLang, TensorRT-LLM and llama.cpp, SGLang’s "
    "/server_info, and an answer of vLLM or llama.cpp that includes its counts."
)
# Every name that is read from JSON. The page removes all others before it sends a text, since the
# settings of an SGLang server contain API keys.
JSON_NAMES: Final = (
    "metrics", "speculative_decoding", "acceptance_histogram", "num_spec_steps", "num_draft_tokens",
    "num_accepted_draft_tokens", "num_spec_tokens", "internal_states", "avg_spec_accept_length",
    "speculative_num_steps", "speculative_num_draft_tokens", "speculative_eagle_topk",
    "served_model_name", "iter", "specDecodingStats", "numDraftTokens", "numAcceptedTokens",
    "numRequestsWithDraftTokens", "inflightBatchingStats", "numGenRequests", "timings",
    "draft_n", "draft_n_accepted", "predicted_n",
)  # fmt: skip


def parse_stats(text: str, model: str | None = None) -> ServerStats:
    """Parse the statistics of a server.

    Args:
        text: At most MAX_CHARACTERS characters of metrics or JSON.
        model: The model to choose if the text covers several.

    Raises:
        UnreadableStats: With a sentence, if the text cannot be used.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableStats(
            f"This text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. "
            "Leave out lines with “_bucket” in their name."
        )
    stripped = text.strip()
    if not stripped:
        raise UnreadableStats(f"The text is empty. {READABLE}")
    if stripped[0] in "{[":
        return _of_json(parse_json(stripped))
    if stripped[0] == "<":
        raise UnknownFormat(f"This is a web page. {READABLE}")
    return _of_metrics(Metrics(parse(stripped)), model)


def _of_metrics(family: Metrics, model: str | None) -> ServerStats:
    """Choose the parser by the prefix that all metrics of a program share."""
    programs = family.programs()
    if len(programs) > 1:
        raise UnreadableStats(
            f"These metrics are from {' and '.join(sorted(programs))}: paste one program at a time."
        )
    if "vllm" in programs:
        return vllm.from_metrics(family, model)
    if "sglang" in programs:
        return sglang.from_metrics(family, model)
    if "trtllm" in programs:
        return tensorrt.from_metrics(family, model)
    if "llamacpp" in programs:
        return llamacpp.from_metrics(family)
    raise UnknownFormat(f"None of these metrics is supported. {READABLE}")


def _of_json(data: Any) -> ServerStats:
    if isinstance(data, list):
        return tensorrt.from_iterations(object_list(data, "iterations"))
    if "internal_states" in data:
        return sglang.from_info(data)
    if "specDecodingStats" in data:
        return tensorrt.from_iterations([data])
    request = _first(data, ("metrics", "speculative_decoding"), ("speculative_decoding",))
    if request is not None or "acceptance_histogram" in data:
        return vllm.from_request(request or data)
    timings = _first(data, ("timings",))
    if timings is not None or "draft_n" in data:
        return llamacpp.from_timings(timings or data)
    raise UnknownFormat(f"This JSON has no counts of draft tokens. {READABLE}")


def _first(data: Mapping[str, Any], *paths: tuple[str, ...]) -> Mapping[str, Any] | None:
    found = (lookup(data, *path) for path in paths)
    return next((each for each in found if isinstance(each, dict)), None)
