"""The rows of the Models tab: every model with weights, as text.

Facts that were not checked are marked as unknown. The browser shows everything as plain text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from specviz.catalog.entry import Entry, Kind, entries, find, listing, weights_path
from specviz.catalog.public import UNKNOWN, public_checkpoints, public_rows
from specviz.models.files import head_files, size_in_float32
from specviz.shipped import ASSETS, MEASURED, measured

if TYPE_CHECKING:
    from specviz.catalog.loading import LoadedModel
    from specviz.ui.task import Machine

Listed = Mapping[str, Any]  # a row of `listing` or of `public_rows`


class Reliability(TypedDict):
    """How many guesses were accepted, beside the drafter's predictions, at one temperature."""

    temperature: float
    guesses: int
    error: float
    bins: list[tuple[int, float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A model, and what the page offers for it.

    Attributes:
        runs: Whether it can be run; None if unknown because its files are not on this machine.
        held: Bytes of its weights in float32; None if unknown.
        target: Name of the target that a drafter was made for.
        fits: Whether it fits in memory (a drafter together with its target); None if unknown.
        reliability: Measured predictions of acceptance, by temperature; empty for a drafter without
            a confidence head.
    """

    name: str
    title: str
    kind: Kind
    layout: str
    made_for: str
    size: str
    memory: str
    licence: str
    gated: str
    tried: str
    here: bool
    runs: bool | None
    about: str
    sources: Sequence[str]
    held: int | None
    target: str | None
    fetch: bool = False
    use: bool = False
    fits: bool | None = None
    reliability: Sequence[Reliability] = ()


def every_model() -> list[Row]:
    """Return every model, without what the page offers for it; this does not need torch."""
    return [*map(own, weighty()), *map(other, public_rows())]


def offered(any_model: bool, machine: Machine) -> list[Row]:
    """Return every model with what the page offers for it."""
    models, free = every_model(), free_bytes(machine)
    needed = {row.name: row.held for row in models if row.kind == "target"}
    can_be_fetched = fetchable() if any_model else set()
    predictions = reliability()
    return [
        replace(
            row,
            fetch=row.name in can_be_fetched and not row.here,
            use=usable(row) and (any_model or find(row.name, "target") is not None),
            fits=fits(row.held, needed.get(row.target or ""), free),
            reliability=predictions.get(row.name, []),
        )
        for row in models
    ]


def reliability() -> dict[str, list[Reliability]]:
    """Return measured predictions of confidence heads by drafter.

    Raises BrokenFile if a file of measurements is damaged.
    """
    groups: dict[str, dict[float, list[list[list[float]]]]] = {}
    for path in sorted(MEASURED.parent.rglob(MEASURED.name)):
        for row in (measured(path) or {}).get("rows", []):
            if row.get("reliability"):
                by_temperature = groups.setdefault(row["name"], {})
                by_temperature.setdefault(row["temperature"], []).append(row["reliability"])
    return {
        name: [
            pooled(temperature, several) for temperature, several in sorted(groups[name].items())
        ]
        for name in groups
    }


def pooled(temperature: float, several: list[list[list[float]]]) -> Reliability:
    """Return the predictions of several domains together."""
    from specviz.bench.outcomes import calibration_error, pool_reliability  # imports torch

    bins = pool_reliability(several)
    return {
        "temperature": temperature,
        "guesses": int(sum(count for count, _, _ in bins)),
        "error": calibration_error(bins),
        "bins": [(int(count), mean, kept) for count, mean, kept in bins],
    }


def usable(row: Row) -> bool:
    """Return whether a model is a target that this machine has and can run."""
    return row.kind == "target" and row.here and row.runs is not False


def fetchable() -> set[str]:
    """Return the names of models that can be downloaded and run."""
    own_names = {entry.name for entry in entries() if entry.sources}
    return own_names | {each.name for each in public_checkpoints() if each.runs is not False}


def weighty() -> list[Listed]:
    """Return the catalogue's entries that have weights; drafters that share a folder are one."""
    found: dict[str, Listed] = {}
    for row in listing():
        if row["folder"] or row["sources"]:
            place = row["folder"] or row["name"]
            known = found.get(place)
            titles = row["title"] if known is None else f"{known['title']}, {row['title']}"
            found[place] = {**(known or row), "title": titles}
    return list(found.values())


def own(row: Listed) -> Row:
    """Return the row of an entry of the catalogue."""
    entry = find(row["name"], row["kind"])
    held = row["memory_bytes"] or in_float32(entry)
    tested = entry is not None and _has_tested_weights(entry)
    made_for = row["made_for"] and find(row["made_for"], "target")
    return Row(
        name=row["name"],
        title=row["title"],
        kind=row["kind"],
        layout=row["layout"],
        made_for=made_for.title if made_for else row["made_for"] or "",
        size=size(row["bytes"]),
        memory=size(held),
        licence=row["licence"],
        gated="",
        tried=describe_tests(tested, True) if tested or row["sources"] else UNKNOWN,
        here=row["on_this_machine"],
        runs=True,
        about=row["about"],
        sources=(),
        held=held,
        target=row["made_for"],
    )


def _has_tested_weights(entry: Entry) -> bool:
    # A model that ships, or for which a head ships that was trained and measured on it.
    heads = [each for each in entries() if each.made_for == entry.name]
    return shipped(entry) or any(map(shipped, heads))


def describe_tests(weights: bool, layout: bool) -> str:
    """Return in words what of a checkpoint was tested."""
    if weights:
        return "weights and layout"
    return "layout only, with a tiny checkpoint" if layout else "nothing"


def other(row: Listed) -> Row:
    """Return the row of a public checkpoint."""
    gated = {True: "gated: requires consent on the Hub", False: "open", None: UNKNOWN}[row["gated"]]
    return Row(
        name=row["name"],
        title=row["name"],
        kind=row["kind"],
        layout=layout(row),
        made_for=row["made_for"] or "",
        size=", ".join(filter(None, [size(row["bytes"]), row["dtype"]])),
        memory=size(row["memory_bytes"]),
        licence=row["licence"] or UNKNOWN,
        gated=gated,
        tried=describe_tests(row["verified"]["weights"], row["verified"]["layout"]),
        here=row["on_this_machine"],
        runs=row["runs"],
        about=row["about"],
        sources=row["sources"],
        held=row["memory_bytes"],
        target=row["made_for"],
    )


def layout(row: Listed) -> str:
    """Return a public checkpoint's family and layout, as far as they are known."""
    if row["kind"] == "target":
        return f"{row['family']}, {row['layout']}"
    return row["layout"] or f"{row['family']}, {UNKNOWN}"


def in_float32(entry: Entry | None) -> int | None:
    """Return the bytes that a model's weights use in memory; None if the files are not here."""
    place = None if entry is None else weights_path(entry)
    return None if place is None else size_in_float32(head_files(place))


def free_bytes(machine: Machine) -> int | None:
    """Return how many float32 bytes fit once loaded models are unloaded; None if unknown."""
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
    """Return whether a model (a drafter with its target) fits in memory; None if unknown.

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
    """Return whether the weights ship with the app."""
    return entry.path is not None and entry.path.is_relative_to(ASSETS)


def where(model: LoadedModel) -> str:
    """Return on which device and in which precision a model runs, and a GGUF file's rounding."""
    place = f"{model.device}, {model.dtype.removeprefix('torch.')}"
    if not model.rounding:
        return place
    return f"{place}, with quantized weights from a GGUF file: {', '.join(model.rounding)}"


def size(count: int | None) -> str:
    """Format bytes in MB or GB."""
    if count is None:
        return UNKNOWN
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
