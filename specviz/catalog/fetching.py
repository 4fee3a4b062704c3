"""Fetch a model to this machine, for the command line and for the page."""

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
    """Fetch a model unless it is already here.

    Args:
        name: A name of the catalogue, or a Hub id. For a model of the public list, the listed
            revision is fetched unless the id names another.
        say: Called with a sentence for each step.
        watch: Receives progress, and can cancel the fetch.

    Returns:
        The model's folder or its GGUF file.

    Raises:
        NotAvailable: No source has the model.
        Stopped: `watch` cancelled the fetch.
    """
    entry = next((each for each in entries() if each.name == name), None)
    wanted = next((each.pinned for each in public_checkpoints() if each.name == name), name)
    found = _find_fetched(wanted) if entry is None else weights_path(entry)
    if found is not None:
        say(f"{name} is already on this machine.")
        return found
    if entry is None:
        say(f"Downloading {name} from the Hub.")
        return fetch_from_hub(wanted, watch)
    if not entry.sources:
        raise NotAvailable(missing_message(entry))
    return sources.fetch(name, entry.sources, say, watch)


def _find_fetched(name: str) -> Path | None:
    """Return the path of a Hub model on this machine, or None.

    Raises:
        UnknownModel: The name is not a Hub id; the message suggests a similar name.
    """
    try:
        return find_fetched(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, 'target', 'drafter')}") from error
