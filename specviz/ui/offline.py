"""Parts of the page as HTML files that replay a recording from disk, without a network.

The script of the part is in the file. A content security policy keeps the file from requesting
anything. What models and visitors wrote is compressed and encoded in base64, so it cannot be read
as markup.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, Final

from specviz.ui.component import style_sheets
from specviz.ui.policy import NOTHING, script_hash, written
from specviz.ui.routes import PREFIX, UI_FOLDER, script_text

PLACE: Final = 'id="sv-recording">'  # the recording is inserted here; offline.ts does that, too
GRADIO: Final = "15-gradio.css"  # styles of Gradio's elements, which the file does not have
FRAME: Final = "width: 100%; height: 820px; border: 1px solid #b9c1cd"


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording as a file, for a notebook, and in a sentence, for viewers that strip frames."""

    html: str = field(repr=False)
    summary: str
    title: str = field(repr=False)

    def _repr_html_(self) -> str:
        frame = f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}"'
        return f'<p>{escape(self.summary)}</p>{frame} style="{FRAME}"></iframe>'

    def write(self, path: Path | str) -> None:
        """Write the file."""
        Path(path).write_text(self.html, encoding="utf-8")


@dataclass(frozen=True)
class OfflinePart:
    """A part of the page that can be put into a file with a recording.

    Attributes:
        markup: Path of its markup in this folder, without the ending.
        script: Name of the bundle that starts it in a file.
        config: Returns the config of its script.
    """

    name: str
    title: str
    markup: str
    script: str
    folders: tuple[str, ...]
    config: Callable[[], Mapping[str, Any]]

    def file(self, lines: Iterable[str], **data: Any) -> str:
        """Return the file with a recording."""
        return self.file_of(pack(lines), **data)

    def file_of(self, packed: str, **data: Any) -> str:
        """Return the file with a recording whose lines are packed; `data` as in `file`."""
        before, after = self.shell.rsplit(PLACE, 1)
        return f"{before}{PLACE}{json.dumps({'lines': packed, **data})}{after}"

    @cached_property
    def shell(self) -> str:
        """The file without a recording; PLACE marks where a recording is inserted."""
        parts = {
            "policy": written(self.policy),
            "title": escape(self.title),
            "styles": style_sheets(
                sheet
                for folder in ("shared", *self.folders)
                for sheet in (UI_FOLDER / folder).glob("*.css")
                if sheet.name != GRADIO
            ),
            "header": _markup("shared/header"),
            "name": self.name,
            "markup": _markup(self.markup),
            "config": json.dumps({"name": self.name, **self.config()}),
            "script": self.start,
        }
        return re.sub(r"\[([a-z]+)\]", lambda place: parts[place[1]], _markup("shared/offline"))

    @cached_property
    def start(self) -> str:
        """The script that starts the part."""
        return script_text(self.script)

    @property
    def policy(self) -> dict[str, Sequence[str]]:
        """The content security policy of the file, which allows no requests."""
        return {
            **NOTHING,
            "script-src": [script_hash(self.start.encode())],
            "style-src": ["'unsafe-inline'"],
            "img-src": ["data:"],  # a saved PNG is drawn from a data URL
        }

    @cached_property
    def packed(self) -> tuple[str, bytes]:
        """The file without a recording, as the page fetches it: its name and compressed text."""
        text = self.shell.encode()
        name = f"{self.script}-{hashlib.sha256(text).hexdigest()[:12]}.txt"
        return name, gzip.compress(text, 9, mtime=0)

    @property
    def address(self) -> str:
        """The address of the file without a recording, relative to the page."""
        return f"{PREFIX}/{self.packed[0]}".lstrip("/")


def pack(lines: Iterable[str]) -> str:
    """Return JSON lines as a file contains them: compressed, in base64."""
    return b64encode(gzip.compress("".join(lines).encode(), 9, mtime=0)).decode()


def _markup(path: str) -> str:
    return (UI_FOLDER / f"{path}.html").read_text(encoding="utf-8")
