"""Serves the page for the browser tests: recorded runs from a folder, any model allowed.

Usage: serve.py FOLDER PORT. A run with the seed SLOW pauses after each round, so that a test has
time to stop it. The runs that ship with the app join those of the folder. What does not ship is in
the folder too, under models. Models are fetched from a slow hub of its own.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SLOW = 99
HELD = 98
RELEASE = "release"  # a file in the folder of the runs
PATIENCE = 30.0
PAUSE = 0.4
PARTS = 20  # megabytes of a slow fetch, sent one by one
BROKEN = "z-lab/Qwen3-4B-DFlash-b16"
# Names that sort the shipped runs after all made-up runs.
SHIPPED = {f"9-{path.stem}": path for path in sorted((ROOT / "assets" / "traces").glob("*.jsonl"))}


def unhurried(run: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """The engine's loop, with a pause after each round of a run with the seed SLOW.

    A run with the seed HELD computes before its first round until a test writes RELEASE.
    """

    def slowly(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for event in run(*args, **kwargs):
            yield event
            if getattr(event, "event", "") != "committed":
                continue
            if args[3].seed == HELD and event.round == 0:
                wait_for_release(Path(sys.argv[1]) / RELEASE)
            if args[3].seed in (SLOW, HELD):
                time.sleep(PAUSE)

    return slowly


def wait_for_release(file: Path) -> None:
    """Wait until this file exists, but at most PATIENCE seconds, and delete it."""
    until = time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < until:
        time.sleep(PAUSE / 8)
    file.unlink(missing_ok=True)


def slow_hub(name: str, watch: Any) -> Path:
    """Replace the Hub: BROKEN has no files; every other name slowly gives a tiny model."""
    from huggingface_hub.constants import HF_HUB_CACHE

    from specviz.models.errors import NotAvailable, Stopped

    if name == BROKEN:
        raise NotAvailable(f"{name!r} could not be had: the cable <b>is</b> cut.")
    for part in range(PARTS + 1):
        if watch.stop():
            raise Stopped("The fetch was stopped.")
        watch.report(part * 10**6, PARTS * 10**6)
        time.sleep(PAUSE / 2)
    place = Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}"
    shutil.copytree(Path(sys.argv[1]) / "models" / "smollm2", place / "snapshots" / "1")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("1")
    return place / "snapshots" / "1"


def main() -> None:
    """Launch the page as `app.py` does, with other recorded runs."""
    os.environ["HF_HOME"] = str(Path(sys.argv[1]) / "hub")  # no models of this machine
    from specviz import engine
    from specviz.catalog import public, sources
    from specviz.ui import page
    from specviz.ui.step import recorded

    engine.run_stepwise, public.fetch_from_hub = unhurried(engine.run_stepwise), slow_hub
    recorded.FOLDER = sources.ASSETS = Path(sys.argv[1])
    for name, path in SHIPPED.items():
        shutil.copy(path, recorded.FOLDER / f"{name}.jsonl")
    page.launch(page.Options(allow_any_model=True, port=int(sys.argv[2]), device="cpu"))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
