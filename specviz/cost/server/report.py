"""All that follows from a server's words, in one place: for the page and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from specviz.cost.server import words
from specviz.cost.server.acceptance import Place, Tokens, places, tokens
from specviz.cost.server.outlook import Outlook
from specviz.cost.server.reading import read
from specviz.cost.server.site import Site
from specviz.cost.server.told import Told, Unreadable, difference


@dataclass(frozen=True, slots=True)
class Report:
    """facts, places: counted by the server. unsaid: what it leaves out.

    outlook, advice: simulated; None and () where no machine was named, or where `open` says why
    nothing can be predicted.
    """

    told: Told
    tokens: Tokens
    places: tuple[Place, ...]
    facts: tuple[words.Row, ...]
    unsaid: tuple[str, ...]
    outlook: Outlook | None = None
    advice: tuple[str, ...] = ()
    open: str = ""


def report(
    text: str,
    before: str = "",
    model: str | None = None,
    gamma: int | None = None,
    site: Site | None = None,
) -> Report:
    """What a text says. before: an earlier snapshot; then only what happened since counts.

    model: which, where there are several. gamma: the drafts' length, where the server does not say
    it. site: where it runs. Raises Unreadable with a sentence.
    """
    told = read(text, model)
    if before.strip():
        told = difference(read(before, model), told)
    found = tokens(told, told.length or gamma)
    counted = Report(
        told,
        found,
        tuple(places(told)),
        tuple(words.facts(told, found)),
        tuple(words.unsaid(told, found)),
    )
    return counted if site is None else _with(counted, site)


def _with(counted: Report, site: Site) -> Report:
    """With what the site's roofline says; with the reason where it can say nothing."""
    told = counted.told
    made = (told, counted.tokens, counted.places, counted.facts, counted.unsaid)
    try:
        outlook = site.outlook(told)
    except Unreadable as problem:
        return Report(*made, open=str(problem))
    return Report(*made, outlook, tuple(words.advice(site, told, outlook)))
