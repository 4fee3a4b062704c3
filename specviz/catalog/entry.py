"""The catalogue as data: one row for each target and drafter.

A row contains everything that is known without loading the model. The dotted path of a drafter's
class is in the row, and is imported when the drafter is loaded. The environment variable
SPECVIZ_CATALOG is the path of a file with rows of further drafters; SPECVIZ_SERVER adds a row for a
server. Standard library only.
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
from specviz.settings.suggestion import did_you_mean
from specviz.shipped import ASSETS, read_shipped_json

Kind = Literal["target", "drafter"]

CATALOGUE: Final = ASSETS / "catalog.json"
MORE_ROWS: Final = "SPECVIZ_CATALOG"  # environment variable: path of a file with further rows
SERVER: Final = "SPECVIZ_SERVER"  # environment variable: a server that all visitors may use
ELSEWHERE: Final = "From elsewhere"  # title of the group of drafters without a group


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of the catalogue.

    Attributes:
        name: The name that commands and the page use.
        kind: Target or drafter.
        title: The displayed name.
        family: The model type of a target, or the method of a drafter.
        licence: The licence of its weights.
        about: One sentence about it.
        writes: What a target writes, for newcomers, such as "writes children's stories".
        layout: The layout of its weight files.
        folder: Folder of the weights, relative to the file that contains the row. None if it has no
            weights.
        sources: Sources of weights that do not ship, see the module `sources`.
        parameters: Number of a target's parameters.
        context: Context length of a target, in tokens.
        address: Address (vllm:URL) of the server that runs a target, whose size is then unknown.
        made_for: The target that a drafter was made for. None: any target.
        reads: Names of the settings that affect a drafter's proposals.
        usual: The drafter's own defaults for some settings, as in `Settings.to_json`.
        group: A drafter's key among `groups`.
        drafter: "module:Class", whose `load(title, folder, target)` returns the drafter, see
            `drafters.common.base`.
        training: "module:NAME" of its `drafters.common.training.Family`, if it can be trained here.
        how: A sentence that says how it drafts.
        knows: A sentence that says what information it uses.
        costs: A sentence that says what a draft costs.
        papers: Its papers, each with authors, year, title, and either arxiv (an id) or url.
        differences: A text about the differences from the paper.
        smaller: A text for drafts that are smaller than the paper's, with placeholders {guesses}
            and {heads}.
        diagram: See `figures.diagram`.
        counterpart: The name of the same method in transformers.
        published_as: The name of the method in published results.
        bound: Whether it is only a reference, with the best or the worst possible acceptance.
        copies: Whether it copies its tokens from the text.
    """

    name: str
    kind: Kind
    title: str
    family: str
    licence: str
    about: str
    writes: str = ""
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
        """The folder where the weights belong."""
        return None if self.folder is None else ASSETS / self.folder

    @property
    def memory(self) -> int:
        """The bytes of a target's weights in float32.

        Packed copies may need the same amount again.
        """
        return 4 * self.parameters


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries: targets, then drafters, with those of SPECVIZ_CATALOG last.

    Raises:
        BrokenFile: The shipped catalogue cannot be read.
        ValueError: The file given in SPECVIZ_CATALOG cannot be used.
    """
    own = (*read_shipped_json(CATALOGUE, _rows), *_served())
    more = os.environ.get(MORE_ROWS)
    return own if not more else own + _read_more_rows(Path(more), {(e.kind, e.name) for e in own})


def _served() -> Iterator[Entry]:
    address = os.environ.get(SERVER)
    if address:
        yield Entry(
            name="server",
            kind="target",
            title="A model on a server",
            family="served",
            licence="the server's",
            about="Computed by a vLLM server that the host of this page has set.",
            layout="on a server",
            address=address,
        )


def groups() -> dict[str, str]:
    """Return the titles of the groups of drafters by key, in display order."""
    return read_shipped_json(CATALOGUE, lambda data: dict(data["groups"]))


def group_of(name: str) -> str:
    """Return the title of a drafter's group, or ELSEWHERE if it has none."""
    entry = find(name, "drafter")
    return ELSEWHERE if entry is None else groups().get(entry.group, ELSEWHERE)


def group_heading(name: str) -> str:
    """Return the title of a drafter's group, and in a few words what its drafters do."""
    entry = find(name, "drafter")
    notes = read_shipped_json(CATALOGUE, lambda data: dict(data["group_notes"]))
    note = "" if entry is None else notes.get(entry.group, "")
    return f"{group_of(name)}: {note}" if note else group_of(name)


def _rows(data: Any) -> tuple[Entry, ...]:
    return tuple(Entry(**row) for row in data["models"])


