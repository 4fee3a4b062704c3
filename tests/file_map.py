"""Writes the README's file map from module docstrings; `python tests/file_map.py` renews it.

Rule: a line is a module's path and the first line of its docstring. Standard library only.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- file map: python tests/file_map.py -->", "<!-- end of file map -->"


def file_map() -> str:
    """The map as Markdown: app.py, then every module of the package."""
    modules = sorted((ROOT / "specviz").rglob("*.py"), key=_order)
    return "\n".join(_line(path) for path in [*ROOT.glob("app.py"), *modules])


def _order(path: Path) -> tuple[str, ...]:
    """Files of a folder by name, its `__init__` first, folders among them."""
    return tuple(part.removesuffix(".py") for part in path.relative_to(ROOT).parts)


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
