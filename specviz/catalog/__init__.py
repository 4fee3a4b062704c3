"""The catalogue of targets and drafters, and functions that load them.

Listing models and reporting errors works without torch; the functions that load models import it on
first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import Entry, entries, find, listing
from specviz.models.errors import MismatchedVocabulary, NotAvailable, Unsuitable
from specviz.models.load_control import start_libraries

if TYPE_CHECKING:
    from specviz.catalog.loading import load, load_drafter, load_target

__all__ = [
    "Entry",
    "MismatchedVocabulary",
    "NotAvailable",
    "Unsuitable",
    "entries",
    "find",
    "listing",
    "load",
    "load_drafter",
    "load_target",
]


def __getattr__(name: str) -> Any:
    if name not in ("load", "load_drafter", "load_target"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    start_libraries()
    return getattr(import_module("specviz.catalog.loading"), name)
