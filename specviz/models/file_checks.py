"""Check a model's files before they are loaded: their sizes, configs and stored tensors.

Files may come from anyone, and a config may describe a larger network than the files contain. So
the elements in the weight files are counted, and a network that needs more is not built (see
`load_control`). A config's numbers are checked before transformers reads them, because some of its
classes build lists whose length is such a number.

Pickled files are checked too. torch's `weights_only` loader runs no code, but it builds any object
of the types it allows, and some of these can allocate any amount of memory. Only plain tensors are
allowed here.
"""

from __future__ import annotations

import json
import pickletools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, Final
from zipfile import BadZipFile, ZipFile, is_zipfile

from specviz.models.errors import NotAvailable, Unsuitable

MAX_HEADER: Final = 1 << 24  # maximum bytes of a safetensors header: about 100,000 tensors
MAX_DIMENSIONS: Final = 16
BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64,
}  # fmt: skip
MAX_PICKLE: Final = 1 << 26  # maximum bytes of a pickle without its tensors' data
PICKLES: Final = 5  # how many pickles precede the tensor data in a file of torch's older format
ALLOWED: Final = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_(tensor(_v2)?|parameter)"
    r"|torch (Size|\w+Storage|b?float\d+|u?int\d+|bool|storage)"
    r"|torch\.storage \w+Storage|torch\.nn\.parameter Parameter"
)


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """The size of a model's weight files."""

    elements: int
    tensors: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor's row in a safetensors header."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.dtype.lstrip("B").startswith("F")


def count_stored(name: str, files: Sequence[Path], quantized: bool = False) -> StoredWeights:
    """Count the elements (some packed 4-bit numbers) and tensors in files.

    Raises Unsuitable if a header is damaged.
    """
    elements = tensors = 0
    for file in files:
        size = file.stat().st_size
        if file.suffix == ".safetensors":
            stored = read_header(name, file).values()
            tensors += len(stored)
            elements += sum(each.elements for each in stored)
        else:
            tensors += count_tensors(name, file)
            elements += size // 2  # each element has at least 2 bytes
        if quantized:
            elements += 2 * size
    return StoredWeights(elements, tensors)


def read_header(name: str, path: Path) -> dict[str, StoredTensor]:
    """Return a safetensors file's tensors by name; errors call the model `name`.

    The file begins with the length of its header (8 bytes) and the header, as JSON. Raises
    Unsuitable if the header is damaged or does not fit the file.
    """
    with path.open("rb") as file:
        left = path.stat().st_size - 8
        size = int.from_bytes(file.read(8), "little")
        if left < 0 or size > left:
            raise _damaged(name, path, "its header is longer than the file")
        if size > MAX_HEADER:
            raise _damaged(name, path, f"its header has {size:,} bytes")
        text = file.read(size)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, path, "its header is not valid JSON") from error
    if not isinstance(header, dict):
        raise _damaged(name, path, "its header is not a JSON object")
    rows = {key: value for key, value in header.items() if key != "__metadata__"}
    found = {key: _stored(name, path, key, value) for key, value in rows.items()}
    if sum(each.bytes for each in found.values()) > left - size:
        raise _damaged(name, path, "its header announces more bytes than the file has")
    return found


def _stored(name: str, path: Path, key: str, row: Any) -> StoredTensor:
    try:
        dtype, shape, (begin, end) = row["dtype"], row["shape"], row["data_offsets"]
    except (TypeError, KeyError, ValueError) as error:
        raise _damaged(name, path, f"its header does not describe {key!r:.80}") from error
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if not isinstance(dtype, str) or dtype not in BITS or not _are_sizes(numbers):
        raise _damaged(name, path, f"its header does not describe {key!r:.80}")
    if len(shape) > MAX_DIMENSIONS or prod(shape) * BITS[dtype] != (end - begin) * 8:
        raise _damaged(name, path, f"the shape of {key!r:.80} does not fit its bytes")
    return StoredTensor(dtype, tuple(shape), end - begin)


def _are_sizes(numbers: Collection[Any]) -> bool:
    return all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)


def _damaged(name: str, path: Path, problem: str) -> Unsuitable:
    return Unsuitable(f"{name!r} could not be loaded: {path.name} is damaged, {problem}.")


