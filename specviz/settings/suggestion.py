"""Suggest a known name for a misspelled one. Standard library only."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

MIN_PREFIX: Final = 3  # minimum length of a prefix for which a longer name is suggested


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'name'?" for the closest known name; empty if none is close."""
    names = {name.casefold(): name for name in known}
    word = typed.casefold()[:100]
    longer = [name for name in names if len(word) >= MIN_PREFIX and name.startswith(word)]
    found = get_close_matches(word, longer or names, n=1, cutoff=0.0 if longer else 0.6)
    return f" Did you mean {names[found[0]]!r}?" if found else ""
