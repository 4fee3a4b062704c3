"""A server's own words, fetched from it: the first of a few paths where it counts its guesses.

Rule: only the named address is asked, within ten seconds a path and four MiB an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from specviz.cost.server.reading import read
from specviz.cost.server.told import SeveralModels, Unknown, Unreadable
from specviz.models.errors import ServerFault
from specviz.models.served.address import Address
from specviz.models.served.line import Line, Refused

# TensorRT-LLM's counters come before its /metrics, which loses what is read from it.
PATHS: Final = ("/prometheus/metrics", "/metrics", "/server_info")
MOST: Final = 1 << 22  # bytes: with the lines that are left out before the text is read
SILENT: Final = (
    "The server at {where} counts no guesses at {paths}: it is none of vLLM, SGLang, TensorRT-LLM "
    "and llama.cpp, or was started without metrics (SGLang and llama.cpp need --enable-metrics or "
    "--metrics)."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server's words were found."""

    line: Line
    path: str

    def text(self) -> str:
        """What stands there now, without what is never read. Raises ServerFault."""
        return shortened(self.line.text(self.path))


def find(url: str, model: str | None = None) -> tuple[Place, str]:
    """Where a server tells of its guesses, and its text. Raises ValueError with a sentence."""
    line = Line(_address(url), most=MOST)
    paths = ("",) if line.address.path else PATHS
    reason: ValueError | None = None
    for path in paths:
        place = Place(line, path)
        try:
            text = place.text()
            read(text, model)
            return place, text
        except SeveralModels:
            raise
        except Refused as refusal:
            reason = reason or (refusal if len(paths) == 1 else None)
        except Unreadable as problem:
            known = not isinstance(problem, Unknown)
            reason = problem if known or len(paths) == 1 else reason
    raise reason or Unreadable(SILENT.format(where=line.address, paths=", ".join(PATHS)))


def _address(url: str) -> Address:
    try:
        return Address.read(url)
    except ServerFault as problem:
        raise Unreadable(
            f"{url[:100]!r} is no address of a server: write http://HOST:PORT, without a name, a "
            "password or a question in it."
        ) from problem


def shortened(text: str) -> str:
    """A text of metrics without comments and histograms' buckets, which are most of it."""
    if text.lstrip()[:1] in ("{", "[", "<"):
        return text
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return "\n".join(line for line in lines if "_bucket{" not in line)
