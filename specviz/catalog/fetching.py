"""Bringing a model to this machine: the one way for the command line and the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specviz.catalog import sources
from specviz.catalog.entry import entries, missing, place_of
from specviz.catalog.public import public
from specviz.models.errors import NotAvailable
from specviz.models.files import Watch, fetched_before
from specviz.models.files import fetch as fetch_from_hub


def fetch(name: str, say: Callable[[str], object], watch: Watch | None = None) -> Path:
    """Bring the model called `name` here, unless it is: its folder, or its GGUF file.

    name: of the catalogue, or a Hub id; one of the public list comes in the revision that it names,
    unless the id names another. say: is told each step, in a sentence. watch: is told the
    bytes, and can give it up. Raises NotAvailable, Stopped.
    """
    entry = next((each for each in entries() if each.name == name), None)
    wanted = next((each.pinned for each in public() if each.name == name), name)
    found = fetched_before(wanted) if entry is None else place_of(entry)
    if found is not None:
        say(f"{name} was here already.")
        return found
    if entry is None:
        say(f"Trying {name} on the Hub.")
        return fetch_from_hub(wanted, watch)
    if not entry.sources:
        raise NotAvailable(missing(entry))
    return sources.fetch(name, entry.sources, say, watch)
