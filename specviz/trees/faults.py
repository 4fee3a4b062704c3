"""What is wrong with a tree or its parameters, as a sentence for the person who asked for it."""

from __future__ import annotations

from typing import Any


class BadTree(ValueError):
    """No such tree can be grown or read; the message is a sentence."""


def within(called: str, value: Any, least: int, most: int) -> int:
    """A whole number between bounds. Raises BadTree."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadTree(f"{called} is a whole number from {least} to {most}, not {value!r:.40}.")
    return value
