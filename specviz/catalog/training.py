"""Find the heads that can be trained on a frozen target, and their training code.

As in loading.py, this code is imported only when it is requested.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import entries, find
from specviz.models.target import Target

if TYPE_CHECKING:
    from specviz.drafters.common.training import Family


def names() -> tuple[str, ...]:
    """Return the names of the heads that can be trained, in the catalogue's order."""
    return tuple(entry.name for entry in entries() if entry.training)


def family(name: str) -> Family:
    """Return the training family of a head.

    Raises:
        ValueError: No head of this name can be trained.
    """
    entry = find(name, "drafter")
    if entry is None or not entry.training:
        raise ValueError(f"No head is called {name!r}; choose one of {', '.join(names())}.")
    found: Family = resolve_name(entry.training)
    return found


def load_head(head: Any, folder: Path, target: Target) -> Any:
    """Load a trained head from `folder` in the same way as the app."""
    return type(head).load(folder, target)
