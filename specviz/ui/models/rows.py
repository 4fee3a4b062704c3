"""What the Models tab lists: every model that has weights, and what is loaded, in words.

Rule: what nobody looked up is said to be so; the browser only sets text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from specviz.catalog.entry import Entry, entries, find, listing, weights_path
from specviz.catalog.public import UNKNOWN, public_checkpoints, public_rows
from specviz.models.files import head_files, size_in_float32
from specviz.shipped import ASSETS

if TYPE_CHECKING:
    from specviz.catalog.loading import LoadedModel

Row = dict[str, Any]


def answer(any_model: bool, asked: str) -> str:
    """The list as JSON. asked: the question's number, as the page counts them."""
    rows = [*map(own, weighty()), *map(other, public_rows())]
    for row in rows:
        row["fetch"] = any_model and row["name"] in fetchable() and not row["here"]
        row["use"] = row["kind"] == "target" and row["here"] and row["runs"] is not False
        row["use"] = row["use"] and (any_model or find(row["name"], "target") is not None)
    bare = [e.title for e in entries() if e.kind == "drafter" and e.folder is None]
    return json.dumps({"id": number(asked), "rows": rows, "loaded": in_memory(), "bare": bare})


def number(asked: Any) -> int:
    """The question's number; 0, which is nobody's, where it is none."""
    return int(asked) if isinstance(asked, str) and asked.isdecimal() and len(asked) < 16 else 0


def fetchable() -> set[str]:
    """Names of models that can be fetched and might run."""
    own_names = {entry.name for entry in entries() if entry.sources}
    return own_names | {each.name for each in public_checkpoints() if each.runs is not False}


def weighty() -> list[Row]:
    """The catalogue's rows that have weights, one for each folder of them."""
    found: dict[str, Row] = {}
    for row in listing():
        if row["folder"] or row["sources"]:
            found.setdefault(row["folder"] or row["name"], row)
    return list(found.values())


def own(row: Row) -> Row:
    """A row of the catalogue in words."""
    entry = find(row["name"], row["kind"])
    ships = entry is not None and shipped(entry)
    tried = "weights and layout" if ships else "layout, on a tiny checkpoint"
    made_for = row["made_for"] and find(row["made_for"], "target")
    return {
        "name": row["name"],
        "title": row["title"],
        "kind": row["kind"],
        "layout": row["layout"],
        "made_for": made_for.title if made_for else row["made_for"] or "",
        "size": size(row["bytes"]),
        "memory": size(row["memory_bytes"] or in_float32(entry)),
        "licence": row["licence"],
        "gated": "",
        "tried": tried if ships or row["sources"] else UNKNOWN,
        "here": row["on_this_machine"],
        "runs": True,
        "about": row["about"],
        "sources": [],
    }


def other(row: Row) -> Row:
    """A public checkpoint in words."""
    gated = {True: "gated: the Hub asks for consent", False: "open", None: UNKNOWN}[row["gated"]]
    held = row["verified"]["layout"]
    return {
        "name": row["name"],
        "title": row["name"],
        "kind": row["kind"],
        "layout": layout(row),
        "made_for": row["made_for"] or "",
        "size": ", ".join(filter(None, [size(row["bytes"]), row["dtype"]])),
        "memory": size(row["memory_bytes"]),
        "licence": row["licence"] or UNKNOWN,
        "gated": gated,
        "tried": "layout, on a tiny checkpoint" if held else "nothing",
        "here": row["on_this_machine"],
        "runs": row["runs"],
        "about": row["about"],
        "sources": row["sources"],
    }


def layout(row: Row) -> str:
    """A public checkpoint's kind of network and layout, or what it is for want of that."""
    if row["kind"] == "target":
        return f"{row['family']}, {row['layout']}"
    return row["layout"] or f"{row['family']}, {UNKNOWN}"


def in_float32(entry: Entry | None) -> int | None:
    """Bytes of the weights that are here, in memory."""
    place = None if entry is None else weights_path(entry)
    return None if place is None else size_in_float32(head_files(place))


def shipped(entry: Entry) -> bool:
    """Whether its weights come with the app."""
    return entry.path is not None and entry.path.is_relative_to(ASSETS)


def in_memory() -> list[Row]:
    """What is loaded, in words."""
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
    """Where a model is computed, in which precision, and how its file has rounded its weights."""
    said = f"{model.device}, {model.dtype.removeprefix('torch.')}"
    if not model.rounding:
        return said
    return f"{said}, with the weights of a GGUF file as it rounds them: {', '.join(model.rounding)}"


def size(count: int | None) -> str:
    """Bytes in words."""
    if count is None:
        return UNKNOWN
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
