"""Get a server's statistics: parse a text, fetch it from the server, or use the shipped example.

For a text that is not recognized, the error lists the supported formats. Fetching contacts only the
given address, for at most ten seconds and four MiB per path.

The numbers in the example were counted by vLLM, in the comparison in assets/models/peers.json:
accepted tokens by position over thirty prompts, one sequence at a time, on a CPU. The text of
/metrics was not stored, so the lines around the numbers are written here in vLLM's format.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, Final

from specviz.cost.server.formats import (
    Metrics,
    lookup,
    object_list,
    of_metrics,
    parse_json_lines,
    parse_metrics,
    unrecognized,
)
from specviz.cost.server.programs import (
    SGLANG_CORRECT,
    SGLANG_HISTOGRAMS,
    SGLANG_PROPOSED,
    SGLANG_VERIFIED,
    llamacpp_metrics,
    llamacpp_timings,
    sglang_info,
    sglang_metrics,
    sglang_requests,
    tensorrt_iterations,
    tensorrt_metrics,
    vllm_metrics,
    vllm_requests,
)
from specviz.cost.server.stats import ServerStats, SeveralModels, UnknownFormat, UnreadableStats
from specviz.models.errors import ServerFault
from specviz.models.served.http_client import Address, HttpClient, Refused
from specviz.shipped import ASSETS, read_shipped_json

log = logging.getLogger(__name__)

MAX_CHARACTERS: Final = 400_000
BYTE_ORDER_MARK: Final = "\ufeff"  # begins text from standard input, a server or the page's box
# All names that are read from JSON. The page removes everything else before it sends a text,
# because the settings of an SGLang server contain API keys.
JSON_NAMES: Final = (
    "metrics", "speculative_decoding", "acceptance_histogram", "num_spec_steps", "num_draft_tokens",
    "num_accepted_draft_tokens", "num_spec_tokens", "per_step_accepted", "per_step_drafted",
    "internal_states", "avg_spec_accept_length",
    "speculative_num_steps", "speculative_num_draft_tokens", "speculative_eagle_topk",
    "served_model_name", "iter", "specDecodingStats", "numDraftTokens", "numAcceptedTokens",
    "numRequestsWithDraftTokens", "inflightBatchingStats", "numGenRequests", "timings",
    "draft_n", "draft_n_accepted", "predicted_n", "choices", "meta_info",
    *SGLANG_HISTOGRAMS, *SGLANG_CORRECT, *SGLANG_PROPOSED, SGLANG_VERIFIED,
)  # fmt: skip


def parse_stats(text: str, model: str | None = None) -> ServerStats:
    """Parse the statistics of a server.

    Raises UnreadableStats if the text cannot be used.

    Args:
        text: Metrics or JSON, at most MAX_CHARACTERS characters.
        model: The model to select if the text has several.
    """
    if len(text) > MAX_CHARACTERS:
        raise UnreadableStats(
            f"This text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. "
            "Leave out lines with “_bucket” in their name."
        )
    stripped = text.removeprefix(BYTE_ORDER_MARK).strip()
    if not stripped:
        raise unrecognized("nothing")
    if stripped[0] == "{" or re.match(r"\[\s*[{\[\]]", stripped):
        return _of_json(parse_json_lines(stripped))
    if stripped[0] == "<":
        raise unrecognized("web_page")
    return _of_metrics(Metrics(parse_metrics(stripped)), model)


def _of_metrics(family: Metrics, model: str | None) -> ServerStats:
    # All metrics of a program have the same prefix.
    programs = family.programs()
    if len(programs) > 1:
        raise UnreadableStats(
            f"These metrics are from {' and '.join(sorted(programs))}: paste one program at a time."
        )
    if "vllm" in programs:
        return vllm_metrics(family, model)
    if "sglang" in programs:
        return sglang_metrics(family, model)
    if "trtllm" in programs:
        return tensorrt_metrics(family, model)
    if "llamacpp" in programs:
        return llamacpp_metrics(family)
    raise of_metrics(family.names)


def _of_json(data: Any) -> ServerStats:
    rows = object_list(data, "the list") if isinstance(data, list) else [data]
    if (answers := _requests(rows)) is not None:
        return answers
    if isinstance(data, list):
        return tensorrt_iterations(rows)
    if "internal_states" in data:
        return sglang_info(data)
    if "specDecodingStats" in data:
        return tensorrt_iterations([data])
    timings = _first(data, ("timings",))
    if timings is not None or "draft_n" in data:
        return llamacpp_timings(timings or data)
    raise unrecognized("json")


def _requests(rows: Sequence[Mapping[str, Any]]) -> ServerStats | None:
    vllm = [_vllm_request(row) for row in rows]
    if rows and all(request is not None for request in vllm):
        return vllm_requests([request for request in vllm if request is not None])
    sglang = [_sglang_request(row) for row in rows]
    if rows and all(sglang):
        return sglang_requests([request for several in sglang for request in several])
    return None


def _vllm_request(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = _first(data, ("metrics", "speculative_decoding"), ("speculative_decoding",))
    return data if found is None and "acceptance_histogram" in data else found


def _sglang_request(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    choices = data.get("choices")
    holders = [data, *(choices if isinstance(choices, list) else ())]
    found = [lookup(holder, "meta_info") for holder in holders]
    return [
        each
        for each in (data, *found)
        if isinstance(each, dict) and any(name in each for name in SGLANG_HISTOGRAMS)
    ]


def _first(data: Mapping[str, Any], *paths: tuple[str, ...]) -> Mapping[str, Any] | None:
    found = (lookup(data, *path) for path in paths)
    return next((each for each in found if isinstance(each, dict)), None)


# Paths to try. TensorRT-LLM's counters come first, because reading its /metrics removes the
# iterations that were read.
PATHS: Final = ("/prometheus/metrics", "/metrics", "/server_info")
MAX_BYTES: Final = 1 << 22  # maximum bytes of a response, before comments and buckets are removed
NOT_FOUND: Final = (
    "The server at {where} reports no draft tokens at {paths}. It is not vLLM, SGLang, "
    "TensorRT-LLM or llama.cpp, or it was started without metrics (SGLang needs --enable-metrics, "
    "llama.cpp needs --metrics)."
)


def find_stats(url: str, model: str | None = None) -> tuple[Callable[[], str], str]:
    """Return a function that fetches a server's statistics, and their text; ValueError if none."""
    client = HttpClient(_address(url), max_bytes=MAX_BYTES)
    paths = ("",) if client.address.path else PATHS
    reason: ValueError | None = None
    for path in paths:
        fetch = partial(_fetch, client, path)
        try:
            text = fetch()
            parse_stats(text, model)
            return fetch, text
        except SeveralModels:
            raise
        except Refused as refusal:
            reason = reason or (refusal if len(paths) == 1 else None)
        except UnreadableStats as problem:
            known = not isinstance(problem, UnknownFormat)
            reason = problem if known or len(paths) == 1 else reason
    raise reason or UnreadableStats(NOT_FOUND.format(where=client.address, paths=", ".join(PATHS)))


