"""TypeScript declarations of the data that Python sends to the page, from Python's own types.

JavaScript names a type and the Python file that has it: `@import { Round } from "./answer.py"`.
`python tests/declarations.py` writes what all scripts import below build/declarations, in folders
like those of the package, where TypeScript looks too (`rootDirs` in tests/jsconfig.json).
A TypedDict or dataclass becomes an interface, and any other type an alias.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import shutil
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "specviz"
FOLDER = ROOT / "build" / "declarations"
IMPORT = re.compile(r"(?:@import|import type)\s*\{([^}]*)\}\s*from\s*\"(\.[^\"]+\.py)\"")
PLAIN = {
    str: "string", int: "number", float: "number", bool: "boolean", type(None): "null",
    Any: "unknown", object: "unknown",
}  # fmt: skip


def imported(package: Path) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of every Python type that a script imports."""
    for script in sorted(package.rglob("*.[jt]s*")):
        for names, source in IMPORT.findall(script.read_text(encoding="utf-8")):
            file = (script.parent / source).resolve().relative_to(package.parent).with_suffix("")
            if file.name == "__init__":
                file = file.parent
            for name in names.split(","):
                if name.strip():
                    yield ".".join(file.parts), name.split(" as ")[0].strip()


class Declarations:
    """The declarations of all modules: lines by module, and by type's name."""

    def __init__(self) -> None:
        self.modules: dict[str, dict[str, str]] = {}

    def add(self, module: str, name: str) -> None:
        """Declare a module's type, and all types that it is made of."""
        done = self.modules.setdefault(module, {})
        if name in done:
            return
        done[name] = ""  # a type may contain itself
        found = getattr(importlib.import_module(module), name)
        if is_record(found) and (found.__module__, found.__name__) == (module, name):
            done[name] = self._interface(found)
        else:
            done[name] = f"export type {name} = {self.expression(found, module)};"

    def _interface(self, record: type) -> str:
        lines = [
            f"  {name}{'?' if optional(record, name) else ''}:"
            f" {self.expression(hint, record.__module__)};"
            for name, hint in fields(record).items()
        ]
        said = (record.__doc__ or "").strip().replace("*/", "")
        about = [f"/** {said} */"] if typing.is_typeddict(record) and said else []
        return "\n".join([*about, f"export interface {record.__name__} {{", *lines, "}"])

    def expression(self, hint: Any, module: str) -> str:
        """Return a type as TypeScript writes it, within a module. Raises TypeError."""
        if hint in PLAIN:
            return PLAIN[hint]
        if is_record(hint):
            self.add(hint.__module__, hint.__name__)
            if hint.__module__ == module:
                return str(hint.__name__)
            return _elsewhere(path_of(hint.__module__), hint.__name__, path_of(module))
        origin, inner = get_origin(hint), get_args(hint)
        if origin in (Annotated, Literal, NotRequired, Union, types.UnionType):
            return self._special(origin, inner, module)
        if isinstance(origin, type) and issubclass(origin, (Mapping, Sequence)):
            return self._collection(origin, inner, module)
        raise TypeError(f"{module}: {hint} has no declaration")

    def _special(self, origin: Any, inner: Sequence[Any], module: str) -> str:
        if origin is Annotated:  # the page's own type: its file below the package, and its name
            _, file, name = inner
            return _elsewhere(file, name, path_of(module))
        if origin is Literal:
            return " | ".join(json.dumps(value) for value in inner)
        if origin is NotRequired:
            return self.expression(inner[0], module)
        return self._union(inner, module)

    def _collection(self, origin: type, inner: Sequence[Any], module: str) -> str:
        shown = [self.expression(part, module) for part in inner if part is not Ellipsis]
        if issubclass(origin, Mapping):
            return f"Record<{', '.join(shown)}>"
        if origin is tuple and Ellipsis not in inner:
            return f"[{', '.join(shown)}]"
        return f"({shown[0]})[]"

    def _union(self, inner: Sequence[Any], module: str) -> str:
        """Return a union; records that share no literal are told apart by the fields they lack."""
        records = [part for part in inner if is_record(part)]
        names = [set(fields(record)) for record in records]
        apart = len(records) > 1 and not any(
            tagged(records, name) for name in set.intersection(*names)
        )
        found = []
        for part in inner:
            shown = self.expression(part, module)
            if part in records and apart:
                lacks = sorted(set.union(*names) - set(fields(part)))
                shown += f" & {{ {' '.join(f'{name}?: undefined;' for name in lacks)} }}"
            found.append(f"({shown})")
        return " | ".join(found)

    def write(self, folder: Path) -> None:
        """Write one file for each module into an empty folder."""
        shutil.rmtree(folder, ignore_errors=True)
        for module, declared in self.modules.items():
            file = (folder / path_of(module)).with_suffix(".d.py.ts")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join([*declared.values(), ""]), encoding="utf-8")


def path_of(module: str) -> str:
    """Return the path of a module's file below the package."""
    own = "/__init__" if hasattr(importlib.import_module(module), "__path__") else ""
    return "/".join(module.split(".")[1:]) + own + ".py"


def _elsewhere(file: str, name: str, here: str) -> str:
    """Return a type of another file as the file `here` refers to it. Both are below the package."""
    return f'import("{"../" * here.count("/") or "./"}{file}").{name}'


def is_record(found: Any) -> bool:
    """Whether a type becomes an interface."""
    return isinstance(found, type) and (
        typing.is_typeddict(found) or dataclasses.is_dataclass(found)
    )


def fields(record: type) -> dict[str, Any]:
    """Return the types of a record's fields by name."""
    hints = typing.get_type_hints(record, include_extras=True)
    if not dataclasses.is_dataclass(record):
        return hints
    return {field.name: hints[field.name] for field in dataclasses.fields(record)}


def optional(record: type, name: str) -> bool:
    """Whether a field of a TypedDict may be missing."""
    left_out = name in getattr(record, "__optional_keys__", ())
    return left_out or get_origin(fields(record)[name]) is NotRequired


def tagged(records: Sequence[type], name: str) -> bool:
    """Whether a field's literals tell these records apart."""
    hints = [fields(record)[name] for record in records]
    values = [value for hint in hints if get_origin(hint) is Literal for value in get_args(hint)]
    return all(get_origin(hint) is Literal for hint in hints) and len(values) == len(set(values))


def write(folder: Path = FOLDER, package: Path = PACKAGE) -> None:
    """Write the declarations of all types that the scripts of a package import.

    Args:
        folder: Where they are written.
        package: The package's folder.
    """
    declarations = Declarations()
    for module, name in imported(package):
        declarations.add(module, name)
    declarations.write(folder)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    write()
