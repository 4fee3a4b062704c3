"""Writes the README's file map from docstrings; `python tests/file_map.py` renews it.

Rule: one line a room, that is a folder or a loose module of the package: its path and the first
paragraph of its docstring. Standard library only.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- file map: python tests/file_map.py -->", "<!-- end of file map -->"


def rooms() -> list[Path]:
    """app.py, the package's loose modules, and the `__init__` of each of its folders, by name."""
    package = ROOT / "specviz"
    return [*ROOT.glob("app.py"), *sorted([*package.glob("*.py"), *package.glob("*/__init__.py")])]


def file_map() -> str:
    """The map as Markdown."""
    return "\n".join(_line(path) for path in rooms())


def _line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    where = path.relative_to(ROOT).as_posix().removesuffix("__init__.py")
    return f"- `{where}` {' '.join(text.split(chr(10) * 2)[0].split())}"


def readme() -> str:
    """The README as it should be."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{file_map()}\n\n{END}{after}"


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