def _read_more_rows(path: Path, taken: set[tuple[Kind, str]]) -> tuple[Entry, ...]:
    # Their folders are relative to that file.
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
        found = tuple(Entry(**{"kind": "drafter", **row}) for row in rows)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(f"The file that {MORE_ROWS} names cannot be read: {reason}.") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"The file that {MORE_ROWS} names is not valid JSON.") from error
    except TypeError as error:
        raise ValueError(f"The file that {MORE_ROWS} names has an invalid row: {error}.") from error
    for entry in found:
        if entry.kind != "drafter" or not entry.drafter:
            raise ValueError(
                f"{MORE_ROWS}: the row {entry.name!r} needs a drafter, written as module:Class."
            )
        if (entry.kind, entry.name) in taken:
            raise ValueError(f"{MORE_ROWS}: a drafter called {entry.name!r} already exists.")
        taken.add((entry.kind, entry.name))
    base = path.resolve().parent
    return tuple(replace(e, folder=str(base / e.folder)) if e.folder else e for e in found)


def find(name: str, kind: Kind) -> Entry | None:
    """Return the entry called `name`, or None."""
    return next((e for e in entries() if e.name == name and e.kind == kind), None)


def suggestion(name: str, *kinds: Kind) -> str:
    """Return " Did you mean 'name'?" for the closest model of these kinds; may be empty."""
    return did_you_mean(name, [entry.name for entry in entries() if entry.kind in kinds])


def title_of(name: str) -> str:
    """Return the displayed name of a model, or `name` if it is not in the catalogue."""
    return next((entry.title for entry in entries() if entry.name == name), name)


def settings_read_by(drafter: str) -> list[str] | None:
    """Return the names of the settings that a drafter reads, or None if it is not listed."""
    entry = find(drafter, "drafter")
    return None if entry is None else entry.reads


def with_defaults(drafter: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Complete settings with the drafter's defaults and the general defaults, as plain data.

    Args:
        drafter: The drafter's name.
        given: Some settings, as `Settings.to_json` writes them; they are not checked.

    Returns:
        All settings, as `Settings.to_json` writes them.
    """
    entry = find(drafter, "drafter")
    general, special = Settings().to_json(), {} if entry is None else entry.usual
    sampling = {**general["sampling"], **given.get("sampling", {})}
    return {**general, **special, **given, "sampling": sampling}


def listing() -> list[dict[str, Any]]:
    """Return the catalogue as rows.

    A row has the fields of an entry, bytes (of its weight files), on_this_machine, and for a target
    memory_bytes (of its weights in float32).
    """
    return [_row(entry) for entry in entries()]


def weights_path(entry: Entry) -> Path | None:
    """Return the folder or GGUF file of an entry's weights on this machine, or None."""
    if entry.path is None:
        return find_local(entry.sources)
    return entry.path if weight_files(entry.path) else None


def missing_message(entry: Entry) -> str:
    """Return a sentence that an entry is not on this machine, and how to get it."""
    if entry.sources:
        remedy = f"`python -m specviz fetch {entry.name}` downloads it"
    else:
        remedy = f"its weights belong in {Path('assets', entry.folder or '')}"
    return f"{entry.name!r} is not on this machine: {remedy}."


def size_text(entry: Entry) -> str:
    """Return a target's size as text, before it is loaded."""
    if entry.address:
        return entry.about[:1].lower() + entry.about[1:].rstrip(".")
    size = entry.memory / 1e9
    return (
        f"{entry.parameters / 1e6:.1f} M parameters, sees {entry.context:,} tokens, needs "
        f"{size:.2f} GB of memory in float32, {2 * size:.2f} GB if its weights are also packed"
    )


def _row(entry: Entry) -> dict[str, Any]:
    path = weights_path(entry)
    files = [] if path is None else weight_files(path)
    needs_none = entry.path is None and not entry.sources
    size = size_of(files) if files or needs_none else None
    found = {"bytes": size, "on_this_machine": size is not None}
    return asdict(entry) | found | {"memory_bytes": entry.memory or None}


def settings_from_args(args: argparse.Namespace, drafter: str | None = None) -> Settings:
    """Return the settings given by command-line options.

    Args:
        args: The parsed options.
        drafter: The drafter whose defaults complete them. None: the drafter in the options.

    Raises:
        BadSettings: The value of an option is not valid.
    """
    options = vars(args)
    given = {f.name: options[f.name] for f in fields(Settings) if f.name in options}
    sampling = {f.name: options[f.name] for f in fields(Sampling) if f.name in options}
    complete = with_defaults(drafter or args.drafter or "", {**given, "sampling": sampling})
    return Settings.from_json(complete)
