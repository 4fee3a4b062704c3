"""Who takes part, and with which prompts: what a bench and the card's measurement share.

Rule: a drafter whose weights are not on this machine is left out with a sentence, unless it was the
one that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specviz.bench.methods import Entrant, Prompt
from specviz.catalog import NotAvailable, Unsuitable, entries, load_drafter
from specviz.prompts import prompts
from specviz.settings import Settings
from specviz.target import Target


def drafters_for(target: str, named: str | None) -> list[str]:
    """The drafter that was named; else those made for the target, then those that fit any."""
    those = [entry for entry in entries() if entry.kind == "drafter"]
    if named:
        return [named]
    own = [e.name for e in those if e.made_for == target]
    return own + [e.name for e in those if e.made_for is None]


def entrants(
    target: Target, names: Sequence[str], settings: Callable[[str], Settings], *, must: bool = False
) -> tuple[list[Entrant], dict[str, str]]:
    """The drafters of these names, each with its settings; and by name, why one is not among them.

    Raises NotAvailable or Unsuitable where all of them `must` take part.
    """
    found, absent = [], {}
    for name in names:
        try:
            found.append(Entrant(load_drafter(name, target), settings(name)))
        except (NotAvailable, Unsuitable) as error:
            if must:
                raise
            absent[name] = str(error)
    return found, absent


def encoded(target: Target, most: int, new_tokens: int) -> dict[str, list[Prompt]]:
    """The first `most` house prompts of each domain, as the target's tokens."""
    return {
        domain: [Prompt(text, tuple(target.encode(text, new_tokens))) for text in texts[:most]]
        for domain, texts in prompts().items()
    }
