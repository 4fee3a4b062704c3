"""Reads the header of a GGUF file: its key-value pairs and its table of tensors.

Every count, length and offset is compared with the file's size before anything is allocated, so a
small file cannot make the program use much memory or time. Arrays that are not used are skipped.
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
MOST_PAIRS: Final = 1 << 14
MOST_TENSORS: Final = 1 << 16
MOST_ITEMS: Final = 1 << 21  # of an array that is kept, or texts in all: the largest have 600,000
LONGEST_NAME: Final = (1 << 16) - 1  # bytes, as the format's specification says
MOST_DIMENSIONS: Final = 4  # of llama.cpp's tensors
ALIGNMENT: Final = "general.alignment"
DEFAULT_ALIGNMENT: Final = 32
MOST_ALIGNMENT: Final = 1 << 16

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
    """The file is no whole GGUF file; the message says what is wrong with it."""


class OtherByteOrder(DamagedHeader):
    """The file was written for processors of the other byte order."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One row of the table. shape: rows first, as numpy has it. start, bytes: in the file."""

    name: str
    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    start: int
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class GgufFile:
    """A file's values by key, as far as they were asked for, its tensors, and its bytes."""

    values: dict[str, Any]
    tensors: dict[str, TensorInfo]
    content: mmap

    def data(self, tensor: TensorInfo) -> Any:
        """A tensor's bytes as an array that `gguf.dequantize` takes, not copied."""
        flat = np.frombuffer(self.content, np.uint8, tensor.bytes, tensor.start)
        return flat.reshape(quant_shape_to_byte_shape(tensor.shape, tensor.kind))


def read_gguf(path: Path, wanted: Callable[[str], bool]) -> GgufFile:
    """Read a file's header. wanted: whether the value under a key is kept.

    Raises DamagedHeader, OtherByteOrder.
    """
    _require(path.stat().st_size > 0, "it is empty")
    with path.open("rb") as file:
        content = mmap(file.fileno(), 0, access=ACCESS_READ)
    cursor = _Cursor(content)
    _require(cursor.take(4) == MAGIC, "GGUF magic invalid")
    version = cursor.number("I")
    if version & 0xFFFF == 0:
        raise OtherByteOrder("the other byte order")
    _require(version in VERSIONS, f"its version {version} is not known here")
    count, pairs = cursor.number("Q"), cursor.number("Q")
    _require(pairs <= MOST_PAIRS, f"it announces {pairs:,} values")
    _require(count <= MOST_TENSORS, f"it announces {count:,} tensors")
    values = _read_values(cursor, pairs, wanted)
    tensors = _read_tensors(cursor, count, values.get(ALIGNMENT, DEFAULT_ALIGNMENT))
    return GgufFile(values, tensors, content)


@dataclass(slots=True)
class _Cursor:
    """A position in the file. texts: how many items of string arrays were passed so far."""

    content: mmap
    at: int = 0
    texts: int = 0

    @property
    def left(self) -> int:
        """Bytes from here to the end of the file."""
        return len(self.content) - self.at

    def skip(self, size: int) -> int:
        """Move on by `size` bytes; returns where they begin. Raises DamagedHeader."""
        begin = self.at
        if size > len(self.content) - begin:
            raise DamagedHeader(f"it announces {size:,} bytes where {self.left:,} are left")
        self.at = begin + size
        return begin

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        begin = self.skip(size)
        return self.content[begin : begin + size]

    def number(self, code: str) -> Any:
        """The next number; code: as `struct` has it."""
        size = struct.calcsize(f"<{code}")
        (found,) = struct.unpack_from(f"<{code}", self.content, self.skip(size))
        return found

    def name(self) -> str:
        """The next string, a key or a tensor's name."""
        size = self.number("Q")
        _require(size <= LONGEST_NAME, f"it has a name of {size:,} bytes")
        return _decoded(self.take(size))

    def text(self) -> str:
        """The next string."""
        return _decoded(self.take(self.number("Q")))


def _require(fits: bool, problem: str) -> None:
    if not fits:
        raise DamagedHeader(problem)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedHeader("a text in it is no UTF-8") from error


def _read_values(cursor: _Cursor, count: int, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The key-value pairs; of values that are not used, only the length is read."""
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
    """A value's type. Raises DamagedHeader for an unknown number."""
    try:
        return Type(number)
    except ValueError as error:
        raise DamagedHeader(f"it has a value of type {number}, which is not known") from error


def _scalar(cursor: _Cursor, kind: GGUFValueType, keep: bool) -> Any:
    if kind is not Type.STRING:
        return cursor.number(SCALARS[kind])
    return cursor.text() if keep else cursor.skip(cursor.number("Q"))


def _array(cursor: _Cursor, keep: bool) -> list[Any] | None:
    """An array's items; None where they are not to be kept."""
    kind, length = _kind(cursor.number("I")), cursor.number("Q")
    _require(kind is not Type.ARRAY, "it has an array of arrays")
    _require(not keep or length <= MOST_ITEMS, f"it has an array of {length:,} items")
    if kind is Type.STRING:
        cursor.texts += length
        _require(
            length * 8 <= cursor.left, f"its array of {length:,} texts is larger than the file"
        )
        _require(cursor.texts <= MOST_ITEMS, f"its arrays have {cursor.texts:,} texts")
        return _texts(cursor, length, keep)
    code = f"<{SCALARS[kind]}"
    begin = cursor.skip(length * struct.calcsize(code))
    if not keep:
        return None
    return list(struct.unpack_from(f"<{length}{SCALARS[kind]}", cursor.content, begin))


def _texts(cursor: _Cursor, length: int, keep: bool) -> list[Any] | None:
    if keep:
        return [cursor.text() for _ in range(length)]
    for _ in range(length):
        cursor.skip(cursor.number("Q"))
    return None


def _read_tensors(cursor: _Cursor, count: int, alignment: Any) -> dict[str, TensorInfo]:
    """The table of tensors, each within the file and none over another's bytes."""
    power = type(alignment) is int and alignment > 0 and alignment & (alignment - 1) == 0
    _require(power and alignment <= MOST_ALIGNMENT, f"its alignment is {alignment!r:.40}")
    rows = [_row(cursor) for _ in range(count)]
    first = -(-cursor.at // alignment) * alignment
    found: dict[str, TensorInfo] = {}
    for name, kind, shape, offset in rows:
        _require(name not in found, f"it has the tensor {name!r:.80} twice")
        block, size = GGML_QUANT_SIZES[kind]
        _require(shape[-1] % block == 0, f"the rows of {name!r:.80} are no whole blocks")
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
    """A tensor's name, type, shape and offset from the first tensor."""
    name, dimensions = cursor.name(), cursor.number("I")
    fits = 1 <= dimensions <= MOST_DIMENSIONS
    _require(fits, f"{name!r:.80} has {dimensions:,} dimensions")
    shape = tuple(cursor.number("Q") for _ in range(dimensions))[::-1]
    _require(min(shape) > 0, f"{name!r:.80} has a dimension of 0")
    number = cursor.number("I")
    try:
        kind = GGMLQuantizationType(number)
    except ValueError as error:
        raise DamagedHeader(f"{name!r:.80} is of type {number}, which is not known") from error
    return name, kind, shape, cursor.number("Q")
