"""Update the generated parts of the documentation; usage: python tests/generate_docs.py.

A part lies between `<!-- generated: NAME -->` and `<!-- end of generated part -->`. `PARTS` maps
each name to the function that writes the part.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PART = re.compile(r"(<!-- generated: ([\w ]+) -->\n).*?(<!-- end of generated part -->)", re.DOTALL)


def documented_modules() -> list[Path]:
    """Return app.py, the loose modules of the package, and the `__init__` of each folder."""
    package = ROOT / "specviz"
    return [*ROOT.glob("app.py"), *sorted([*package.glob("*.py"), *package.glob("*/__init__.py")])]


def file_map() -> str:
    """List every documented module with the first paragraph of its docstring."""
    return "\n".join(map(_map_line, documented_modules()))


def _map_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    name = path.relative_to(ROOT).as_posix().removesuffix("__init__.py")
    return f"- `{name}` {' '.join(text.split(chr(10) * 2)[0].split())}"


def _drafters() -> Iterator[dict[str, Any]]:
    text = (ROOT / "assets" / "catalog.json").read_text(encoding="utf-8")
    return (row for row in json.loads(text)["models"] if row["kind"] == "drafter")


def _table(header: str, *columns: str) -> str:
    """Return a Markdown table with one row per drafter: its name and some fields of its row."""
    lines = [header, "|---" * (1 + len(columns)) + "|"]
    for row in _drafters():
        lines.append(f"| `{row['name']}` | {' | '.join(row[column] for column in columns)} |")
    return "\n".join(lines)


def drafters() -> str:
    """List how each drafter drafts."""
    return _table("| name | how it drafts |", "how")


def costs() -> str:
    """List what each drafter reads and what it costs."""
    return _table("| name | what it knows | what it costs |", "knows", "costs")


def differences() -> str:
    """List where each drafter differs from its paper."""
    return _table("| name | differences |", "differences")


def plan(minutes: int) -> str:
    """List the parts of a class of this many minutes."""
    text = (ROOT / "assets" / "lessons" / "plans.json").read_text(encoding="utf-8")
    (found,) = (each for each in json.loads(text) if each["minutes"] == minutes)
    lines, begin = [f"| {' | '.join(found['heads'])} |", "|---|---|---|"], 0
    for part in found["parts"]:
        row = f"| {begin}–{part['until']} | {part['what']} | {part['say']}"
        lines.append(f"{row.rstrip()} |")
        begin = part["until"]
    return "\n".join(lines)


def contract() -> str:
    """List the rules of a drafter's contract, by their names in the code."""
    source = ROOT / "specviz" / "drafters" / "contract" / "__init__.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            names = [ast.literal_eval(key) for key in node.value.keys if key is not None]
            return "\n".join(f"{number}. {name}" for number, name in enumerate(names, 1))
    raise ValueError(f"{source} has no table of rules.")


def bigram() -> str:
    """Quote the classes of the drafter in tests/third_party."""
    text = (ROOT / "tests" / "third_party" / "bigram.py").read_text(encoding="utf-8")
    return f"```python\n{text.strip()}\n```"


PARTS: Mapping[str, Callable[[], str]] = {
    "file map": file_map,
    "drafters": drafters,
    "costs": costs,
    "differences": differences,
    "contract": contract,
    "bigram": bigram,
    "plan of 20 minutes": partial(plan, 20),
    "plan of 45 minutes": partial(plan, 45),
    "plan of 90 minutes": partial(plan, 90),
}


def renewed(text: str) -> str:
    """Return a page's text with its generated parts updated."""
    return PART.sub(lambda found: f"{found[1]}{PARTS[found[2]]()}\n{found[3]}", text)


def pages() -> list[Path]:
    """Return every page that has a generated part."""
    return [page for page in sorted(DOCS.rglob("*.md")) if PART.search(page.read_text("utf-8"))]


if __name__ == "__main__":
    for page in pages():
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
