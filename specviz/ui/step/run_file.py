"""A run as a file that the page saves and opens: a header, and the lines that the player shows.

The browser reads such a file by itself, so it needs to know what a line may contain. `shape` says
that, from the types of the lines; `run_file.ts` compares every line with it before any is shown.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from specviz.figures.charts import DrawnFrame
from specviz.frames.scene import Figure
from specviz.ui.limits import LARGEST_FILE, LARGEST_RUN, MOST_VALUES
from specviz.ui.routes import config_address
from specviz.ui.step.choices import HintLine
from specviz.ui.step.lines import BaselineLine, FinishedLine, RoundLine, RunLine

FORMAT: Final = "specviz-run"
VERSION: Final = 1  # increased when an older page could not show the lines


class FileHeader(TypedDict):
    """The first line of a file.

    Attributes:
        lines: The number of lines that follow, which shows whether the file is cut off.
    """

    format: str
    version: int
    lines: int


class FileLimits(TypedDict):
    """What the page opens.

    Attributes:
        file: Bytes of a file.
        run: Bytes of a run once it is unpacked.
        values: Values that are compared with the shape.
    """

    file: int
    run: int
    values: int


class FileConfig(TypedDict):
    """What the player's script knows of files.

    Attributes:
        shape: The address of a FileShape.
    """

    format: str
    version: int
    shape: str
    limits: FileLimits


class ChartText(TypedDict):
    """Texts of a chart; plotly reads them as markup, so `escaped` is the only way to write "<"."""

    mode: Literal["text"]
    x: list[float]
    y: list[float]
    text: list[Annotated[str, "escaped"]]
    textposition: Literal["middle left", "middle right"]
    textfont: dict[str, str | float | list[str]]


class Edge(TypedDict):
    """The outline of bars."""

    color: str
    width: float


class Marker(TypedDict):
    """The colours of bars."""

    color: str
    line: Edge


class ChartBars(TypedDict):
    """Horizontal bars of a chart."""

    type: Literal["bar"]
    orientation: Literal["h"]
    x: list[float]
    y: list[float]
    width: float
    marker: Marker
    hoverinfo: Literal["skip"]


class ChartAxis(TypedDict):
    """An invisible axis of a chart."""

    visible: Literal[False]
    fixedrange: Literal[True]
    automargin: Literal[False]
    range: tuple[float, float]


class ChartLayout(TypedDict):
    """The layout of a chart."""

    width: float
    height: float
    margin: dict[str, float]
    xaxis: ChartAxis
    yaxis: ChartAxis
    showlegend: Literal[False]
    hovermode: Literal["closest"]
    dragmode: Literal[False]
    paper_bgcolor: str
    plot_bgcolor: str
    font: dict[str, str | float]
    barmode: Literal["overlay"]


class Chart(TypedDict):
    """A figure of the inspector; plotly could also draw other kinds.

    Attributes:
        alt: What it shows, in words, for screen readers.
    """

    data: dict[str, ChartText | ChartBars]
    layout: ChartLayout
    alt: str


# A shape is a name in PLAIN; or one of {"is": values}, {"list": shape}, {"map": shape},
# {"tuple": shapes}, {"either": shapes} and {"record": a name in FileShape.records}.
Shape = str | dict[str, Any]


class Record(TypedDict):
    """The fields of a record, and which of them may be missing."""

    fields: dict[str, Shape]
    may: list[str]


class FileShape(TypedDict):
    """What a file may contain: lines by kind, and frames once they are merged."""

    lines: dict[str, Shape]
    frame: Shape
    records: dict[str, Record]


PLAIN: Final[Mapping[Any, str]] = {
    str: "string", float: "number", int: "integer", bool: "boolean", type(None): "null",
    Any: "any", object: "any",
}  # fmt: skip
LINES: Final = (RunLine, RoundLine, FinishedLine, BaselineLine, HintLine)


def run_file(lines: Iterable[str]) -> str:
    """Return the text of a file with these lines, which `specviz.ui.step.lines` yields."""
    whole = [line for line in lines if line]
    first: FileHeader = {"format": FORMAT, "version": VERSION, "lines": len(whole)}
    return "".join([json.dumps(first) + "\n", *whole])


def shape_address() -> str:
    """Return the address of the shape, which the page fetches when a file is opened."""
    return config_address("run-file", json.dumps(shape(), separators=(",", ":")))


def file_config(address: str) -> FileConfig:
    """Return what the player knows of files.

    Args:
        address: The address of the shape; empty without a server.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "shape": address,
        "limits": {"file": LARGEST_FILE, "run": LARGEST_RUN, "values": MOST_VALUES},
    }


@cache
def shape() -> FileShape:
    """Return what a file may contain, from the types of its lines."""
    records: dict[str, Record] = {}
    lines = {get_args(get_type_hints(line)["kind"])[0]: _shape(line, records) for line in LINES}
    return {"lines": lines, "frame": _shape(DrawnFrame, records), "records": records}


def _shape(hint: Any, records: dict[str, Record]) -> Shape:
    """Return the shape of a type, and add the records that it contains."""
    if hint == Figure:
        return _shape(Chart, records)
    if hint in PLAIN:
        return PLAIN[hint]
    return _record(hint, records) if is_typeddict(hint) else _composed(hint, records)


def _composed(hint: Any, records: dict[str, Record]) -> Shape:
    """Return the shape of a type that consists of other types. Raises TypeError."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return str(inner[1])
    if origin is Literal:
        return {"is": list(inner)}
    shapes = [_shape(part, records) for part in inner if part is not Ellipsis]
    if origin is NotRequired:
        return shapes[0]
    if origin in (Union, types.UnionType):
        return {"either": shapes}
    return _collection(origin, shapes, fixed=origin is tuple and Ellipsis not in inner)


def _collection(origin: Any, shapes: list[Shape], fixed: bool) -> Shape:
    """Return the shape of a collection; `fixed`: whether every element has a separate shape."""
    if fixed:
        return {"tuple": shapes}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"map": shapes[1]}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"list": shapes[0]}
    raise TypeError(f"{origin} has no shape")


def _record(hint: Any, records: dict[str, Record]) -> Shape:
    name = f"{hint.__module__.removeprefix('specviz.')}.{hint.__name__}"
    if name not in records:
        records[name] = {"fields": {}, "may": []}  # a type may contain itself
        hints = get_type_hints(hint, include_extras=True)
        records[name]["fields"] = {key: _shape(part, records) for key, part in hints.items()}
        records[name]["may"] = sorted(
            key
            for key, part in hints.items()
            if key in hint.__optional_keys__ or get_origin(part) is NotRequired
        )
    return {"record": name}
