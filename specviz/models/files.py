"""Finds a model's files and takes their fingerprint.

Rule: whatever a model is called, it is loaded from one place, a folder or a GGUF file; a Hub id is
only a way to find it, first among what was fetched before, so nothing here needs a network that
need not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from specviz.adapters.hub import http_errors, limit_silence, progress_bar
from specviz.models.errors import (
    DiskFull,
    HubUnreachable,
    NotAvailable,
    UnknownModel,
    Unsuitable,
)
from specviz.models.hub import hub_reason, is_disk_full, is_unreachable
from specviz.models.load_progress import FINGERPRINT, advance, begin
from specviz.models.weight_headers import read_header

# owner/name, the file of it where that is one of GGUF, and a commit, branch or tag of it
HUB_ID: Final = re.compile(
    r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:/((?:[A-Za-z0-9][\w.-]*/)*[A-Za-z0-9][\w.-]*\.gguf))?"
    r"(?:@([A-Za-z0-9](?:[\w.-]|/(?=[\w]))*))?"
)
LONGEST_ID: Final = 96  # letters of an id, as the Hub counts
LONGEST_FILE: Final = 200
GGUF: Final = ".gguf"
WHOLE: Final = ("model.safetensors", "pytorch_model.bin")
INDEX: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WORDS: Final = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "chat_template*",  # in a file of its own since transformers 4.52
    "vocab*",
    "merges.txt",
)
TENSORS: Final = ("model.safetensors*", "model-*.safetensors")
PICKLES: Final = ("pytorch_model*.bin", "pytorch_model*.json")
LARGEST_INDEX: Final = 1 << 24  # bytes: twice the largest that is published
MOST_SHARDS: Final = 4096
SHARD: Final = re.compile(r"[A-Za-z0-9][\w.-]*\.(safetensors|bin)")
HEADS: Final = ("medusa_lm_head.safetensors", "medusa_lm_head.pt", "heads.safetensors")


class Stopped(ValueError):
    """Whoever asked for a fetch has stopped it."""


@dataclass(frozen=True, slots=True)
class FetchMonitor:
    """Callbacks of a fetch. report: takes bytes so far and in all; stop: whether to cancel."""

    report: Callable[[int, int], object] = lambda _here, _all: None
    stop: Callable[[], bool] = lambda: False


def find_or_fetch(name: str) -> Path:
    """The folder or the GGUF file of the model called `name`: its path, or its id on the Hub.

    Raises NotAvailable where there is none, or where the Hub cannot be reached.
    """
    return _whole(name, _local(name) or find_fetched(name) or fetch(name))


def fetch(name: str, watch: FetchMonitor | None = None) -> Path:
    """Bring a model from the Hub to this machine: its folder, or its GGUF file.

    name: owner/name, or owner/name/file.gguf, and @revision where it is pinned: a commit, a branch
    or a tag. safetensors, or pickles where there is nothing else. Raises NotAvailable, DiskFull,
    Stopped, and Unsuitable where its index of weight files is damaged.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RevisionNotFoundError

    repository, file, revision = _hub_id(name)
    more: Any = {"revision": revision, "tqdm_class": _bar(watch)}
    limit_silence()
    failures: tuple[type[Exception], ...] = (OSError, ValueError, *http_errors())
    caught: tuple[type[Exception], ...] = (RuntimeError, *failures)
    try:
        place = Path(snapshot_download(repository, allow_patterns=_wanted(file), **more))
        if file is None and not weight_files(place):
            snapshot_download(repository, allow_patterns=[*PICKLES, *HEADS], **more)
    except (Stopped, Unsuitable):
        raise
    except RevisionNotFoundError as error:
        raise NotAvailable(f"{repository!r} has no revision {revision!r} on the Hub.") from error
    except caught as error:
        if is_disk_full(error):
            raise DiskFull(
                f"{name!r} could not be fetched: the disk that models are kept on is full."
            ) from error
        if not isinstance(error, failures):
            raise
        gone = is_unreachable(error)
        what = "cannot be reached" if gone else "did not give it"
        raise (HubUnreachable if gone else NotAvailable)(
            f"{name!r} is neither a folder nor a model that was fetched to this machine before, "
            f"and the Hub {what}: {hub_reason(error)}"
        ) from error
    return _whole(name, place if file is None else place / file)


def find_fetched(name: str) -> Path | None:
    """Where a model is that was fetched from the Hub earlier; None unless it is there whole.

    Raises NotAvailable for a name that no model can have.
    """
    repository, file, revision = _hub_id(name)
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ModuleNotFoundError:  # a machine that lists models and has none
        return None
    try:
        found = snapshot_download(
            repository, revision=revision, local_files_only=True, allow_patterns=_wanted(file)
        )
    except LocalEntryNotFoundError:
        return None
    place = Path(found) if file is None else Path(found) / file
    return place if head_files(place) else None


def _wanted(file: str | None) -> list[str]:
    """Which files of a repository are fetched; asked for others, the Hub's cache is not whole."""
    return [*WORDS, *TENSORS] if file is None else [file]


