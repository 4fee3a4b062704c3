"""Find a model's files, fetch them from the Hub, and compute their fingerprint.

A model is always loaded from a path: a folder or a GGUF file. A Hub id is first looked up among the
models that were fetched before, so the network is used only for a model that is not on this
machine.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from errno import EDQUOT, ENOSPC
from functools import cache
from pathlib import Path
from typing import Any, Final

from specviz.adapters.hub import (
    TIMEOUT,
    connection_errors,
    http_errors,
    limit_silence,
    progress_bar,
    timeout_errors,
)
from specviz.models.errors import (
    DiskFull,
    HubUnreachable,
    NotAvailable,
    Stopped,
    UnknownModel,
    Unsuitable,
)
from specviz.models.file_checks import read_header
from specviz.models.load_control import FINGERPRINT, advance, begin_stage

# owner/name, optionally followed by a GGUF file, and by a commit, branch or tag
HUB_ID: Final = re.compile(
    r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:/((?:[A-Za-z0-9][\w.-]*/)*[A-Za-z0-9][\w.-]*\.gguf))?"
    r"(?:@([A-Za-z0-9](?:[\w.-]|/(?=[\w]))*))?"
)
LONGEST_ID: Final = 96  # maximum characters of an id, the Hub's own limit
LONGEST_FILE: Final = 200
GGUF: Final = ".gguf"
SINGLE_FILES: Final = ("model.safetensors", "pytorch_model.bin")
INDEX: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
TEXT_FILES: Final = (
    "config.json",
    "generation_config.json",
    "tokenizer*",
    "chat_template*",  # a separate file since transformers 4.52
    "vocab*",
    "merges.txt",
)
TENSORS: Final = ("model.safetensors*", "model-*.safetensors")
PICKLES: Final = ("pytorch_model*.bin", "pytorch_model*.json")
LARGEST_INDEX: Final = 1 << 24  # maximum bytes: twice the largest published one
MOST_SHARDS: Final = 4096
SHARD: Final = re.compile(r"[A-Za-z0-9][\w.-]*\.(safetensors|bin)")
HEADS: Final = ("medusa_lm_head.safetensors", "medusa_lm_head.pt", "heads.safetensors")
PREFIX: Final = re.compile(r"^Got: \w+: (\[Errno -?\d+\] )?")  # before huggingface_hub's messages
FULL: Final = (ENOSPC, EDQUOT)  # error numbers: no space on the disk; user quota exceeded
LONGEST_CHAIN: Final = 10  # how many causes of an exception are examined


@dataclass(frozen=True, slots=True)
class FetchMonitor:
    """Callbacks of a fetch: `report` gets the bytes so far and the total; `stop` cancels it."""

    report: Callable[[int, int], object] = lambda _done, _total: None
    stop: Callable[[], bool] = lambda: False


def find_or_fetch(name: str) -> Path:
    """Return a model's folder or GGUF file, fetching it if necessary.

    Raises NotAvailable if there is no such model, or the Hub cannot be reached.
    """
    return _check_complete(name, _local_path(name) or find_fetched(name) or fetch(name))


def fetch(name: str, watch: FetchMonitor | None = None) -> Path:
    """Fetch a model from the Hub: safetensors, or pickles if there is nothing else.

    Returns the folder or the GGUF file. name: owner/name or owner/name/file.gguf, with @revision (a
    commit, branch or tag) to pin it. Raises NotAvailable if the Hub cannot be reached or does not
    have this model; DiskFull if the disk has no space left; Stopped if `watch` cancelled the fetch;
    Unsuitable if the model's index of weight files is damaged.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import RevisionNotFoundError

    repository, file, revision = _hub_id(name)
    more: Any = {"revision": revision, "tqdm_class": _progress_bar(watch)}
    limit_silence()
    failures: tuple[type[Exception], ...] = (OSError, ValueError, *http_errors())
    caught: tuple[type[Exception], ...] = (RuntimeError, *failures)
    try:
        path = Path(snapshot_download(repository, allow_patterns=_patterns(file), **more))
        if file is None and not weight_files(path):
            snapshot_download(repository, allow_patterns=[*PICKLES, *HEADS], **more)
    except (Stopped, Unsuitable):
        raise
    except RevisionNotFoundError as error:
        raise NotAvailable(f"{repository!r} has no revision {revision!r} on the Hub.") from error
    except caught as error:
        if is_disk_full(error):
            raise DiskFull(
                f"{name!r} could not be downloaded: the disk that holds the models is full."
            ) from error
        if not isinstance(error, failures):
            raise
        offline = is_unreachable(error)
        problem = "the Hub cannot be reached" if offline else "the Hub did not provide it"
        raise (HubUnreachable if offline else NotAvailable)(
            f"{name!r} is not on this machine, and {problem}: {hub_reason(error)}"
        ) from error
    return _check_complete(name, path if file is None else path / file)


def find_fetched(name: str) -> Path | None:
    """Return the path of a complete Hub model on this machine, or None.

    Raises NotAvailable if the name is not a Hub id.
    """
    repository, file, revision = _hub_id(name)
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ModuleNotFoundError:  # optional, since listing models does not need it
        return None
    try:
        found = snapshot_download(
            repository, revision=revision, local_files_only=True, allow_patterns=_patterns(file)
        )
    except LocalEntryNotFoundError:
        return None
    path = Path(found) if file is None else Path(found) / file
    return path if head_files(path) else None


def _patterns(file: str | None) -> list[str]:
    return [*TEXT_FILES, *TENSORS] if file is None else [file]