def _fetch(client: HttpClient, path: str) -> str:
    return strip_metrics(client.get_text(path))  # without lines that are never used


def _address(url: str) -> Address:
    try:
        return Address.read(url)
    except ServerFault as problem:
        raise UnreadableStats(
            f"{url[:100]!r} is not a server's address: write http://HOST:PORT, without user name, "
            "password or query."
        ) from problem


def strip_metrics(text: str) -> str:
    """Remove comments and histogram buckets, which are most of a metrics text."""
    text = text.removeprefix(BYTE_ORDER_MARK)
    if text.lstrip()[:1] in ("{", "[", "<"):
        return text
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return "\n".join(line for line in lines if "_bucket{" not in line)


METRICS_BYTES: Final = 1 << 20  # maximum bytes that are read from the address of the page's host
METRICS_SECONDS: Final = 5.0
METRICS_KEPT: Final = 2.0  # seconds for which visitors share one reading
NO_METRICS: Final = (
    "The address that this page’s host has set gives no metrics now; the log of the page has the "
    "reason."
)


class MetricsAddress:
    """An address whose metrics every visitor of a page may read; redirects are not followed."""

    def __init__(self, url: str) -> None:
        """Parse the address. Raises UnreadableStats if it is none."""
        self._client = HttpClient(_address(url), METRICS_SECONDS, max_bytes=METRICS_BYTES)
        self._lock = Lock()
        self._read_at = -inf
        self._text = ""

    def text(self) -> str:
        """Return the statistics, and nothing else that is there.

        Raises UnreadableStats if the address gives no statistics. The sentence does not contain it.
        """
        with self._lock:
            if monotonic() >= self._read_at + METRICS_KEPT:
                self._text = self._fetch()
                self._read_at = monotonic()
        if not self._text:
            raise UnreadableStats(NO_METRICS)
        return self._text

    def _fetch(self) -> str:
        try:
            found = strip_settings(self._client.get_text(""))
            parse_stats(found)
        except SeveralModels:
            return found
        except ValueError as problem:
            log.warning("no metrics: %s", problem)
            return ""
        return found


def strip_settings(text: str) -> str:
    """Remove everything that is not read: comments and buckets, and settings such as API keys."""
    text = strip_metrics(text)
    if text.lstrip()[:1] not in ("{", "["):
        return text
    return json.dumps(_strip(parse_json_lines(text.strip())))


def _strip(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _strip(value) for name, value in data.items() if name in JSON_NAMES}
    return [_strip(each) for each in data] if isinstance(data, list) else data


PEERS: Final = ASSETS / "models" / "peers.json"
DRAFTER: Final = "eagle3"
DESCRIPTION: Final = (
    "Example: draft tokens of the House EAGLE-3 head that vLLM {version} accepted on {date}, over "
    "thirty prompts, one at a time. The counts are real; the lines around them were written in the "
    "format of /metrics."
)


@dataclass(frozen=True, slots=True)
class Example:
    """Example statistics."""

    text: str
    description: str


def example() -> Example:
    """Return the example, in which every draft has γ tokens, as with vLLM.

    Raises BrokenFile if the file with the numbers is damaged.
    """
    return read_shipped_json(PEERS, _build)


def _build(peers: Any) -> Example:
    row = next(row for row in peers["rows"] if row["drafter"] == DRAFTER)
    rounds, counts = row["rounds"]["vllm"], row["by_position"]["vllm"]
    gamma = row["theirs"]["num_speculative_tokens"]
    labels = 'engine="0",model_name="house"'
    totals = {
        "num_drafts": rounds, "num_draft_tokens": rounds * gamma, "num_accepted_tokens": sum(counts)
    }  # fmt: skip
    lines = [f"vllm:num_requests_running{{{labels}}} 1.0"]
    lines += [f"vllm:spec_decode_{name}_total{{{labels}}} {n:.1f}" for name, n in totals.items()]
    lines += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{at}"}} {n:.1f}'
        for at, n in enumerate(counts)
    ]
    description = DESCRIPTION.format(version=peers["version"], date=row["date"])
    return Example("\n".join(lines) + "\n", description)
