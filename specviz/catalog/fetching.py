"""Fetches a model to this machine, for the command line and for the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specviz.catalog import sources
from specviz.catalog.entry import entries, missing, place_of, suggestion
from specviz.catalog.public import public
from specviz.models.errors import NotAvailable, UnknownModel
from specviz.models.files import Watch, fetched_before
from specviz.models.files import fetch as fetch_from_hub


def fetch(name: str, say: Callable[[str], object], watch: Watch | None = None) -> Path:
    """Fetch a model unless it is here already, and return its folder or its GGUF file.

    name: of the catalogue, or a Hub id; for a model of the public list, the revision that the list
    names is fetched, unless the id names another. say: called with each step, as a sentence.
    watch: receives the bytes, and can stop the fetch. Raises NotAvailable, Stopped.
    """
    entry = next((each for each in entries() if each.name == name), None)
    wanted = next((each.pinned for each in public() if each.name == name), name)
    found = _fetched_before(wanted) if entry is None else place_of(entry)
    if found is not None:
        say(f"{name} was here already.")
        return found
    if entry is None:
        say(f"Downloading {name} from the Hub.")
        return fetch_from_hub(wanted, watch)
    if not entry.sources:
        raise NotAvailable(missing(entry))
    return sources.fetch(name, entry.sources, say, watch)


def _fetched_before(name: str) -> Path | None:
    """Where a Hub model is that was fetched before. Raises UnknownModel, with a suggestion."""
    try:
        return fetched_before(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, 'target', 'drafter')}") from error
