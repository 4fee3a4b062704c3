"""Parts of the page as HTML files that replay a recording from disk, without a network.

The page's own modules are in the file, each as a data URL. They import each other by relative
paths, which a data URL cannot resolve, so the paths are replaced by names that an import map lists.
A content security policy keeps the file from requesting anything. What models and visitors wrote is
compressed and encoded in base64, so it cannot be read as markup.
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
from urllib.parse import quote

from specviz.ui.component import style_sheets
from specviz.ui.policy import NOTHING, script_hash, written
from specviz.ui.routes import HALF, IMPORT, PREFIX, imported, module_texts, resolve

PLACE: Final = 'id="sv-recording">'  # the recording is inserted here; offline.js does that, too
GRADIO: Final = "15-gradio.css"  # styles of Gradio's elements, which the file does not have
FRAME: Final = "width: 100%; height: 820px; border: 1px solid #b9c1cd"
NOWHERE: Final = "'replay:///'"  # replaces a module's address, so that nothing is fetched
SAFE: Final = " /:;,?@&=+$!*()[]{}'|^`.~-_"  # letters of a data URL that need no escape in JSON


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording as a file, for a notebook.

    Attributes:
        html: The text of the file.
        summary: The recording in a sentence, for viewers that strip frames or scripts.
        title: The name of its frame.
    """

    html: str = field(repr=False)
    summary: str
    title: str = field(repr=False)

    def _repr_html_(self) -> str:
        """Return the file in a frame, below the summary."""
        frame = f'<iframe srcdoc="{escape(self.html)}" title="{escape(self.title)}"'
        return f'<p>{escape(self.summary)}</p>{frame} style="{FRAME}"></iframe>'

    def write(self, path: Path | str) -> None:
        """Write the file."""
        Path(path).write_text(self.html, encoding="utf-8")


@dataclass(frozen=True)
class OfflinePart:
    """A part of the page that can be put into a file with a recording.

    Attributes:
        name: Its id on the page.
        title: The title of the file.
        markup: Path of its markup in this folder, without the ending.
        entry: Path of the module that starts it in a file.
        folders: Folders of its style sheets.
        config: Returns the config of its script.
    """

    name: str
    title: str
    markup: str
    entry: str
    folders: tuple[str, ...]
    config: Callable[[], Mapping[str, Any]]

    def file(self, lines: Iterable[str], **data: Any) -> str:
        """Return the file with a recording.

        Args:
            lines: JSON lines, as the page receives them.
            data: Further values for its script, by name.
        """
        return self.file_of(pack(lines), **data)

    def file_of(self, packed: str, **data: Any) -> str:
        """Return the file with a recording whose lines are packed; `data` as in `file`."""
        before, after = self.shell.split(PLACE)
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
                for sheet in (HALF / folder).glob("*.css")
                if sheet.name != GRADIO
            ),
            "modules": self.import_map,
            "header": _markup("shared/header"),
            "name": self.name,
            "markup": _markup(self.markup),
            "config": json.dumps({"name": self.name, **self.config()}),
            "entry": self.start,
        }
        return re.sub(r"\[([a-z]+)\]", lambda place: parts[place[1]], _markup("shared/offline"))

    @property
    def start(self) -> str:
        """The script that starts the part."""
        return f'import "{self.entry}";'

    @property
    def policy(self) -> dict[str, Sequence[str]]:
        """The content security policy of the file, which allows no requests."""
        scripts = [script_hash(own.encode()) for own in (self.import_map, self.start)]
        return {
            **NOTHING,
            "script-src": ["data:", *scripts],
            "style-src": ["'unsafe-inline'"],
            "img-src": ["data:"],  # a saved PNG is drawn from a data URL
        }

    @cached_property
    def import_map(self) -> str:
        """The import map of the file, as JSON."""
        return json.dumps({"imports": self.module_map}, separators=(",", ":"))

    @cached_property
    def module_map(self) -> Mapping[str, str]:
        """The part's modules as data URLs, by path; in the file, a module is named by its path."""
        texts = module_texts("")
        names = sorted(imported([self.entry], texts))
        return {name: data_url(name, texts[name].decode()) for name in names}

    @cached_property
    def packed(self) -> tuple[str, bytes]:
        """The file without a recording, as the page fetches it: its name and compressed text."""
        text = self.shell.encode()
        kind = self.entry.replace("/", "-").removesuffix(".js")
        name = f"{kind}-{hashlib.sha256(text).hexdigest()[:12]}.txt"
        return name, gzip.compress(text, 9, mtime=0)

    @property
    def address(self) -> str:
        """The address of the file without a recording, relative to the page."""
        return f"{PREFIX}/{self.packed[0]}".lstrip("/")


def pack(lines: Iterable[str]) -> str:
    """Return JSON lines as a file contains them: compressed, in base64."""
    return b64encode(gzip.compress("".join(lines).encode(), 9, mtime=0)).decode()


def _markup(path: str) -> str:
    """Return a file of markup of this folder, given its path without its ending."""
    return (HALF / f"{path}.html").read_text(encoding="utf-8")


def data_url(name: str, text: str) -> str:
    """Return a module as a data URL; its imports are resolved relative to its path `name`."""
    named = IMPORT.sub(lambda found: f'{found[1]}"{resolve(name, found[2])}";', text)
    return f"data:text/javascript,{quote(named.replace('import.meta.url', NOWHERE), safe=SAFE)}"
