"""Say what a text is that is not the statistics of a supported server.

Recognized are a web page, an error of curl, a log, JSON without counts, incomplete JSON, metrics of
another program, and metrics with a damaged line. The sentences are in texts/server.jinja.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from specviz.cost.server.stats import UnknownFormat, UnreadableStats, shorten
from specviz.texts import text

# A date, a time or a level near the beginning of a line.
LOG: Final = re.compile(
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\b(DEBUG|INFO|WARN|WARNING|ERROR|Traceback)\b"
)
BEGINNING: Final = 60  # characters of a line
CURL: Final = re.compile(r"curl: \(\d+\)|HTTP/\d")
METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})?[ \t]+[0-9+.-]\S*([ \t]+-?\d+)?")
LONGEST: Final = 1_000  # characters of a line that is looked at
ENOUGH: Final = 0.5  # share of lines that makes a text metrics
# Beginnings of names, of common exporters.
EXPORTERS: Final = (
    ("node_", "node_exporter"), ("tgi_", "Text Generation Inference"), ("nv_", "Triton"),
    ("DCGM_", "NVIDIA’s DCGM exporter"), ("ollama_", "Ollama"), ("ray_", "Ray"),
    ("python_", "a Python program"), ("process_", "a program’s process"), ("go_", "a Go program"),
    ("prometheus_", "Prometheus itself"),
)  # fmt: skip


def unrecognized(found: str, **values: str) -> UnknownFormat:
    """Return the error for a text; `found` names its macro in texts/server.jinja."""
    return UnknownFormat(text("server", f"found_{found}", **values))


def of_lines(given: str, damaged: str) -> UnreadableStats:
    """Return the error for a text whose lines are not all metrics. damaged: the first such line."""
    lines = [line.strip() for line in given.splitlines() if line.strip()]
    first = shorten(lines[0])
    if CURL.match(lines[0]):
        return unrecognized("no_answer", line=first)
    plain = [line for line in lines if not line.startswith("#")]
    if sum(_is_metric(line) for line in plain) >= ENOUGH * len(plain):
        return UnreadableStats(text("server", "damaged_line", line=shorten(damaged)))
    if any(LOG.search(line[:BEGINNING]) for line in lines[:5]):
        return unrecognized("log", line=first)
    return unrecognized("prose", line=first)


def _is_metric(line: str) -> bool:
    return METRIC.fullmatch(line[:LONGEST]) is not None


def of_metrics(names: Iterable[str]) -> UnknownFormat:
    """Return the error for metrics of another program."""
    names = list(names)
    if not names:
        return unrecognized("no_metrics")
    known = Counter(title for name in names for start, title in EXPORTERS if name.startswith(start))
    if known:
        return unrecognized("metrics_of", program=known.most_common(1)[0][0])
    return unrecognized("other_metrics", name=shorten(names[0]))
