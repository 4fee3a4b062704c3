"""Suggests the name that was probably meant. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

SHORTEST: Final = 3  # letters of a beginning that stands for a longer name


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """A question that names the closest known name, after a space; empty if none is close."""
    names = {name.casefold(): name for name in known}
    word = typed.casefold()[:100]
    longer = [name for name in names if len(word) >= SHORTEST and name.startswith(word)]
    found = get_close_matches(word, longer or names, n=1, cutoff=0.0 if longer else 0.6)
    return f" Did you mean {names[found[0]]!r}?" if found else ""
