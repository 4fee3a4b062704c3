"""Fetches a model to this machine, for the command line and for the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specviz.catalog import sources
from specviz.catalog.entry import entries, missing_message, suggestion, weights_path
from specviz.catalog.public import public_checkpoints
from specviz.models.errors import NotAvailable, UnknownModel
from specviz.models.files import FetchMonitor, find_fetched
from specviz.models.files import fetch as fetch_from_hub


def fetch(name: str, say: Callable[[str], object], watch: FetchMonitor | None = None) -> Path:
    """Fetch a model unless it is here already, and return its folder or its GGUF file.

    name: of the catalogue, or a Hub id; for a model of the public list, the revision that the list
    names is fetched, unless the id names another. say: called with each step, as a sentence.
    watch: receives the bytes, and can stop the fetch. Raises NotAvailable, Stopped.
    """
    entry = next((each for each in entries() if each.name == name), None)
    wanted = next((each.pinned for each in public_checkpoints() if each.name == name), name)
    found = _fetched_before(wanted) if entry is None else weights_path(entry)
    if found is not None:
        say(f"{name} was here already.")
        return found
    if entry is None:
        say(f"Downloading {name} from the Hub.")
        return fetch_from_hub(wanted, watch)
    if not entry.sources:
        raise NotAvailable(missing_message(entry))
    return sources.fetch(name, entry.sources, say, watch)


def _fetched_before(name: str) -> Path | None:
    """Where a Hub model is that was fetched before. Raises UnknownModel, with a suggestion."""
    try:
        return find_fetched(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, 'target', 'drafter')}") from error
