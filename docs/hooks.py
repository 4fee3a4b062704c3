"""MkDocs hooks: show documents of the repository that lie outside `docs/` as pages of the site.

Links to them are relative in the Markdown, so that they also work where the files are browsed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
# By path in the repository, the page of the site.
PAGES = {
    "assets/models/README.md": "house-models.md",
    "assets/models/eagle3-smollm2/README.md": "eagle3-smollm2.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
}


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each document outside `docs/`."""
    for path, page in PAGES.items():
        if (ROOT / path).is_file():
            text = (ROOT / path).read_text(encoding="utf-8").replace("](docs/", "](")
            for other, other_page in PAGES.items():
                text = text.replace(f"]({other})", f"]({other_page})")
            files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Turn links to those documents into links to their pages."""
    for path, page in PAGES.items():
        markdown = markdown.replace(f"](../{path}", f"]({page}")
    return markdown
