"""Which program's words a text is, and what they say.

Rule: a text is at most LONGEST characters; whatever is not recognised is refused with a sentence
that says what would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from specviz.cost.server import llamacpp, sglang, tensorrt, vllm
from specviz.cost.server.prometheus import Family, parse
from specviz.cost.server.told import Told, Unknown, Unreadable
from specviz.cost.server.values import inner, loaded, rows

LONGEST: Final = 400_000  # characters
READ: Final = (
    "What is read here: /metrics of vLLM, SGLang, TensorRT-LLM or llama.cpp, SGLang’s "
    "/server_info, and an answer of vLLM’s or llama.cpp’s with its own counts."
)
# Every name that is looked at in JSON. A page may leave out the rest before it sends a text: an
# SGLang server's settings hold keys.
JSON_NAMES: Final = (
    "metrics", "speculative_decoding", "acceptance_histogram", "num_spec_steps", "num_draft_tokens",
    "num_accepted_draft_tokens", "num_spec_tokens", "internal_states", "avg_spec_accept_length",
    "speculative_num_steps", "speculative_num_draft_tokens", "speculative_eagle_topk",
    "served_model_name", "iter", "specDecodingStats", "numDraftTokens", "numAcceptedTokens",
    "numRequestsWithDraftTokens", "inflightBatchingStats", "numGenRequests", "timings",
    "draft_n", "draft_n_accepted", "predicted_n",
)  # fmt: skip


def read(text: str, model: str | None = None) -> Told:
    """What a text says. model: which, where it tells of several. Raises Unreadable."""
    if len(text) > LONGEST:
        raise Unreadable(
            f"This text has {len(text):,} characters, and {LONGEST:,} are read at most: leave out "
            "lines that have “_bucket” in their name."
        )
    stripped = text.strip()
    if not stripped:
        raise Unreadable(f"There is no text. {READ}")
    if stripped[0] in "{[":
        return _of_json(loaded(stripped))
    if stripped[0] == "<":
        raise Unknown(f"This is a web page. {READ}")
    return _of_metrics(Family(parse(stripped)), model)


def _of_metrics(family: Family, model: str | None) -> Told:
    """By the program's name, with which each of its metrics begins."""
    programs = family.programs()
    if len(programs) > 1:
        raise Unreadable(f"This is of {' and '.join(sorted(programs))}: one program at a time.")
    if "vllm" in programs:
        return vllm.from_metrics(family, model)
    if "sglang" in programs:
        return sglang.from_metrics(family, model)
    if "trtllm" in programs:
        return tensorrt.from_metrics(family, model)
    if "llamacpp" in programs:
        return llamacpp.from_metrics(family)
    raise Unknown(f"None of these metrics is known. {READ}")


def _of_json(data: Any) -> Told:
    if isinstance(data, list):
        return tensorrt.from_iterations(rows(data, "iterations"))
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
    raise Unknown(f"This JSON has no counts of guesses that are known. {READ}")


def _first(data: Mapping[str, Any], *paths: tuple[str, ...]) -> Mapping[str, Any] | None:
    found = (inner(data, *path) for path in paths)
    return next((each for each in found if isinstance(each, dict)), None)
