"""A run's settings in few words, as their rows say. Standard library only.

The page writes the same sentence while somebody turns the knobs, from the same rows: see `ROWS` of
`specviz.ui.step.form`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specviz.settings import specs
from specviz.settings.specs import SettingSpec


def summarize(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """A run's settings in few words, from plain data as `to_json` writes it.

    reads: the fields that the run's drafter heeds, where that is known; others are not said.
    """
    return " · ".join(words for _, words in summary_parts(settings, reads))


def summary_parts(
    settings: Mapping[str, Any], reads: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """The same sentence as pairs: a setting's name, and what is said of it."""
    return _said(specs.SETTING_SPECS, settings, reads)


def summarize_draft(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """What of `summarize` is about the draft alone: its tree, depth and budget; perhaps nothing."""
    rows = [row for row in specs.SETTING_SPECS if row.group == "drafting"]
    return " · ".join(words for _, words in _said(rows, settings, reads))


def _said(
    rows: Sequence[SettingSpec], settings: Mapping[str, Any], reads: Sequence[str] | None
) -> list[tuple[str, str]]:
    """What is said of each of these rows, unless another stands in its place."""
    values = {**settings, **settings.get("sampling", {})}
    said = {
        row.name: row.summary_text(values[row.name])
        for row in rows
        if row.name in values and is_relevant(row, reads)
    }
    replaced = {row.replaces for row in rows if said.get(row.name)}
    return [(name, words) for name, words in said.items() if words and name not in replaced]


def is_relevant(row: SettingSpec, reads: Sequence[str] | None) -> bool:
    """Whether a sentence may name this setting: all runs have it, or the drafter reads it."""
    if row.group != "drafting" or row.name in specs.READ_BY_ALL:
        return True
    return not row.rarely_read if reads is None else row.name in reads
