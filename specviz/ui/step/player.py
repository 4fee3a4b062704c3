"""The player: the component that steps through runs in the browser.

Recorded runs are fetched after the page was loaded, and live runs are streamed (see lines.py).
"""

from __future__ import annotations

from typing import Any, TypedDict

import gradio as gr

from specviz.catalog.entry import entries
from specviz.frames.whatif import U_TO_ACCEPT, U_TO_REJECT
from specviz.settings.settings import Settings
from specviz.ui.component import component
from specviz.ui.limits import LARGEST_FILE, LARGEST_TRACE
from specviz.ui.routes import OPEN, PREFIX
from specviz.ui.step import choices
from specviz.ui.step.drawer import targets
from specviz.ui.step.recorded import names
from specviz.ui.step.replay import EDGES, HEIGHTS, PLAYER, WHOLE


class Coins(TypedDict):
    """Values of u that accept, or reject, a guess whenever this is possible."""

    accept: float
    reject: float


class FrameHeights(TypedDict):
    """Heights in pixels: of the whole player, of the edges around its parts, and of each part."""

    whole: int
    edges: int
    parts: dict[str, int]


class FileConfig(TypedDict):
    """How the page opens runs from files.

    Attributes:
        file: Maximum bytes of a file.
        trace: Maximum bytes of a trace.
    """

    address: str
    file: int
    trace: int


class Config(TypedDict):
    """Initial data of the player's script.

    Attributes:
        served: Whether there is a server; False in a file that replays a run.
        frame: Heights of a frame that shows parts of the player, in pixels.
        replay: The address of the file that replays a run, to which the page adds the run.
    """

    served: bool
    files: FileConfig
    frame: FrameHeights
    replay: str
    traces: str
    recorded: list[str]
    defaults: dict[str, Any]
    form: list[choices.Field]
    targets: list[str]
    drafters: list[str]
    coins: Coins


def player(name: str) -> gr.HTML:
    """Build the player; `name` is its id on the page."""
    return component(name, "step/player", config(), "sv-player")


def config() -> Config:
    """Return the config of the player's script."""
    return {
        "served": True,
        "files": {
            "address": OPEN.lstrip("/"),
            "file": LARGEST_FILE,
            "trace": LARGEST_TRACE,
        },
        "frame": {"whole": WHOLE, "edges": EDGES, "parts": dict(HEIGHTS)},
        "replay": PLAYER.address,
        "traces": f"{PREFIX}/traces/".lstrip("/"),
        "recorded": list(names()),
        "defaults": Settings().to_json(),
        "form": choices.config(),
        "targets": [entry.name for entry in targets()],
        "drafters": [entry.name for entry in entries() if entry.kind == "drafter"],
        "coins": {"accept": U_TO_ACCEPT, "reject": U_TO_REJECT},
    }
