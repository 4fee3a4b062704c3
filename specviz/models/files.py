"""Finds a model's files and takes their fingerprint.

Rule: whatever a model is called, it is loaded from one folder; a Hub id is only a way to find it,
first among what was fetched before, so nothing here needs a network that need not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from specviz.models.errors import NotAvailable

HUB_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
LONGEST_ID: Final = 96  # letters of an id, as the Hub counts
WHOLE: Final = ("model.safetensors", "pytorch_model.bin")
INDEX: Final = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WORDS: Final = ("config.json", "generation_config.json", "tokenizer*", "vocab*", "merges.txt")
TENSORS: Final = ("model.safetensors*", "model-*.safetensors")
PICKLES: Final = ("pytorch_model*.bin", "pytorch_model*.json")
HEADS: Final = ("medusa_lm_head.safetensors", "medusa_lm_head.pt", "heads.safetensors")


def folder_of(name: str) -> Path:
    """The folder that holds the model called `name`: a folder, or the id of a model on the Hub.

    Raises NotAvailable where there is none, or where the Hub cannot be reached.
    """
    folder = _local(name)
    if folder is None:
        if len(name) > LONGEST_ID or not HUB_ID.fullmatch(name):
            raise NotAvailable(
                f"No model is called {name!r:.100}: give a name that `python -m specviz models` "
                "lists, a folder, or the owner/name of a model on the Hub."
            )
        folder = _fetched_before(name) or _fetch(name)
    if not (folder / "config.json").is_file() or not head_files(folder):
        raise NotAvailable(
            f"{name!r} is no whole model: its folder needs a config.json and every weight file, "
            f"{' or '.join(WHOLE)} or the shards of an index."
        )
    return folder


def weight_files(folder: Path) -> list[Path]:
    """The files that hold a checkpoint's weights, in the layouts of transformers, sorted.

    safetensors before pickles; empty where there are none or where a shard is missing.
    """
    for whole, index in zip(WHOLE, INDEX, strict=True):
        if (folder / whole).is_file():
            return [folder / whole]
        if (folder / index).is_file():
            shards = json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"]
            paths = sorted({folder / shard for shard in shards.values()})
            return paths if all(path.is_file() for path in paths) else []
    return []


def head_files(folder: Path) -> list[Path]:
    """The files that hold a head's weights: `weight_files`, or the one that its family names."""
    named = [folder / name for name in HEADS if (folder / name).is_file()]
    return weight_files(folder) or named[:1]


def called(folder: Path) -> str:
    """How errors name a model's folder: its id where it was fetched from the Hub."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name


def size_of(files: Sequence[Path]) -> int:
    """Bytes of all files together."""
    return sum(path.stat().st_size for path in files)


def fingerprint(files: Sequence[Path]) -> str | None:
    """SHA-256 of the files' bytes, one after the other; None where there are no files."""
    if not files:
        return None
    stats = [path.stat() for path in files]
    return _sha256(tuple((p, s.st_size, s.st_mtime_ns) for p, s in zip(files, stats, strict=True)))


@cache
def _sha256(files: tuple[tuple[Path, int, int], ...]) -> str:
    """Read all files; cached by path, size and time of change."""
    digest = hashlib.sha256()
    for path, _, _ in files:
        with path.open("rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def _fetched_before(name: str) -> Path | None:
    """The folder of a model that was fetched from the Hub earlier, if it is whole."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    return folder if head_files(folder) else None


def _fetch(name: str) -> Path:
    """Fetch a model from the Hub: safetensors, or pickles where it has nothing else."""
    from huggingface_hub import snapshot_download

    try:
        folder = Path(snapshot_download(name, allow_patterns=[*WORDS, *TENSORS]))
        if not weight_files(folder):
            snapshot_download(name, allow_patterns=[*PICKLES, *HEADS])
    except (OSError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise NotAvailable(
            f"{name!r} is neither a folder nor a model that was fetched to this machine before, "
            f"and the Hub did not give it: {reason}"
        ) from error
    return folder


def public_name(name: str) -> str:
    """A model's name for screen and files, which must not name anyone's folders."""
    folder = _local(name)
    return name if folder is None else folder.resolve().name


def _local(name: str) -> Path | None:
    """The folder of this machine that a name means, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError):  # too long to be anyone's folder; nobody's home
        return None
