"""The table of layouts: finds the layout of a folder and reads the head in it.

All heads are read this way, the house's too. A layout that is not in the table is refused, and the
error lists what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from specviz.drafters.common.checkpoint import read_config, read_tensors, tensor_names
from specviz.drafters.common.layouts import eagle, others
from specviz.drafters.common.layouts.layout import Head, Layout, Names
from specviz.models.errors import Unsuitable
from specviz.models.files import folder_label

LAYOUTS: Final = (*eagle.EAGLE3, *others.OTHERS, *others.MEDUSA, *eagle.EAGLE1)
TABLE: Final = r"(^|\.)(wte|word_embeddings|shared)\.weight$|\.(embed_\w+|\w*embeddings?)\.weight$"
SHOWN: Final = 6  # keys and tensor names listed in an error


def layout_of(config: Mapping[str, Any], names: Names) -> Layout | None:
    """Return the first row that fits, or None."""
    return next((layout for layout in LAYOUTS if layout.fits(config, names)), None)


def layout_in(folder: Path) -> Layout | None:
    """Return the layout of the head in a folder; None for a language model.

    Raises:
        Unsuitable: If it is neither.
    """
    config, names = read_config(folder), tensor_names(folder)
    layout = layout_of(config, names)
    if layout is None and not any(re.search(TABLE, name) for name in names):
        raise _unknown(folder_label(folder), config, names)
    return layout


def read_head(folder: Path, family: str) -> Head:
    """Read the head in a folder, with the keys and names of its family's network.

    Raises:
        NotAvailable: If there is none.
        Unsuitable: If its layout is unknown or of another family.
    """
    name, config, tensors = folder_label(folder), read_config(folder), read_tensors(folder)
    layout = layout_of(config, tensors)
    if layout is None:
        raise _unknown(name, config, tensors)
    if layout.family != family:
        raise Unsuitable(f"{name!r} has the layout of {layout.title}, not of {family}.")
    return layout.ours(Head(name, config, tensors))


def _unknown(name: str, config: Iterable[str], names: Iterable[str]) -> Unsuitable:
    return Unsuitable(
        f"{name!r} is neither a language model nor a head in a known layout: its "
        f"config.json has the keys {_listed(config)}, and its tensors are {_listed(names)}."
    )


def _listed(words: Iterable[str]) -> str:
    found = sorted(words)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (", ".join(found[:SHOWN]) or "none") + more
