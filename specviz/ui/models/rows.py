"""The rows of the Models tab: every model with weights, and the models in memory, as text.

Facts that nobody has checked are marked as unknown. The browser only sets text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import Entry, entries, find, listing, weights_path
from specviz.catalog.public import UNKNOWN, public_checkpoints, public_rows
from specviz.models.files import head_files, size_in_float32
from specviz.shipped import ASSETS

if TYPE_CHECKING:
    from specviz.catalog.loading import LoadedModel
    from specviz.ui.task import Machine

Row = dict[str, Any]


def answer(any_model: bool, machine: Machine, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the list.

    Args:
        any_model: Whether visitors may download models.
        machine: The device and dtype of live runs.
        data: The question, which says nothing.
    """
    rows = [*map(own, weighty()), *map(other, public_rows())]
    for row in rows:
        row["fetch"] = any_model and row["name"] in fetchable() and not row["here"]
        row["use"] = row["kind"] == "target" and row["here"] and row["runs"] is not False
        row["use"] = row["use"] and (any_model or find(row["name"], "target") is not None)
    free = free_bytes(machine)
    needed = {row["name"]: row["bytes"] for row in rows if row["kind"] == "target"}
    for row in rows:
        row["fits"] = fits(row.pop("bytes"), needed.get(row.pop("target")), free)
    bare = [e.title for e in entries() if e.kind == "drafter" and e.folder is None]
    shown = {"rows": rows, "loaded": in_memory(), "bare": bare}
    return shown | {"free": size(free) if free else ""}


def fetchable() -> set[str]:
    """Return the names of models that can be downloaded and may run."""
    own_names = {entry.name for entry in entries() if entry.sources}
    return own_names | {each.name for each in public_checkpoints() if each.runs is not False}


def weighty() -> list[Row]:
    """Return the catalogue's rows with weights, one per folder."""
    found: dict[str, Row] = {}
    for row in listing():
        if row["folder"] or row["sources"]:
            found.setdefault(row["folder"] or row["name"], row)
    return list(found.values())


def own(row: Row) -> Row:
    """Describe a row of the catalogue."""
    entry = find(row["name"], row["kind"])
    ships = entry is not None and shipped(entry)
    tried = "weights and layout" if ships else "layout only, with a tiny checkpoint"
    made_for = row["made_for"] and find(row["made_for"], "target")
    return {
        "name": row["name"],
        "title": row["title"],
        "kind": row["kind"],
        "layout": row["layout"],
        "made_for": made_for.title if made_for else row["made_for"] or "",
        "size": size(row["bytes"]),
        "memory": size(held := row["memory_bytes"] or in_float32(entry)),
        "bytes": held,
        "target": row["made_for"],
        "licence": row["licence"],
        "gated": "",
        "tried": tried if ships or row["sources"] else UNKNOWN,
        "here": row["on_this_machine"],
        "runs": True,
        "about": row["about"],
        "sources": [],
    }


def other(row: Row) -> Row:
    """Describe a public checkpoint."""
    gated = {True: "gated: requires consent on the Hub", False: "open", None: UNKNOWN}[row["gated"]]
    held = row["verified"]["layout"]
    return {
        "name": row["name"],
        "title": row["name"],
        "kind": row["kind"],
        "layout": layout(row),
        "made_for": row["made_for"] or "",
        "size": ", ".join(filter(None, [size(row["bytes"]), row["dtype"]])),
        "memory": size(row["memory_bytes"]),
        "bytes": row["memory_bytes"],
        "target": row["made_for"],
        "licence": row["licence"] or UNKNOWN,
        "gated": gated,
        "tried": "layout only, with a tiny checkpoint" if held else "nothing",
        "here": row["on_this_machine"],
        "runs": row["runs"],
        "about": row["about"],
        "sources": row["sources"],
    }


def layout(row: Row) -> str:
    """Return a public checkpoint's family and layout, as far as they are known."""
    if row["kind"] == "target":
        return f"{row['family']}, {row['layout']}"
    return row["layout"] or f"{row['family']}, {UNKNOWN}"


def in_float32(entry: Entry | None) -> int | None:
    """Return the bytes that a model's weights take in memory; None if they are not here."""
    place = None if entry is None else weights_path(entry)
    return None if place is None else size_in_float32(head_files(place))


def free_bytes(machine: Machine) -> int | None:
    """Return how many bytes of float32 weights would fit if all loaded models were unloaded.

    In half precision, twice as many do. None if the free memory is unknown.
    """
    from specviz.catalog.loading import loaded_models
    from specviz.models.devices import free_memory, pick_device, pick_dtype

    device = pick_device(machine.device)
    free = free_memory(device)
    if free is None:
        return None
    return (
        (free + sum(each.bytes for each in loaded_models()))
        * 4
        // pick_dtype(device, machine.dtype).itemsize
    )


def fits(own: int | None, target: int | None, free: int | None) -> bool | None:
    """Return whether a model fits in memory, a drafter with its target; None if unknown.

    Args:
        own: Bytes of the model.
        target: Bytes of the target that a drafter was made for; None for targets.
        free: Bytes of memory.
    """
    if free is None or own is target is None:
        return None
    if (own or 0) + (target or 0) > free:
        return False
    return None if own is None else True


def shipped(entry: Entry) -> bool:
    """Whether the weights ship with the app."""
    return entry.path is not None and entry.path.is_relative_to(ASSETS)


def in_memory() -> list[Row]:
    """Describe the loaded models."""
    from specviz.catalog.loading import loaded_models

    return [
        {
            "title": each.title,
            "where": where(each),
            "memory": size(each.bytes),
        }
        for each in loaded_models()
    ]


def where(model: LoadedModel) -> str:
    """Say on which device and in which precision a model runs, and how a GGUF file rounded it."""
    place = f"{model.device}, {model.dtype.removeprefix('torch.')}"
    if not model.rounding:
        return place
    return f"{place}, with quantized weights from a GGUF file: {', '.join(model.rounding)}"


def size(count: int | None) -> str:
    """Format bytes in MB or GB."""
    if count is None:
        return UNKNOWN
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
