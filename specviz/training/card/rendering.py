"""Render a model card from its template: Markdown with filters for numbers and measurements.

Every number comes from a manifest, a checkpoint's config, the catalogue, from measured.json, or
from peers.json (written by `tests/peers/vllm_accepted.py`), and is shown with the models and
prompts that were used. In the templates of this folder, paragraphs and list items are wrapped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from specviz.bench.outcomes import calibration_error, pool_reliability
from specviz.glossary import GLOSSARY
from specviz.trace.metrics import mean_over_equal_text
from specviz.training.head_training import HeadRecipe, plateau_gain
from specviz.training.trainer import decay_start

MIN_JUDGED: Final = 10  # minimum number of judged guesses to show a share
SHOWN_DEPTHS: Final = 6  # maximum number of depths shown
TEXT_MEANS: Final = ("ratio_to_plain", "tokens_per_pass")  # averaged over equal amounts of text
UNWRAPPED: Final = ("|", "```", "<!--")  # how blocks begin whose line ends are kept


def render_card(template: str, **values: Any) -> str:
    """Render a template of this folder, such as "house", as Markdown with unwrapped paragraphs."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown
    )
    made.filters |= FILTERS
    made.globals["MIN_JUDGED"] = MIN_JUDGED
    rendered = made.get_template(f"{template}.md.jinja").render(values)
    return "\n\n".join(map(_unwrap, re.split(r"\n{2,}", rendered.strip()))) + "\n"


def _unwrap(block: str) -> str:
    return block if block.startswith(UNWRAPPED) else re.sub(r"\n(?!- ) *", " ", block)


def fixed(value: float | None, digits: int = 2) -> str:
    """Format a number for a table; None becomes a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def percents(values: Sequence[float | None] | None, counts: Sequence[int], least: int) -> str:
    """Format shares as "90 · 75", in percent; a dash if a share has fewer than `least` cases."""
    shown = [
        "–" if value is None or count < least else f"{value:.0%}".rstrip("%")
        for value, count in zip(values or [], counts, strict=True)
    ]
    while shown and shown[-1] == "–":
        shown.pop()
    return " · ".join(shown) or "–"


def megabytes(size: float) -> str:
    """Format a number of bytes for a table."""
    return f"{size / 1e6:.2f} MB" if size else "none"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Format settings for a table, leaving out settings that are off or empty."""
    skipped = {"schedule", "candidates"}
    parts = []
    for name, value in settings.items():
        if name not in skipped and value not in ([], 0, 0.0):
            nested = isinstance(value, list) and value and isinstance(value[0], list)
            parts.append(f"{name} {f'{len(value)} paths' if nested else value}")
    return ", ".join(parts) or "none"


def _definition(term: str) -> str:
    # Of the glossary, within a sentence.
    return GLOSSARY[term][0].lower() + GLOSSARY[term][1:]


def _still_rising(facts: Mapping[str, Any]) -> str:
    # By how much α still rose while the learning rate was constant.
    constant = decay_start(HeadRecipe(**facts["recipe"]), facts["steps"])
    alpha = {int(step): value for step, value in facts["alpha_by_step"].items()}
    gain = plateau_gain({step: value for step, value in alpha.items() if step <= constant})
    return "–" if gain is None else f"{100 * gain:.2f}".replace("-", "−")


def _mean_by_depth(by_domain: Mapping[str, Sequence[float]]) -> str:
    shares = [fmean(depth) for depth in zip(*by_domain.values(), strict=False)]
    return percents(shares, [MIN_JUDGED] * len(shares), MIN_JUDGED)


def _kept_by_depth(row: Mapping[str, Any]) -> str:
    shares, counts = row["kept_by_depth"][:SHOWN_DEPTHS], row["judged_by_depth"][:SHOWN_DEPTHS]
    return percents(shares, counts, MIN_JUDGED)


def _temperatures(facts: Mapping[str, Any]) -> list[float]:
    return sorted({row["temperature"] for row in facts["rows"]})


def _memory_by_drafter(facts: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in facts["rows"]:
        if row.get("held_bytes") is not None:
            found[row["name"]] = max(found.get(row["name"], 0), row["held_bytes"])
    return found


Rows = list[dict[str, Any]]


def _rows_of(facts: Mapping[str, Any], name: str, temperature: float) -> Rows:
    wanted = (name, temperature)
    return [row for row in facts["rows"] if (row["name"], row["temperature"]) == wanted]


def _by_domain(facts: Mapping[str, Any]) -> Iterator[tuple[str, float, Rows]]:
    groups = _group(facts["rows"], "domain")
    for (domain, temperature), rows in sorted(groups.items(), key=lambda item: item[0][1]):
        yield domain, temperature, rows


def _reliability(facts: Mapping[str, Any]) -> Iterator[tuple[str, float, list[list[float]]]]:
    predicted = [row for row in facts["rows"] if row.get("reliability")]
    for (name, temperature), rows in _group(predicted, "name").items():
        yield name, temperature, pool_reliability(row["reliability"] for row in rows)


def _group(rows: Rows, what: str) -> dict[tuple[str, float], Rows]:
    # By this field and temperature.
    found: dict[tuple[str, float], Rows] = {}
    for row in rows:
        found.setdefault((row[what], row["temperature"]), []).append(row)
    return found


def _mean(rows: Rows, what: str, digits: int = 2) -> str:
    values = [row[what] for row in rows if row[what] is not None]
    mean = mean_over_equal_text if what in TEXT_MEANS else fmean
    return fixed(mean(values) if values else None, digits)


def _accepted_counts(row: Mapping[str, Any]) -> str:
    counts_by_side = {
        program: f"{' · '.join(map(str, counts))} of {row['rounds'][program]:,}"
        for program, counts in row["by_position"].items()
    }
    if counts_by_side["vllm"] == counts_by_side["ours"]:
        return f"both {counts_by_side['ours']}"
    return f"vLLM {counts_by_side['vllm']}, specviz {counts_by_side['ours']}"


FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "fixed": fixed,
    "short": "{:g}".format,
    "percent": "{:.0%}".format,
    "thousands": "{:,}".format,
    "millions": lambda value, digits: f"{value / 1e6:.{digits}f} M",
    "megabytes": megabytes,
    "settings_text": settings_text,
    "definition": _definition,
    "still_rising": _still_rising,
    "mean_by_depth": _mean_by_depth,
    "kept_by_depth": _kept_by_depth,
    "temperatures": _temperatures,
    "memory_by_drafter": _memory_by_drafter,
    "rows_of": _rows_of,
    "by_domain": _by_domain,
    "reliability": _reliability,
    "calibration_error": calibration_error,
    "mean": _mean,
    "accepted_counts": _accepted_counts,
}
