"""Serves the page for the browser tests: recorded runs from a folder, any model allowed.

Usage: serve.py FOLDER PORT. A run with the seed SLOW pauses after each round, so that a test has
time to stop it. The runs that ship with the app join those of the folder. What does not ship is in
the folder too, under models.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW = 99
PAUSE = 0.4
# By the names that they have here, after all made-up runs.
SHIPPED = {f"9-{path.stem}": path for path in sorted((ROOT / "assets" / "traces").glob("*.jsonl"))}


def unhurried(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """The engine's loop, with a pause after each round of a run with the seed SLOW."""

    def slowly(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for event in run(*args, **kwargs):
            yield event
            if event.event == "committed" and args[3].seed == SLOW:
                time.sleep(PAUSE)

    return slowly


def main() -> None:
    """Launch the page as `app.py` does, with other recorded runs."""
    from specviz import engine
    from specviz.catalog import sources
    from specviz.ui import page
    from specviz.ui.step import recorded

    engine.run = unhurried(engine.run)
    recorded.FOLDER = sources.ASSETS = Path(sys.argv[1])
    for name, path in SHIPPED.items():
        shutil.copy(path, recorded.FOLDER / f"{name}.jsonl")
    page.launch(page.Options(allow_any_model=True, port=int(sys.argv[2]), device="cpu"))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