def _hub_id(name: str) -> tuple[str, str | None, str | None]:
    """Split a Hub id into repository, file and revision. Raises UnknownModel."""
    found = HUB_ID.fullmatch(name)
    if not found or len(found[1]) > LONGEST_ID or len(name) > LONGEST_ID + LONGEST_FILE:
        raise UnknownModel(
            f"No model is called {name!r:.100}: give a name that `python -m specviz models` "
            "lists, a folder, a GGUF file, or the owner/name of a model on the Hub, which may be "
            "pinned as owner/name@revision."
        )
    return found[1], found[2], found[3]


def _whole(name: str, place: Path) -> Path:
    """The place. Raises NotAvailable where something of the model is missing there."""
    if head_files(place) and (is_gguf(place) or (place / "config.json").is_file()):
        return place
    raise NotAvailable(
        f"{name!r} is no whole model: its folder needs a config.json and every weight file, "
        f"{' or '.join(WHOLE)} or the shards of an index."
    )


def _bar(watch: FetchMonitor | None) -> type[Any] | None:
    """A progress bar that reports to `watch`, and raises Stopped once it says so; None for none."""
    if watch is None:
        return None

    def check() -> None:
        if watch.stop():
            raise Stopped("The fetch was stopped.")

    return progress_bar(watch.report, check)


def is_gguf(place: Path) -> bool:
    """Whether a model's place is one file of llama.cpp's format."""
    return place.suffix.lower() == GGUF


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights, sorted: of transformers' layouts, or one of GGUF.

    safetensors before pickles; empty where there are none or where a shard is missing. Raises
    Unsuitable where an index is damaged, or names files elsewhere.
    """
    if is_gguf(folder):
        return [folder] if folder.is_file() else []
    for whole, index in zip(WHOLE, INDEX, strict=True):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            paths = _shards(folder, index)
            return paths if all(path.is_file() for path in paths) else []
    return []


def _shards(folder: Path, index: str) -> list[Path]:
    """The files that an index names, sorted. Raises Unsuitable where it is damaged.

    All are in the index's own folder: a name with another folder in it could lead anywhere.
    """
    name, path = folder_label(folder), folder / index
    if path.stat().st_size > LARGEST_INDEX:
        raise Unsuitable(f"{name!r}: its {index} has more than {LARGEST_INDEX:,} bytes.")
    try:
        shards = set(json.loads(path.read_text(encoding="utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unsuitable(f"{name!r}: its {index} is damaged: it lists no files.") from error
    if not 0 < len(shards) <= MOST_SHARDS:
        raise Unsuitable(f"{name!r}: its {index} names {len(shards):,} files.")
    for shard in shards:
        if not isinstance(shard, str) or not SHARD.fullmatch(shard):
            raise Unsuitable(f"{name!r}: its {index} names a file elsewhere: {shard!r:.80}.")
    return sorted(folder / shard for shard in shards)


def head_files(folder: Path) -> list[Path]:
    """The files that hold a head's weights: `weight_files`, or the one that its family names."""
    named = [folder / name for name in HEADS if (folder / name).is_file()]
    return weight_files(folder) or named[:1]


def folder_label(folder: Path) -> str:
    """How errors name a model's folder: its id where it was fetched from the Hub."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name


def size_of(files: Sequence[Path]) -> int:
    """Bytes of all files together."""
    return sum(path.stat().st_size for path in files)


def size_in_float32(files: Sequence[Path]) -> int | None:
    """Bytes of the tensors once their numbers are float32, read from the files' headers.

    None unless all files are safetensors. Integers and booleans keep their size.
    """
    if not files or any(path.suffix != ".safetensors" for path in files):
        return None
    return sum(map(_in_float32, files))


def _in_float32(path: Path) -> int:
    """Bytes of one file's tensors once their numbers are float32."""
    stored = read_header(folder_label(path.parent), path).values()
    return sum(4 * each.elements if each.floating else each.bytes for each in stored)


def fingerprint(files: Sequence[Path]) -> str | None:
    """SHA-256 of the files' bytes, one after the other; None where there are no files."""
    if not files:
        return None
    stats = [path.stat() for path in files]
    return _sha256(tuple((p, s.st_size, s.st_mtime_ns) for p, s in zip(files, stats, strict=True)))


@cache
def _sha256(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Read all files; cached by path, size and time of change."""
    begin(FINGERPRINT, sum(size for _, size, _ in files))
    digest = hashlib.sha256()
    for path, _, _ in files:
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
                advance(len(block), FINGERPRINT)
    return digest.hexdigest()


def public_name(name: str) -> str:
    """A model's name for screen and files, which must not name anyone's folders."""
    folder = _local(name)
    return name if folder is None else folder.resolve().name


def _local(name: str) -> Path | None:
    """The folder or the GGUF file of this machine that a name means, if there is one."""
    try:
        place = Path(name).expanduser()
        return place if place.is_dir() or (is_gguf(place) and place.is_file()) else None
    except (OSError, RuntimeError):  # too long to be anyone's folder; nobody's home
        return None
