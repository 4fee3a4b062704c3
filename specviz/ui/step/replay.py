"""A run as one HTML file that replays it offline: the player with its modules, and the run.

The page's own modules are in the file, each as a data URL. They import each other by relative
paths, which do not work from a data URL, so the paths are replaced by names that an import map
defines. A content security policy forbids the file to request anything. Texts of models and
visitors are compressed and encoded in base64, so they cannot be parsed as markup.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypedDict, cast
from urllib.parse import quote

from specviz.catalog.entry import title_of
from specviz.frames.frame import StepName
from specviz.frames.whatif import U_TO_ACCEPT, U_TO_REJECT
from specviz.texts import count
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.trace.metrics import explain_noise
from specviz.ui.component import style_sheets
from specviz.ui.policy import NOTHING, script_hash, written
from specviz.ui.routes import HALF, IMPORT, PREFIX, imported, module_texts, resolve
from specviz.ui.step.lines import lines
from specviz.ui.step.run_file import VERSION, file_config

if TYPE_CHECKING:
    from specviz.ui.step.player import Config

ENTRY: Final = "step/replay.js"
RUN_ENTRY: Final = f'import "{ENTRY}";'
PLACE: Final = 'id="sv-run">'  # marks where the data of the run is inserted, also by replay_file.js
# Parts of the player that can be shown alone, with their heights in a frame in pixels.
HEIGHTS: Final[Mapping[str, int]] = {
    "text": 100, "sentence": 120, "tree": 360, "pass": 170, "coin": 240, "table": 300,
    "timeline": 200, "controls": 110,
}  # fmt: skip
SHOWABLE: Final = tuple(HEIGHTS)
WHOLE: Final = 820  # the height of the whole player
EDGES: Final = 24  # above and below its parts
FOLDERS: Final = ("shared", "step")  # folders of the style sheets
GRADIO: Final = "15-gradio.css"  # the style of elements that are not in the file
FRAME: Final = f"width: 100%; height: {WHOLE}px; border: 1px solid #b9c1cd"
REJECTED: Final = "rejected"  # stands for the first such step
NOWHERE: Final = "'replay:///'"  # replaces a module's address, so that nothing is fetched
SAFE: Final = " /:;,?@&=+$!*()[]{}'|^`.~-_"  # characters of a data URL that need no escape in JSON


class Link(TypedDict):
    """A step of a run: the round's number and the step's id, as in links to the page."""

    round: int
    step: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A run as a file, for a notebook.

    Attributes:
        html: The text of the file.
        summary: The run in a sentence, for viewers that remove frames or scripts.
    """

    html: str = field(repr=False)
    summary: str

    @classmethod
    def of(cls, trace: Trace, number: int | None = None, step: str | None = None) -> Self:
        """Return the replay of a run; see `replay`."""
        return cls(replay(trace, number, step), summary(trace))

    def _repr_html_(self) -> str:
        """Return the file in a frame, below the summary."""
        frame = f'<iframe srcdoc="{escape(self.html)}" title="A run, step by step" style="{FRAME}">'
        return f"<p>{escape(self.summary)}</p>{frame}</iframe>"

    def write(self, path: Path | str) -> None:
        """Write the file."""
        Path(path).write_text(self.html, encoding="utf-8")


def summary(trace: Trace) -> str:
    """Return a run in a sentence: models, tokens, passes and, if measured, the speed-up."""
    found = metrics.summary(trace)
    models = f"{title_of(trace.header.target.name)} with {title_of(trace.header.drafter.name)}"
    passes = count(found["target_passes"], "target pass", "target passes")
    plain = trace.baseline
    measured = plain is not None and found["speedup"] is not None
    speed = f", {found['speedup']:.2f} × plain decoding" if measured else ""
    noise = explain_noise(trace, plain) if plain is not None else None
    return f"{models}: {count(found['tokens'], 'token')} in {passes}{'' if noise else speed}."


def replay(
    trace: Trace,
    number: int | None = None,
    step: str | None = None,
    show: Sequence[str] = (),
) -> str:
    """Return the HTML file that replays a run.

    Args:
        trace: The run.
        number: The round that is shown first; see `find_step`.
        step: The step that is shown first.
        show: The only parts to show, from SHOWABLE; all if empty.

    Raises:
        ValueError: If the run has no such step, or the player no such part.
    """
    if unknown := [part for part in show if part not in SHOWABLE]:
        raise ValueError(f"{unknown[0]!r} is none of the parts: {', '.join(SHOWABLE)}.")
    run = [*lines([trace.header, *trace.events], "recorded", "run")]
    at = None if number is None and step is None else find_step(run, number, step)
    packed = gzip.compress("".join(run).encode(), 9, mtime=0)
    lines64 = b64encode(packed).decode()
    data = json.dumps({"version": VERSION, "lines": lines64, "at": at, "show": list(show)})
    before, after = shell().split(PLACE)
    return f"{before}{PLACE}{data}{after}"


