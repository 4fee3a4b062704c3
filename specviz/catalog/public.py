"""Facts about public checkpoints, with sources, and whether they were verified.

A row contains facts that were looked up; unknown ones are None, and nothing is guessed from a name.
The tests never load these weights. They only verify that a tiny checkpoint in the same layout can
be loaded. `fetch` downloads one to this machine, or any other model of the catalogue. Standard
library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from specviz.catalog import sources
from specviz.catalog.entry import Kind, entries, missing_message, suggestion, weights_path
from specviz.models.errors import NotAvailable, UnknownModel
from specviz.models.files import FetchMonitor, find_fetched, head_files, size_in_float32, size_of
from specviz.models.files import fetch as fetch_from_hub
from specviz.shipped import ASSETS, read_shipped_json

CAUSAL_LM: Final = "causal LM"  # layout of targets: as saved by transformers
UNKNOWN: Final = "not checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCheckpoint:
    """One public checkpoint; a field that was not looked up is None.

    Attributes:
        name: Its id on the Hub.
        kind: Target or drafter.
        family: A target's model type in transformers, or a drafter's method.
        layout: A title of `drafters.common.layouts`, or CAUSAL_LM.
        runs: Whether this app can run it. If not, `about` says why.
        made_for: A drafter's target.
        revision: The revision to fetch.
        parameters: Number of parameters.
        bytes: Size of its weight files.
        dtype: The dtype of its tensors.
        licence: Its licence.
        gated: Whether the Hub requires consent before a download.
        chat_template: Whether its tokenizer has a chat template; None for drafters, which use their
            target's tokenizer.
        verified: "layout": whether a test loads a tiny checkpoint in this layout. "weights":
            whether these weights themselves were loaded.
        about: A remark to display.
        sources: URLs of the pages with these facts.
    """

    name: str
    kind: Kind
    family: str
    layout: str | None
    runs: bool | None
    made_for: str | None
    revision: str
    parameters: int | None
    bytes: int | None
    dtype: str | None
    licence: str | None
    gated: bool | None
    chat_template: bool | None
    verified: Mapping[str, bool]
    about: str
    sources: list[str]

    @property
    def pinned(self) -> str:
        """Return the id to fetch, with its revision unless that is the main branch."""
        return self.name if self.revision == "main" else f"{self.name}@{self.revision}"

    @property
    def memory(self) -> int | None:
        """Return the bytes of the weights in float32."""
        return None if self.parameters is None else 4 * self.parameters


@cache
def public_checkpoints() -> tuple[PublicCheckpoint, ...]:
    """Return all rows, targets first.

    Raises:
        BrokenFile: The data file cannot be read.
    """
    return read_shipped_json(
        ASSETS / "public.json", lambda rows: tuple(PublicCheckpoint(**row) for row in rows)
    )


def public_rows() -> list[dict[str, Any]]:
    """Return the rows as plain data, each with two more facts.

    These are on_this_machine, whether the files are on this machine, and memory_bytes, the size of
    the weights in float32. Sizes are those of the files, or of the row if there are no files.
    """
    return [_row(each) for each in public_checkpoints()]


def _row(each: PublicCheckpoint) -> dict[str, Any]:
    path = find_fetched(each.pinned)
    found: dict[str, Any] = asdict(each) | {"memory_bytes": each.memory}
    size = each.bytes if path is None else size_of(head_files(path))
    if path is not None:
        found["memory_bytes"] = size_in_float32(head_files(path)) or each.memory
    return found | {"bytes": size, "on_this_machine": path is not None}


def fetch(name: str, say: Callable[[str], object], watch: FetchMonitor | None = None) -> Path:
    """Fetch a model unless it is already on this machine.

    Args:
        name: A name in the catalogue, or a Hub id. For a model in the public list, the listed
            revision is fetched, unless the id contains another one.
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
    try:
        return find_fetched(name)
    except UnknownModel as error:
        raise UnknownModel(f"{error}{suggestion(name, 'target', 'drafter')}") from error
