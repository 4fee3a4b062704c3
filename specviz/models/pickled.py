"""Checks a pickled weight file before torch reads it.

torch's own `weights_only` loader runs no code, but it does what a pickle says with the types that
it knows, and some of these take any amount of memory. Here nothing but plain tensors passes.
"""

from __future__ import annotations

import pickletools
import re
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Final
from zipfile import BadZipFile, ZipFile, is_zipfile

from specviz.models.errors import Unsuitable

MOST_PICKLE: Final = 1 << 26  # bytes of a pickle without its tensors' numbers
PICKLES: Final = 5  # in a file of the older format, before its numbers
ALLOWED: Final = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor(_v2)?|parameter)"
    r"|torch (Size|\w+Storage|b?float\d+|u?int\d+|bool|storage)"
    r"|torch\.storage \w+Storage|torch\.nn\.parameter Parameter"
)


def count_tensors(name: str, path: Path) -> int:
    """How many tensors a pickled file can hold at most; errors call the model `name`.

    Raises Unsuitable where it holds anything but plain tensors, or is damaged.
    """
    try:
        if is_zipfile(path):
            return _in_zip(path)
        with path.open("rb") as file:
            return sum(_calls(file) for _ in range(PICKLES))
    except UnpicklingError as error:
        raise pickle_error(name) from error
    except (ValueError, BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise Unsuitable(
            f"{name!r} could not be loaded: {path.name} is damaged: {reason}."
        ) from error


def pickle_error(name: str) -> Unsuitable:
    """Why a pickle with more than tensors in it is not loaded."""
    return Unsuitable(f"{name!r} has more than plain weights in its pickle; none is loaded.")


def _in_zip(path: Path) -> int:
    """The tensors of a file of the newer format, whose parts are stored uncompressed."""
    with ZipFile(path) as archive:
        entries = archive.infolist()
        if any(each.compress_type or each.file_size != each.compress_size for each in entries):
            raise ValueError("a part of it is compressed")
        if sum(each.file_size for each in entries) > path.stat().st_size:
            raise ValueError("its parts are larger than the file")
        pickles = [each for each in entries if each.filename.endswith(".pkl")]
        if len(pickles) != 1 or pickles[0].file_size > MOST_PICKLE:
            raise ValueError("it has not one pickle of a usual size")
        with archive.open(pickles[0]) as file:
            return _calls(file)


def _calls(file: IO[bytes]) -> int:
    """How many calls a pickle makes. Raises UnpicklingError where it names what is not allowed."""
    calls = 0
    for opcode, argument in _operations(file):
        if opcode in ("GLOBAL", "INST") and not ALLOWED.fullmatch(str(argument)):
            raise UnpicklingError(str(argument))
        if opcode in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4", "OBJ", "NEWOBJ", "NEWOBJ_EX"):
            raise UnpicklingError(opcode)
        calls += opcode == "REDUCE"
    return calls


def _operations(file: IO[bytes]) -> Iterator[tuple[str, object]]:
    for opcode, argument, position in pickletools.genops(file):
        if position is not None and position > MOST_PICKLE:
            raise ValueError("its pickle is too long")
        yield opcode.name, argument