def frame_height(parts: Sequence[str]) -> int:
    """Return the height in pixels of a frame with these parts of SHOWABLE; all if empty."""
    return EDGES + sum(HEIGHTS[part] for part in parts) if parts else WHOLE


def find_step(run: Iterable[str], number: int | None, step: str | None) -> Link:
    """Find a step of a run.

    Args:
        run: The run's lines.
        number: A round's number; if None, the first round that has the step.
        step: A step's id, as in links to the page ("score", "judge-2"), or REJECTED; if None, the
            round's first step.

    Raises:
        ValueError: If the run has no such step.
    """
    found = [place for place in steps(run) if number in (None, place[0])]
    for place, name in found:
        if step in (None, name["id"], name.get("is") if step == REJECTED else None):
            return {"round": place, "step": name["id"]}
    ids = ", ".join(name["id"] for _, name in found)
    if not ids:
        raise ValueError(f"This run has no round {number}.")
    where = "This run" if number is None else f"Round {number}"
    known = "" if number is None else f", only {ids}"
    raise ValueError(f"{where} has no step {step!r}{known}.")


def steps(run: Iterable[str]) -> Iterator[tuple[int, StepName]]:
    """Yield each step of a run's lines with the number of its round."""
    number = 0
    first: StepName | None = None
    for text in run:
        data = json.loads(text)
        if data["kind"] == "round":
            number, first = data["number"], data["first"]["step"]
            yield number, data["first"]["step"]
        patches = [*data.get("then", []), *([data["end"]] if "end" in data else [])]
        for patch in patches if first else ():
            yield number, cast("StepName", {**(first or {}), **patch.get("step", {})})


@cache
def shell() -> str:
    """Return the file without its run, which is inserted at PLACE."""
    parts = {
        "policy": written(policy()),
        "styles": style_sheets(
            sheet
            for folder in FOLDERS
            for sheet in (HALF / folder).glob("*.css")
            if sheet.name != GRADIO
        ),
        "modules": modules(),
        "header": (HALF / "shared/header.html").read_text(encoding="utf-8"),
        "player": (HALF / "step/player.html").read_text(encoding="utf-8"),
        "config": json.dumps(config()),
        "entry": RUN_ENTRY,
    }
    skeleton = (HALF / "step/replay.html").read_text(encoding="utf-8")
    return re.sub(r"\[([a-z]+)\]", lambda place: parts[place[1]], skeleton)


@cache
def modules() -> str:
    """Return the import map of the file."""
    return json.dumps({"imports": module_map()}, separators=(",", ":"))


def policy() -> dict[str, Sequence[str]]:
    """Return the content security policy of the file, which forbids all requests."""
    return {
        **NOTHING,
        "script-src": ["data:", *(script_hash(own.encode()) for own in (modules(), RUN_ENTRY))],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:"],  # an image saved as PNG is drawn from a data URL
    }


def module_map() -> Mapping[str, str]:
    """Return the player's modules as data URLs, by path, which is also the import name."""
    texts = module_texts("")
    return {name: data_url(name, texts[name].decode()) for name in sorted(imported([ENTRY], texts))}


def data_url(name: str, text: str) -> str:
    """Return a module as a data URL; its imports are resolved from its path `name`."""
    named = IMPORT.sub(lambda found: f'{found[1]}"{resolve(name, found[2])}";', text)
    return f"data:text/javascript,{quote(named.replace('import.meta.url', NOWHERE), safe=SAFE)}"


def config() -> Config:
    """Return the config of the player in a file, which has no server and so no form."""
    return {
        "served": False,
        "files": file_config(""),
        "frame": {"whole": WHOLE, "edges": EDGES, "parts": {}},
        "replay": "",
        "traces": "",
        "recorded": [],
        "defaults": {},
        "form": [],
        "targets": [],
        "drafters": [],
        "coins": {"accept": U_TO_ACCEPT, "reject": U_TO_REJECT},
    }


@cache
def packed_shell() -> tuple[str, bytes]:
    """Return the name and compressed text of the file without its run, for the page to fetch."""
    text = shell().encode()
    return f"replay-{hashlib.sha256(text).hexdigest()[:12]}.txt", gzip.compress(text, 9, mtime=0)


def replay_address() -> str:
    """Return the address of the file without its run, relative to the page."""
    return f"{PREFIX}/{packed_shell()[0]}".lstrip("/")
