"""The catalogue as data: the targets and drafters that there are, one row each.

Rule: what can be known without loading a model is in its row, and nowhere else; a drafter's code is
named by its dotted path and imported when it is loaded. Rows of other people's drafters come from
the file that the environment variable SPECVIZ_CATALOG names, that of a server from SPECVIZ_SERVER.
Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from specviz.catalog.sources import find_local
from specviz.models.files import size_of, weight_files
from specviz.settings.settings import Sampling, Settings
from specviz.settings.suggestions import did_you_mean
from specviz.shipped import ASSETS, of_shipped

Kind = Literal["target", "drafter"]

CATALOGUE: Final = ASSETS / "catalog.json"
MORE_ROWS: Final = "SPECVIZ_CATALOG"  # the environment variable that names a file of further rows
SERVER: Final = "SPECVIZ_SERVER"  # and the one that names a server, which all visitors may use
ELSEWHERE: Final = "From elsewhere"  # the title over drafters that no group of the catalogue has


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the catalogue.

    title: what people call it. folder: of the weights, under the folder of the row's own file;
    None where there are none. made_for: the target that a drafter was made for; None fits any.
    sources: where the weights come from where they do not ship, see `sources`.
    reads: the fields of Settings that change what a drafter guesses. usual: what suits it better
    than their defaults.

    Of a target. parameters: how many. context: tokens that it can see. address: of the server that
    computes it, vllm:URL; where there is one, its size is the server's to know.

    Of a drafter. group: its key among `groups`. drafter: "module:Class", whose
    `load(title, folder, target)` gives it, as `drafters.kit.base` says. training: "module:NAME",
    its `drafters.kit.training.Family`, where it can be trained here. how, knows, costs: three
    sentences: how it drafts, what it knows when it guesses, what it costs. papers: each with
    authors, year, title and either arxiv, its id there, or url. differences: from its paper, in
    words. smaller: where its usual draft is smaller than its paper's, with {guesses} and {heads} to
    be filled in. diagram: see `figures.diagram`. counterpart: the name of transformers' way of
    doing the same. published_as: its method's name among published numbers. bound: nobody would
    decode with it: an end of the scale. copies: its guesses are copied from the text.
    """

    name: str
    kind: Kind
    title: str
    family: str
    licence: str
    about: str
    layout: str = "no weights"
    folder: str | None = None
    sources: list[dict[str, str]] = field(default_factory=list)
    parameters: int = 0
    context: int = 0
    address: str = ""
    made_for: str | None = None
    reads: list[str] = field(default_factory=list)
    usual: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    drafter: str = ""
    training: str = ""
    how: str = ""
    knows: str = ""
    costs: str = ""
    papers: list[dict[str, Any]] = field(default_factory=list)
    differences: str = ""
    smaller: str = ""
    diagram: dict[str, Any] | None = None
    counterpart: str = ""
    published_as: str = ""
    bound: bool = False
    copies: bool = False

    @property
    def path(self) -> Path | None:
        """Where the weights are, or would be."""
        return None if self.folder is None else ASSETS / self.folder

    @property
    def memory(self) -> int:
        """Bytes of a target's weights in float32; nearly as many again where they are packed."""
        return 4 * self.parameters


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry: targets first, then drafters, those of SPECVIZ_CATALOG last.

    Raises BrokenFile, and ValueError with a sentence where that file cannot be used.
    """
    own = (*of_shipped(CATALOGUE, _rows), *_served())
    more = os.environ.get(MORE_ROWS)
    return own if not more else own + _further(Path(more), {(e.kind, e.name) for e in own})


def _served() -> Iterator[Entry]:
    """The target on the server that the environment names, if any."""
    address = os.environ.get(SERVER)
    if address:
        yield Entry(
            name="server",
            kind="target",
            title="A model on a server",
            family="served",
            licence="the server's",
            about="Computed by a vLLM server that whoever runs this page has named.",
            layout="on a server",
            address=address,
        )


def groups() -> dict[str, str]:
    """Title by key of every group of drafters, in the order in which they are shown."""
    return of_shipped(CATALOGUE, lambda data: dict(data["groups"]))


def group_of(name: str) -> str:
    """The title of a drafter's group; ELSEWHERE for one that is in none."""
    entry = find(name, "drafter")
    return ELSEWHERE if entry is None else groups().get(entry.group, ELSEWHERE)


def _rows(data: Any) -> tuple[Entry, ...]:
    return tuple(Entry(**row) for row in data["models"])


