"""Read a server's statistics from Prometheus' text format and from JSON, both untrusted.

Prometheus' format (prometheus.io/docs/instrumenting/exposition_formats) is parsed strictly: a line
that does not match is an error. Comments, histogram buckets and creation times are skipped. Bad
values raise a readable error.

For any other text, the error says what the text seems to be.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from specviz.cost.server.stats import (
    MAX_NUMBER,
    MAX_POSITIONS,
    SeveralModels,
    UnknownFormat,
    UnreadableStats,
    shorten,
)
from specviz.texts import text

MAX_LINES: Final = 20_000
MAX_LINE: Final = 8_000  # maximum characters
# No two repetitions can match the same characters, so matching takes linear time.
WORD: Final = "[a-zA-Z_][a-zA-Z0-9_]*"
QUOTED: Final = r'[^"\\]*(?:\\.[^"\\]*)*'
LABEL: Final = f'{WORD}="{QUOTED}"'
LINE: Final = re.compile(
    r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    rf"(?:\{{(?P<labels>(?:{LABEL}(?:, ?{LABEL})*,?)?)\}})?"
    r"[ \t]+(?P<value>[0-9a-zA-Z.+-]{1,40})(?:[ \t]+-?\d{1,20})?"
)
PAIR: Final = re.compile(f'({WORD})="({QUOTED})"')
PROGRAMS: Final = frozenset({"vllm", "sglang", "trtllm", "llamacpp"})
IGNORED_SUFFIXES: Final = ("_bucket", "_created")
ESCAPES: Final = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: a metric's name, its labels and its value, which `Metrics.samples` checks."""

    name: str
    labels: Mapping[str, str]
    value: float


def parse_metrics(text: str) -> list[Sample]:
    """Parse all samples in a text. Raises UnreadableStats if a line is wrong."""
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        raise UnreadableStats(f"The text has more than {MAX_LINES:,} lines.")
    found = []
    for row in (line.strip() for line in lines if line.strip() and line.lstrip()[0] != "#"):
        sample = _sample(row)
        if sample is None:
            raise of_lines(text, row)
        found.append(sample)
    return [sample for sample in found if not sample.name.endswith(IGNORED_SUFFIXES)]


def _sample(line: str) -> Sample | None:
    match = LINE.fullmatch(line) if len(line) <= MAX_LINE else None
    if match is None:
        return None
    pairs = [(name, _unescape(value)) for name, value in PAIR.findall(match["labels"] or "")]
    if len(dict(pairs)) < len(pairs):
        raise UnreadableStats(f"This line has a label twice: “{shorten(line)}”.")
    try:
        return Sample(match["name"], dict(pairs), float(match["value"]))
    except ValueError:
        return None


def _unescape(value: str) -> str:
    return re.sub(r"\\[\\\"n]", lambda found: ESCAPES[found[0]], value)


