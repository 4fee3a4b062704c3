"""Sentences about the speed that memory allows. Standard library only.

Every number is taken from a row, or is the median of the rows' values over the domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def limit_text(rows: Rows) -> str:
    """Return the limit, and the share of it that each plain method reached; empty if unknown."""
    limited = [row for row in rows if row["limit_tokens_per_second"] is not None]
    whole = _shares(limited, "share_of_limit")
    if not whole:
        return ""
    bandwidth = median(row["memory_bandwidth"] for row in limited)
    limit = median(row["limit_tokens_per_second"] for row in limited)
    size = median(row["memory_bandwidth"] / row["limit_tokens_per_second"] for row in limited)
    after = _shares(limited, "share_of_limit_after_prompt")
    reached = f"after the prompt: {after}; prompt included" if after else "prompt included"
    threads = f"{limited[0]['threads']} thread{'' if limited[0]['threads'] == 1 else 's'}"
    used = f" with {threads}" if limited[0]["device"].endswith(("CPU core", "CPU cores")) else ""
    return (
        f"The limit: memory is read here at {bandwidth / 1e9:.1f} GB/s{used}, and a plain pass "
        f"reads {size / 1e6:,.1f} MB (weights, keys and values), so at most {limit:,.1f} tokens/s "
        f"without drafting. Share of it reached, {reached}: {whole}."
    )


def text_mismatches(rows: Rows) -> str:
    """Return the methods whose text differs from plain decoding's, although it should be equal."""
    names = dict.fromkeys(row["name"] for row in rows if row["same_text"] is False)
    return " ".join(
        f"{name} wrote other tokens than plain decoding in {_domains(rows, name)}."
        for name in names
    )


def _shares(rows: Rows, field: str) -> str:
    known = [row for row in rows if row.get(field) is not None]
    names = dict.fromkeys(row["name"] for row in known)
    return ", ".join(
        f"{name} {median(row[field] for row in known if row['name'] == name):.2f}" for name in names
    )


def _domains(rows: Rows, name: str) -> str:
    return ", ".join(
        row["domain"] for row in rows if row["name"] == name and row["same_text"] is False
    )
