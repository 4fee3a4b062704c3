"""A server's own words, fetched from it: the first of a few paths where it counts its guesses.

Rule: only the named address is asked, within ten seconds a path and four MiB an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specviz.cost.server.parsing import parse_stats
from specviz.cost.server.stats import SeveralModels, UnknownFormat, UnreadableStats
from specviz.models.errors import ServerFault
from specviz.models.served.address import Address
from specviz.models.served.http_client import HttpClient, Refused

# TensorRT-LLM's counters come before its /metrics, which loses what is read from it.
PATHS: Final = ("/prometheus/metrics", "/metrics", "/server_info")
MAX_BYTES: Final = 1 << 22  # bytes: with the lines that are left out before the text is read
NOT_FOUND: Final = (
    "The server at {where} counts no guesses at {paths}: it is none of vLLM, SGLang, TensorRT-LLM "
    "and llama.cpp, or was started without metrics (SGLang and llama.cpp need --enable-metrics or "
    "--metrics)."
)


@dataclass(frozen=True, slots=True)
class StatsEndpoint:
    """Where a server's words were found."""

    line: HttpClient
    path: str

    def text(self) -> str:
        """What stands there now, without what is never read. Raises ServerFault."""
        return strip_metrics(self.line.text(self.path))


def find_stats(url: str, model: str | None = None) -> tuple[StatsEndpoint, str]:
    """Where a server tells of its guesses, and its text. Raises ValueError with a sentence."""
    line = HttpClient(_address(url), most=MAX_BYTES)
    paths = ("",) if line.address.path else PATHS
    reason: ValueError | None = None
    for path in paths:
        place = StatsEndpoint(line, path)
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
    raise reason or UnreadableStats(NOT_FOUND.format(where=line.address, paths=", ".join(PATHS)))


def _address(url: str) -> Address:
    try:
        return Address.read(url)
    except ServerFault as problem:
        raise UnreadableStats(
            f"{url[:100]!r} is no address of a server: write http://HOST:PORT, without a name, a "
            "password or a question in it."
        ) from problem


def strip_metrics(text: str) -> str:
    """A text of metrics without comments and histograms' buckets, which are most of it."""
    if text.lstrip()[:1] in ("{", "[", "<"):
        return text
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return "\n".join(line for line in lines if "_bucket{" not in line)