class Metrics:
    """Samples by name; counters are found with or without the suffix `_total`."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._by_name: dict[str, list[Sample]] = {}
        for sample in samples:
            self._by_name.setdefault(sample.name, []).append(sample)

    @property
    def names(self) -> list[str]:
        """The names of all samples."""
        return list(self._by_name)

    def programs(self) -> set[str]:
        """Return the supported programs to which these metrics belong, by their prefixes."""
        begun = {re.split("[:_]", name, maxsplit=1)[0] for name in self._by_name}
        return begun & PROGRAMS

    def has(self, *names: str) -> bool:
        """Whether there is a sample of any of these names."""
        return any(self.samples(name) for name in names)

    def samples(self, name: str) -> list[Sample]:
        """Return all samples of a name. Raises UnreadableStats if a value is not valid."""
        found = self._by_name.get(f"{name}_total") or self._by_name.get(name) or []
        seen: set[tuple[tuple[str, str], ...]] = set()
        for sample in found:
            key = tuple(sorted(sample.labels.items()))
            if key in seen:
                raise UnreadableStats(
                    f"{name} appears twice: paste an earlier snapshot into its own box."
                )
            seen.add(key)
            if not (isfinite(sample.value) and 0 <= sample.value <= MAX_NUMBER):
                raise UnreadableStats(f"{name} is {sample.value:g}, which is impossible.")
        return found

    def total(self, name: str) -> float | None:
        """Return the sum of a metric over engines and other labels; None if it is missing."""
        found = self.samples(name)
        return sum(sample.value for sample in found) if found else None

    def by_position(self, name: str, label: str) -> tuple[float, ...]:
        """Return the sums of a metric at positions 0, 1, 2 and so on.

        Raises UnreadableStats if a position is missing.
        """
        sums: dict[int, float] = {}
        for sample in self.samples(name):
            position = sample.labels.get(label, "")
            if not (position.isascii() and position.isdigit() and len(position) <= 3):
                raise UnreadableStats(f"{name} has a position that is not a number.")
            sums[int(position)] = sums.get(int(position), 0.0) + sample.value
        missing = set(range(len(sums))) - sums.keys()
        if missing:
            raise UnreadableStats(f"{name} has no position {min(missing)}: a line is missing.")
        return tuple(sums[number] for number in range(len(sums)))

    def of_model(self, names: Sequence[str], model: str | None) -> tuple[str, Metrics]:
        """Return the model that these metrics belong to, and its samples.

        Raises SeveralModels if there are several and none was chosen; UnreadableStats if the chosen
        model is missing.

        Args:
            names: Metrics that all models have.
            model: The model to choose if there are several.
        """
        every = [sample for name in names for sample in self.samples(name)]
        models = sorted({sample.labels.get("model_name", "") for sample in every})
        if model is None and len(models) > 1:
            raise SeveralModels(models)
        if model is not None and model not in models:
            known = ", ".join(shorten(name) for name in models[:8])
            raise UnreadableStats(f"The server has no model {shorten(model)!r}, only {known}.")
        chosen = models[0] if model is None else model
        mine = [
            sample
            for samples in self._by_name.values()
            for sample in samples
            if sample.labels.get("model_name", chosen) == chosen
        ]
        return chosen, Metrics(mine)


MAX_ROWS: Final = 5_000  # maximum items of a list


def parse_json(text: str) -> Any:
    """Parse JSON text. Raises UnreadableStats if this is not JSON."""
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as problem:
        raise unrecognized("cut_json") from problem


def _refused(name: str) -> float:
    raise ValueError(name)


def optional_number(data: Mapping[str, Any], name: str) -> float | None:
    """Return a count or an average; None if it is missing.

    Raises UnreadableStats if the value is not valid.
    """
    value = data.get(name)
    if value is None:
        return None
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not (isfinite(value) and 0 <= value <= MAX_NUMBER):
        raise UnreadableStats(f"“{name}” must be a number of at least 0.")
    return float(value)


def required_number(data: Mapping[str, Any], name: str) -> float:
    """Return a count or an average. Raises UnreadableStats if the value is missing or not valid."""
    value = optional_number(data, name)
    if value is None:
        raise UnreadableStats(f"“{name}” is missing.")
    return value


def required_counts(data: Mapping[str, Any], name: str) -> list[float]:
    """Return a list of counts. Raises UnreadableStats if it is missing or not valid."""
    found = data.get(name)
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_POSITIONS + 1:
        raise UnreadableStats(f"“{name}” must be a list of 1 to {MAX_POSITIONS + 1} counts.")
    return [required_number({name: value}, name) for value in found]


def step_counts(data: Mapping[str, Any], name: str) -> list[int]:
    """Return a list with a count for each step of a request. Raises UnreadableStats."""
    found = data.get(name)
    if not isinstance(found, list) or len(found) > MAX_ROWS:
        raise UnreadableStats(f"“{name}” must be a list of at most {MAX_ROWS:,} counts.")
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in found)
    if not whole or not all(0 <= each <= MAX_POSITIONS for each in found):
        raise UnreadableStats(f"“{name}” must have integers from 0 to {MAX_POSITIONS}.")
    return found


def parse_json_lines(text: str) -> Any:
    """Parse JSON, or several lines with one JSON object each, which give a list."""
    lines = [line for line in text.splitlines() if line.strip()]
    several = len(lines) > 1 and all(line[0] == "{" and line.rstrip()[-1] == "}" for line in lines)
    return [parse_json(line) for line in lines] if several else parse_json(text)


def object_list(data: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Return a list of objects. Raises UnreadableStats."""
    if not isinstance(data, list) or len(data) > MAX_ROWS:
        raise UnreadableStats(f"“{name}” must be a list of at most {MAX_ROWS:,} objects.")
    if not all(isinstance(row, dict) for row in data):
        raise UnreadableStats(f"“{name}” must be a list of objects.")
    return data


def lookup(data: Any, *names: str) -> Any:
    """Return the value at a path of names in nested objects; None if there is none."""
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def whole_number(value: float | None, called: str) -> int | None:
    """Convert a length to an integer; None if it is missing or 0. Raises UnreadableStats."""
    if not value:
        return None
    if value != int(value) or value > MAX_POSITIONS:
        raise UnreadableStats(
            f"{called} is {value:g}; it must be an integer of at most {MAX_POSITIONS}."
        )
    return int(value)


# Matches a date, a time or a log level near the beginning of a line.
LOG: Final = re.compile(
    r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\b(DEBUG|INFO|WARN|WARNING|ERROR|Traceback)\b"
)
BEGINNING: Final = 60  # how many characters at the beginning of a line are searched
CURL: Final = re.compile(r"curl: \(\d+\)|HTTP/\d")
METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})?[ \t]+[0-9+.-]\S*([ \t]+-?\d+)?")
EXAMINED: Final = 1_000  # how many characters of a line are examined
ENOUGH: Final = 0.5  # share of lines that must be samples to call a text metrics
# Prefixes of the metrics of common exporters.
EXPORTERS: Final = (
    ("node_", "node_exporter"), ("tgi_", "Text Generation Inference"), ("nv_", "Triton"),
    ("DCGM_", "NVIDIA’s DCGM exporter"), ("ollama_", "Ollama"), ("ray_", "Ray"),
    ("python_", "a Python program"), ("process_", "a program’s process"), ("go_", "a Go program"),
    ("prometheus_", "Prometheus itself"),
)  # fmt: skip


def unrecognized(found: str, **values: str) -> UnknownFormat:
    """Return the error for an unrecognized text; `found` names its sentence in server.jinja."""
    return UnknownFormat(text("server", f"found_{found}", **values))


def of_lines(given: str, damaged: str) -> UnreadableStats:
    """Return the error for a text in which only some lines are metrics."""
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
    return METRIC.fullmatch(line[:EXAMINED]) is not None


def of_metrics(names: Iterable[str]) -> UnknownFormat:
    """Return the error for metrics of another program."""
    names = list(names)
    if not names:
        return unrecognized("no_metrics")
    known = Counter(title for name in names for start, title in EXPORTERS if name.startswith(start))
    if known:
        return unrecognized("metrics_of", program=known.most_common(1)[0][0])
    return unrecognized("other_metrics", name=shorten(names[0]))
