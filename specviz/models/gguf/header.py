"""Read the header of a GGUF file: its key-value pairs and its table of tensors.

Every count, length and offset is compared with the file's size before anything is allocated, so a
small file cannot cause much memory use or time. Arrays that are not used are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType, quant_shape_to_byte_shape

MAGIC: Final = b"GGUF"
VERSIONS: Final = (2, 3)
MAX_PAIRS: Final = 1 << 14
MAX_TENSORS: Final = 1 << 16
MAX_ITEMS: Final = 1 << 21  # maximum items of an array, or strings in a file (largest: 600,000)
MAX_NAME: Final = (1 << 16) - 1  # maximum bytes, from the format's specification
MAX_DIMENSIONS: Final = 4  # maximum dimensions of llama.cpp's tensors
ALIGNMENT: Final = "general.alignment"
DEFAULT_ALIGNMENT: Final = 32
MAX_ALIGNMENT: Final = 1 << 16

Type = GGUFValueType
SCALARS: Final = {
    Type.UINT8: "B",
    Type.INT8: "b",
    Type.UINT16: "H",
    Type.INT16: "h",
    Type.UINT32: "I",
    Type.INT32: "i",
    Type.FLOAT32: "f",
    Type.UINT64: "Q",
    Type.INT64: "q",
    Type.FLOAT64: "d",
    Type.BOOL: "?",
}


class DamagedHeader(ValueError):
    """Raised if a file is not a complete GGUF file; the message is a clause that says why."""


class OtherByteOrder(DamagedHeader):
    """Raised if a file was written for processors with the other byte order."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One row of the table of tensors.

    Attributes:
        shape: Its shape in NumPy's order, rows first.
        start: Offset in the file, in bytes.
    """

    name: str
    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    start: int
    bytes: int

    @property
    def elements(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """The contents of a file. content: the file's bytes, memory-mapped."""

    values: dict[str, Any]
    tensors: dict[str, TensorInfo]
    content: mmap

    def data(self, tensor: TensorInfo) -> Any:
        """Return a tensor's bytes as an array for `gguf.dequantize`, without copying."""
        flat = np.frombuffer(self.content, np.uint8, tensor.bytes, tensor.start)
        return flat.reshape(quant_shape_to_byte_shape(tensor.shape, tensor.kind))


def read_gguf(path: Path, wanted: Callable[[str], bool]) -> GgufFile:
    """Read a file's header.

    wanted: returns whether to keep the value of a key. Raises DamagedHeader if the file is
    incomplete or invalid; OtherByteOrder if it was written for the other byte order.
    """
    _require(path.stat().st_size > 0, "it is empty")
    with path.open("rb") as file:
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    cursor = _Cursor(content)
    _require(cursor.take(4) == MAGIC, "it does not begin with the letters GGUF")
    version = cursor.number("I")
    if version & 0xFFFF == 0:
        raise OtherByteOrder("the other byte order")
    _require(version in VERSIONS, f"its format version {version} is not supported")
    count, pairs = cursor.number("Q"), cursor.number("Q")
    _require(pairs <= MAX_PAIRS, f"it announces {pairs:,} values")
    _require(count <= MAX_TENSORS, f"it announces {count:,} tensors")
    values = _read_values(cursor, pairs, wanted)
    tensors = _read_tensors(cursor, count, values.get(ALIGNMENT, DEFAULT_ALIGNMENT))
    return GgufFile(values, tensors, content)


@dataclass(slots=True)
class _Cursor:
    # strings: number of items in the string arrays read or skipped so far.
    content: mmap
    at: int = 0
    strings: int = 0

    @property
    def left(self) -> int:
        return len(self.content) - self.at

    def skip(self, size: int) -> int:
        # Returns the offset of the first skipped byte.
        begin = self.at
        if size > len(self.content) - begin:
            raise DamagedHeader(f"it announces {size:,} bytes but only {self.left:,} are left")
        self.at = begin + size
        return begin

    def take(self, size: int) -> bytes:
        begin = self.skip(size)
        return self.content[begin : begin + size]

    def number(self, code: str) -> Any:
        # code: its format in `struct`.
        size = struct.calcsize(f"<{code}")
        (found,) = struct.unpack_from(f"<{code}", self.content, self.skip(size))
        return found

    def name(self) -> str:
        size = self.number("Q")
        _require(size <= MAX_NAME, f"it has a name of {size:,} bytes")
        return _decoded(self.take(size))

    def text(self) -> str:
        return _decoded(self.take(self.number("Q")))