def _further(path: Path, taken: set[tuple[Kind, str]]) -> tuple[Entry, ...]:
    """The drafters of another file; folders are under its own. Raises ValueError."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        found = tuple(Entry(**{"kind": "drafter", **row}) for row in rows)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"{MORE_ROWS} names no file of rows: {reason}.") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{MORE_ROWS} names no file of rows: it is not whole JSON.") from error
    except TypeError as error:
        raise ValueError(f"{MORE_ROWS} names no file of rows: {error}.") from error
    for entry in found:
        if entry.kind != "drafter" or not entry.drafter:
            raise ValueError(f"{MORE_ROWS}: {entry.name!r} needs a drafter, as module:Class.")
        if (entry.kind, entry.name) in taken:
            raise ValueError(f"{MORE_ROWS}: there is a drafter called {entry.name!r} already.")
        taken.add((entry.kind, entry.name))
    place = path.resolve().parent
    return tuple(replace(e, folder=str(place / e.folder)) if e.folder else e for e in found)


def find(name: str, kind: Kind) -> Entry | None:
    """The entry called `name`; None where the catalogue has none."""
    return next((e for e in entries() if e.name == name and e.kind == kind), None)


def suggestion(name: str, *kinds: Kind) -> str:
    """A question that names the closest model of these kinds, after a space; perhaps empty."""
    return did_you_mean(name, [entry.name for entry in entries() if entry.kind in kinds])


def title_of(name: str) -> str:
    """What people call a model of the catalogue; its own name where the catalogue lacks it."""
    return next((entry.title for entry in entries() if entry.name == name), name)


def settings_read_by(drafter: str) -> list[str] | None:
    """The fields of Settings that this drafter heeds; None where the catalogue lacks it."""
    entry = find(drafter, "drafter")
    return None if entry is None else entry.reads


def with_defaults(drafter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All settings as plain data: those given, else the drafter's usual ones, else the defaults.

    given: as `Settings.to_json` writes them, as far as they are said; nothing is checked here.
    """
    entry = find(drafter, "drafter")
    usual, own = Settings().to_json(), {} if entry is None else entry.usual
    return {**usual, **own, **given, "sampling": {**usual["sampling"], **given.get("sampling", {})}}


def listing() -> list[dict[str, Any]]:
    """The catalogue as rows: an entry's fields, bytes (of weight files), on_this_machine, and of a
    target memory_bytes, of its weights in float32.
    """
    return [_row(entry) for entry in entries()]


def weights_path(entry: Entry) -> Path | None:
    """Where an entry's weights are on this machine, a folder or a GGUF file; None: nowhere."""
    if entry.path is None:
        return find_local(entry.sources)
    return entry.path if weight_files(entry.path) else None


def missing_message(entry: Entry) -> str:
    """Why an entry cannot be used that is nowhere on this machine, and what helps."""
    if entry.sources:
        helps = f"`python -m specviz fetch {entry.name}` fetches it"
    else:
        helps = f"its weights belong in {Path('assets', entry.folder or '')}"
    return f"{entry.name!r} is not on this machine: {helps}."


def size_text(entry: Entry) -> str:
    """A target's size in words, known before it is loaded."""
    if entry.address:
        return entry.about[:1].lower() + entry.about[1:].rstrip(".")
    once = entry.memory / 1e9
    return (
        f"{entry.parameters / 1e6:.1f} M parameters, sees {entry.context:,} tokens, takes "
        f"{once:.2f} GB of memory in float32, {2 * once:.2f} GB where its weights are packed too"
    )


def _row(entry: Entry) -> dict[str, Any]:
    place = weights_path(entry)
    files = [] if place is None else weight_files(place)
    needs_none = entry.path is None and not entry.sources
    size = size_of(files) if files or needs_none else None
    found = {"bytes": size, "on_this_machine": size is not None}
    return asdict(entry) | found | {"memory_bytes": entry.memory or None}


def settings_from_args(args: argparse.Namespace, drafter: str | None = None) -> Settings:
    """The settings that the options say, for `drafter` or the one named. Raises BadSettings."""
    said = vars(args)
    given = {f.name: said[f.name] for f in fields(Settings) if f.name in said}
    sampling = {f.name: said[f.name] for f in fields(Sampling) if f.name in said}
    filled_in = with_defaults(drafter or args.drafter or "", {**given, "sampling": sampling})
    return Settings.from_json(filled_in)
