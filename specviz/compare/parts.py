"""A sentence as a list of parts: text, {"b": its opening}, or {"n": number, "as": whose it is}.

Rule: whoever writes a number into a sentence says whose it is; nobody reads it out again. The page
draws the parts, the command line joins them. Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Part = str | dict[str, str]
Sentence = Sequence[Part]
Whose = Literal["q", "p", "prefill", "k"]  # the drafter, the target, the prompt; k: nobody's alone


def opening(text: str) -> Part:
    """The first words, which carry the verdict."""
    return {"b": text}


def number(text: str, whose: Whose) -> Part:
    """A number as it is written, and whose."""
    return {"n": text, "as": whose}


def joined(parts: Sentence) -> str:
    """The sentence as text."""
    return "".join(part if isinstance(part, str) else part.get("b") or part["n"] for part in parts)