def count_tensors(name: str, path: Path) -> int:
    """Return how many tensors a pickled file, which holds nothing else, has.

    Raises Unsuitable if the file is damaged, or holds anything but plain tensors.
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
    """Return the error for a pickle that contains other objects than tensors."""
    return Unsuitable(
        f"{name!r} has more than plain weights in its pickled file, so it is not loaded."
    )


def _in_zip(path: Path) -> int:
    with ZipFile(path) as archive:
        entries = archive.infolist()
        if any(each.compress_type or each.file_size != each.compress_size for each in entries):
            raise ValueError("a part of it is compressed")
        if sum(each.file_size for each in entries) > path.stat().st_size:
            raise ValueError("its parts are larger than the file")
        pickles = [each for each in entries if each.filename.endswith(".pkl")]
        if len(pickles) != 1 or pickles[0].file_size > MAX_PICKLE:
            raise ValueError("it does not have exactly one pickle of a usual size")
        with archive.open(pickles[0]) as file:
            return _calls(file)


def _calls(file: IO[bytes]) -> int:
    # Each tensor needs at least one.
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
        if position is not None and position > MAX_PICKLE:
            raise ValueError("its pickle is too long")
        yield opcode.name, argument


LARGEST_JSON: Final = 1 << 22  # maximum bytes of a config: ten times the largest published one
LARGEST_TOKENIZER: Final = 1 << 26  # maximum bytes of a tokenizer's file: twice the largest one
MAX_NUMBER: Final = 1 << 40
MAX_PARTS: Final = 10_000
MIN_WIDTH: Final = 1 << 22  # a small head may have fewer weights than its vocabulary has tokens
SMALL: Final = ("config.json", "generation_config.json", "tokenizer_config.json")
TOKENIZER_FILES: Final = ("tokenizer*", "vocab*", "merges.txt", "chat_template*", "*token*.json")
# Keys that count layers, heads or experts; an object is built for each of those.
PARTS: Final = re.compile(r".*(layer|head|expert|block|label|depth|stage).*(?<!_size)(?<!_dim)")
WIDTHS: Final = re.compile(r"(?!.*(window|chunk|block|image|max)).*(_size|_dim|_rank|_embd|_inner)")


def check_folder(name: str, folder: Path) -> None:
    """Check the sizes of a folder's config and tokenizer files.

    Raises Unsuitable if a file is larger than any that is used in practice.
    """
    limits = dict.fromkeys(
        (path for each in TOKENIZER_FILES for path in folder.glob(each)), LARGEST_TOKENIZER
    )
    limits |= dict.fromkeys((folder / each for each in SMALL), LARGEST_JSON)
    for path, limit in limits.items():
        if path.is_file() and path.stat().st_size > limit:
            raise Unsuitable(
                f"{name!r}: its {path.name} has {path.stat().st_size:,} bytes; the limit is "
                f"{limit:,}."
            )


def read_config(name: str, folder: Path) -> dict[str, Any]:
    """Read a folder's config.json and check its numbers.

    Raises NotAvailable if there is no config.json; Unsuitable if it is not a JSON object or has
    impossible values.
    """
    path = folder / "config.json"
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise Unsuitable(f"{name!r}: its config.json has more than {LARGEST_JSON:,} bytes.")
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise NotAvailable(f"{name!r} has no config.json.") from error
    except Unsuitable:
        raise
    except RecursionError as error:
        raise Unsuitable(f"{name!r}: its config.json is nested too deeply.") from error
    except ValueError as error:
        raise Unsuitable(f"{name!r}: its config.json cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise Unsuitable(f"{name!r}: its config.json is not a JSON object.")
    check_numbers(name, found)
    return found


def check_numbers(
    name: str, config: Mapping[str, Any], stored: StoredWeights | None = None
) -> None:
    """Check that every number in a config is possible for files of this size.

    Raises Unsuitable if a number is too large.
    """
    widest = None if stored is None else max(stored.elements, MIN_WIDTH)
    for key, number in _numbers(config):
        most = MAX_NUMBER
        if PARTS.fullmatch(key):
            most = MAX_PARTS
        elif widest is not None and WIDTHS.fullmatch(key):
            most = widest
        if abs(number) > most:
            raise Unsuitable(
                f"{name!r}: its config.json says {number:,} for {key:.60}, which is too large."
                if abs(number) < MAX_NUMBER**2
                else f"{name!r}: its config.json has a number for {key:.60} that is too large."
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    waiting: list[tuple[str, Any]] = list(config.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif type(value) is int or (type(value) is float and value.is_integer()):
            yield str(key), int(value)
