"""Fetch statistics from a server: the first of a few paths that has counts of draft tokens.

Only the given address is contacted, for at most ten seconds per path and four MiB per answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specviz.cost.server.parsing import parse_stats
from specviz.cost.server.stats import SeveralModels, UnknownFormat, UnreadableStats
from specviz.models.errors import ServerFault
from specviz.models.served.http_client import Address, HttpClient, Refused

# TensorRT-LLM's counters come first: reading its /metrics removes what was read.
PATHS: Final = ("/prometheus/metrics", "/metrics", "/server_info")
MAX_BYTES: Final = 1 << 22  # bytes of an answer, before comments and buckets are removed
NOT_FOUND: Final = (
    "The server at {where} reports no draft tokens at {paths}. It is not vLLM, SGLang, "
    "TensorRT-LLM or llama.cpp, or it was started without metrics (SGLang needs --enable-metrics, "
    "llama.cpp needs --metrics)."
)


@dataclass(frozen=True, slots=True)
class StatsEndpoint:
    """The endpoint of a server that has its statistics."""

    client: HttpClient
    path: str

    def text(self) -> str:
        """Fetch the statistics, without the lines that are never read. Raises ServerFault."""
        return strip_metrics(self.client.get_text(self.path))


def find_stats(url: str, model: str | None = None) -> tuple[StatsEndpoint, str]:
    """Return a server's statistics endpoint and its text. Raises ValueError with a sentence."""
    client = HttpClient(_address(url), max_bytes=MAX_BYTES)
    paths = ("",) if client.address.path else PATHS
    reason: ValueError | None = None
    for path in paths:
        place = StatsEndpoint(client, path)
        try:
            text = place.text()
            parse_stats(text, model)
            return place, text
        except SeveralModels:
            raise
        except Refused as refusal:
            reason = reason or (refusal if len(paths) == 1 else None)
        except UnreadableStats as problem:
            known = not isinstance(problem, UnknownFormat)
            reason = problem if known or len(paths) == 1 else reason
    raise reason or UnreadableStats(NOT_FOUND.format(where=client.address, paths=", ".join(PATHS)))


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
    if text.lstrip()[:1] in ("{", "[", "<"):
        return text
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return "\n".join(line for line in lines if "_bucket{" not in line)