def _require(fits: bool, problem: str) -> None:
    if not fits:
        raise DamagedHeader(problem)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedHeader("a string in it is not UTF-8") from error


def _read_values(cursor: _Cursor, count: int, wanted: Callable[[str], bool]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for _ in range(count):
        key = cursor.name()
        _require(key not in seen, f"it has the key {key!r:.80} twice")
        seen.add(key)
        keep = wanted(key) or key == ALIGNMENT
        kind = _kind(cursor.number("I"))
        value = _array(cursor, keep) if kind is Type.ARRAY else _scalar(cursor, kind, keep)
        if keep:
            found[key] = value
    return found


def _kind(number: int) -> GGUFValueType:
    try:
        return Type(number)
    except ValueError as error:
        raise DamagedHeader(f"it has a value of type {number}, which is not known") from error


def _scalar(cursor: _Cursor, kind: GGUFValueType, keep: bool) -> Any:
    if kind is not Type.STRING:
        return cursor.number(SCALARS[kind])
    return cursor.text() if keep else cursor.skip(cursor.number("Q"))


def _array(cursor: _Cursor, keep: bool) -> list[Any] | None:
    kind, length = _kind(cursor.number("I")), cursor.number("Q")
    _require(kind is not Type.ARRAY, "it has an array of arrays")
    _require(not keep or length <= MAX_ITEMS, f"it has an array of {length:,} items")
    if kind is Type.STRING:
        cursor.strings += length
        _require(
            length * 8 <= cursor.left, f"its array of {length:,} strings is larger than the file"
        )
        _require(cursor.strings <= MAX_ITEMS, f"its arrays have {cursor.strings:,} strings")
        return _strings(cursor, length, keep)
    code = f"<{SCALARS[kind]}"
    begin = cursor.skip(length * struct.calcsize(code))
    if not keep:
        return None
    return list(struct.unpack_from(f"<{length}{SCALARS[kind]}", cursor.content, begin))


def _strings(cursor: _Cursor, length: int, keep: bool) -> list[Any] | None:
    if keep:
        return [cursor.text() for _ in range(length)]
    for _ in range(length):
        cursor.skip(cursor.number("Q"))
    return None


def _read_tensors(cursor: _Cursor, count: int, alignment: Any) -> dict[str, TensorInfo]:
    # Each must be inside the file and overlap no other.
    power = type(alignment) is int and alignment > 0 and alignment & (alignment - 1) == 0
    _require(power and alignment <= MAX_ALIGNMENT, f"its alignment is {alignment!r:.40}")
    rows = [_row(cursor) for _ in range(count)]
    first = -(-cursor.at // alignment) * alignment
    found: dict[str, TensorInfo] = {}
    for name, kind, shape, offset in rows:
        _require(name not in found, f"it has the tensor {name!r:.80} twice")
        block, size = GGML_QUANT_SIZES[kind]
        _require(shape[-1] % block == 0, f"the rows of {name!r:.80} are not whole blocks")
        bytes = prod(shape) // block * size
        inside = first + offset + bytes <= len(cursor.content)
        _require(inside, f"{name!r:.80} ends beyond the end of the file")
        found[name] = TensorInfo(name, kind, shape, first + offset, bytes)
    ordered = sorted(found.values(), key=lambda each: each.start)
    for one, other in pairwise(ordered):
        _require(
            one.start + one.bytes <= other.start, f"{other.name!r:.80} overlaps another tensor"
        )
    return found


def _row(cursor: _Cursor) -> tuple[str, GGMLQuantizationType, tuple[int, ...], int]:
    name, dimensions = cursor.name(), cursor.number("I")
    fits = 1 <= dimensions <= MAX_DIMENSIONS
    _require(fits, f"{name!r:.80} has {dimensions:,} dimensions")
    shape = tuple(cursor.number("Q") for _ in range(dimensions))[::-1]
    _require(min(shape) > 0, f"{name!r:.80} has a dimension of 0")
    number = cursor.number("I")
    try:
        kind = GGMLQuantizationType(number)
    except ValueError as error:
        raise DamagedHeader(f"{name!r:.80} is of type {number}, which is not known") from error
    return name, kind, shape, cursor.number("Q")
