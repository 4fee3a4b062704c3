"""Summarize a run's settings in a few words, from their specs. Standard library only.

The page builds the same sentence in the browser while settings change, from the same specs: see
`ROWS` of `specviz.ui.step.form`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specviz.settings import specs
from specviz.settings.specs import SettingSpec


def summarize(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """Summarize a run's settings in a few words.

    Args:
        settings: Plain data as `Settings.to_json` writes it.
        reads: The settings that the run's drafter reads, if known; others are left out.
    """
    return " · ".join(words for _, words in summary_parts(settings, reads))


def summary_parts(
    settings: Mapping[str, Any], reads: Sequence[str] | None = None
) -> list[tuple[str, str]]:
    """Return the parts of the summary as pairs of a setting's name and its text."""
    return _summary(specs.SETTING_SPECS, settings, reads)


def summarize_draft(settings: Mapping[str, Any], reads: Sequence[str] | None = None) -> str:
    """Summarize only the settings of the draft (tree, depth, budget); may be empty."""
    rows = [row for row in specs.SETTING_SPECS if row.group == "drafting"]
    return " · ".join(words for _, words in _summary(rows, settings, reads))


def _summary(
    rows: Sequence[SettingSpec], settings: Mapping[str, Any], reads: Sequence[str] | None
) -> list[tuple[str, str]]:
    """Return the name and text of each setting that no other setting replaces."""
    values = {**settings, **settings.get("sampling", {})}
    words_by_name = {
        row.name: row.summary_text(values[row.name])
        for row in rows
        if row.name in values and is_relevant(row, reads)
    }
    replaced = {row.replaces for row in rows if words_by_name.get(row.name)}
    return [
        (name, words) for name, words in words_by_name.items() if words and name not in replaced
    ]


def is_relevant(row: SettingSpec, reads: Sequence[str] | None) -> bool:
    """Return whether a setting affects the run: it applies to all runs or the drafter reads it."""
    if row.group != "drafting" or row.name in specs.READ_BY_ALL:
        return True
    return not row.rarely_read if reads is None else row.name in reads