def _hub_id(name: str) -> tuple[str, str | None, str | None]:
    found = HUB_ID.fullmatch(name)
    if not found or len(found[1]) > LONGEST_ID or len(name) > LONGEST_ID + LONGEST_FILE:
        raise UnknownModel(
            f"No model is called {name!r:.100}. Use a name that `python -m specviz models` lists, "
            "a folder, a GGUF file, or owner/name of a model on the Hub (owner/name@revision to "
            "pin it)."
        )
    return found[1], found[2], found[3]


def _check_complete(name: str, path: Path) -> Path:
    if head_files(path) and (is_gguf(path) or (path / "config.json").is_file()):
        return path
    raise NotAvailable(
        f"{name!r} is incomplete: its folder needs a config.json and every weight file, "
        f"{' or '.join(SINGLE_FILES)} or the shards of an index."
    )


def _progress_bar(watch: FetchMonitor | None) -> type[Any] | None:
    if watch is None:
        return None

    def check() -> None:
        if watch.stop():
            raise Stopped("The download was stopped.")

    return progress_bar(watch.report, check)


def is_gguf(path: Path) -> bool:
    """Return whether a model is a GGUF file, llama.cpp's format."""
    return path.suffix.lower() == GGUF


def weight_files(folder: Path) -> list[Path]:
    """Return the files that hold a checkpoint's weights, sorted.

    safetensors are preferred over pickles. The list is empty if there are none or a shard is
    missing. folder: a folder in transformers' layout, or a GGUF file. Raises Unsuitable if an index
    is damaged, or names files outside the folder.
    """
    if is_gguf(folder):
        return [folder] if folder.is_file() else []
    for whole, index in zip(SINGLE_FILES, INDEX, strict=True):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            paths = _shards(folder, index)
            return paths if all(path.is_file() for path in paths) else []
    return []


def _shards(folder: Path, index: str) -> list[Path]:
    # All must be in the folder of the index, because a name with a path could point anywhere.
    name, path = folder_label(folder), folder / index
    if path.stat().st_size > LARGEST_INDEX:
        raise Unsuitable(f"{name!r}: its {index} has more than {LARGEST_INDEX:,} bytes.")
    try:
        shards = set(json.loads(path.read_text(encoding="utf-8-sig"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unsuitable(f"{name!r}: its {index} is damaged: it lists no files.") from error
    if not 0 < len(shards) <= MOST_SHARDS:
        raise Unsuitable(f"{name!r}: its {index} names {len(shards):,} files.")
    for shard in shards:
        if not isinstance(shard, str) or not SHARD.fullmatch(shard):
            raise Unsuitable(
                f"{name!r}: its {index} names a file outside the folder: {shard!r:.80}."
            )
    return sorted(folder / shard for shard in shards)


def head_files(folder: Path) -> list[Path]:
    """Return the weight files of a head: `weight_files`, or the file named as in HEADS."""
    named = [folder / name for name in HEADS if (folder / name).is_file()]
    return weight_files(folder) or named[:1]


def folder_label(folder: Path) -> str:
    """Return the name of a model's folder for errors: its Hub id if it is from the Hub."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name


def size_of(files: Sequence[Path]) -> int:
    """Return the total size of the files in bytes."""
    return sum(path.stat().st_size for path in files)


def size_in_float32(files: Sequence[Path]) -> int | None:
    """Return the bytes of the tensors once they are converted to float32.

    The sizes are read from the headers of safetensors; for other files the result is None. Integer
    and boolean tensors are not converted.
    """
    if not files or any(path.suffix != ".safetensors" for path in files):
        return None
    return sum(map(_in_float32, files))


def _in_float32(path: Path) -> int:
    stored = read_header(folder_label(path.parent), path).values()
    return sum(4 * each.elements if each.floating else each.bytes for each in stored)


def file_version(path: Path) -> str:
    """Return a text (sizes and times) that changes when a model's files are written again."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    stats = [(each.name, each.stat()) for each in files if each.is_file()]
    return " ".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stats)


def fingerprint(files: Sequence[Path]) -> str | None:
    """Return the SHA-256 of the concatenated files, or None if there are no files."""
    if not files:
        return None
    stats = [path.stat() for path in files]
    return _sha256(tuple((p, s.st_size, s.st_mtime_ns) for p, s in zip(files, stats, strict=True)))


@cache
def _sha256(files: tuple[tuple[Path, int, int], ...]) -> str:
    # Cached by path, size and modification time.
    begin_stage(FINGERPRINT, sum(size for _, size, _ in files))
    digest = hashlib.sha256()
    for path, _, _ in files:
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
                advance(len(block), FINGERPRINT)
    return digest.hexdigest()


def public_name(name: str) -> str:
    """Return a model's name for display and for files, without the path on this machine."""
    folder = _local_path(name)
    return name if folder is None else folder.resolve().name


def _local_path(name: str) -> Path | None:
    try:
        path = Path(name).expanduser()
        return path if path.is_dir() or (is_gguf(path) and path.is_file()) else None
    except (OSError, RuntimeError):  # the name is too long, or contains a ~user that does not exist
        return None


def is_unreachable(error: Exception) -> bool:
    """Return whether an error, or one of its causes, is a failed connection to the Hub."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionError, *connection_errors())):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def is_disk_full(error: BaseException) -> bool:
    """Return whether the disk is full, which hf_xet says only in a RuntimeError's message."""
    cause: BaseException | None = error
    for _ in range(LONGEST_CHAIN):
        if cause is None:
            return False
        if isinstance(cause, OSError) and cause.errno in FULL:
            return True
        if isinstance(cause, OSError | RuntimeError) and "no space left on" in str(cause).lower():
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def hub_reason(error: Exception) -> str:
    """Return why a download failed, as a clause that names no path of this machine."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, timeout_errors()) for cause in causes):
        return f"it did not respond for {TIMEOUT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"the files cannot be saved here ({error.strerror})."
    return PREFIX.sub("", str(error).strip().split("\n")[0])
