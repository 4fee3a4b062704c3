"""Which heads can be trained on a frozen target, and what training needs of each.

Rule: as in loading.py: knowing a name costs nothing, and a family's code is imported by its row's
path when it is asked for.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import entries, find
from specviz.models.target import Target

if TYPE_CHECKING:
    from specviz.drafters.kit.training import Family


def names() -> tuple[str, ...]:
    """The heads that can be trained, in the catalogue's order."""
    return tuple(entry.name for entry in entries() if entry.training)


def family(name: str) -> Family:
    """The family called `name`. Raises ValueError for a name that is not among `names()`."""
    entry = find(name, "drafter")
    if entry is None or not entry.training:
        raise ValueError(f"There is no head {name!r}; there are {', '.join(names())}.")
    found: Family = resolve_name(entry.training)
    return found


def load_head(head: Any, folder: Path, target: Target) -> Any:
    """What `head` wrote to `folder`, as the app will load it."""
    return type(head).load(folder, target)
