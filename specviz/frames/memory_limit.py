"""The sentence that says when something other than memory limits the target's passes."""

from __future__ import annotations

from specviz.frames.numbers import format_bytes, format_seconds
from specviz.texts import text
from specviz.trace.events import Baseline, Header
from specviz.trace.metrics import slow_pass


def memory_sentence(header: Header, plain: Baseline | None) -> str:
    """Return the sentence; empty if memory limits a plain pass, or if that was not measured."""
    found = slow_pass(header, plain) if plain else None
    if found is None:
        return ""
    return text(
        "step",
        "end_not_memory",
        passed=format_seconds(found.seconds),
        read=format_seconds(found.reading),
        size=format_bytes(found.weights),
    )
