"""How many numbers a model's weight files hold, read from their headers alone.

Whoever builds a network compares it with this first (see `weight_budget`): files may come from
anyone, and a config may announce more than they hold.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final

from specviz.models.errors import Unsuitable

MOST_HEADER: Final = 1 << 24  # bytes, of one safetensors file: for some 100,000 tensors
MOST_DIMENSIONS: Final = 16
BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "U16": 16, "I16": 16, "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32,
    "U64": 64, "I64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredWeights:
    """What weight files hold. elements: numbers in all their tensors. tensors: how many."""

    elements: int
    tensors: int


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor as a safetensors header has it. dtype: in that format's words."""

    dtype: str
    shape: tuple[int, ...]
    bytes: int

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether its numbers are floating-point ones."""
        return self.dtype.lstrip("B").startswith("F")


def count_stored(name: str, files: Sequence[Path], quantized: bool = False) -> StoredWeights:
    """What these files hold together; errors call the model `name`.

    quantized: whether each number may be one of 4 bits, several to an element. Raises Unsuitable
    where a header is damaged.
    """
    from specviz.models.pickled import count_tensors

    elements = tensors = 0
    for file in files:
        size = file.stat().st_size
        if file.suffix == ".safetensors":
            stored = read_header(name, file).values()
            tensors += len(stored)
            elements += sum(each.elements for each in stored)
        else:
            tensors += count_tensors(name, file)
            elements += size // 2  # of 2 bytes each at least
        if quantized:
            elements += 2 * size
    return StoredWeights(elements, tensors)


def read_header(name: str, path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by name; errors call the model `name`.

    The file begins with its header's length, 8 bytes, and the header, as JSON. Raises Unsuitable
    where that is damaged or does not fit the file.
    """
    with path.open("rb") as file:
        left = path.stat().st_size - 8
        size = int.from_bytes(file.read(8), "little")
        if left < 0 or size > left:
            raise _damaged(name, path, "its header is longer than the file")
        if size > MOST_HEADER:
            raise _damaged(name, path, f"its header has {size:,} bytes")
        text = file.read(size)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, path, "its header is not whole JSON") from error
    if not isinstance(header, dict):
        raise _damaged(name, path, "its header is no JSON object")
    rows = {key: value for key, value in header.items() if key != "__metadata__"}
    found = {key: _stored(name, path, key, value) for key, value in rows.items()}
    if sum(each.bytes for each in found.values()) > left - size:
        raise _damaged(name, path, "its header announces more bytes than the file has")
    return found


def _stored(name: str, path: Path, key: str, row: Any) -> StoredTensor:
    """One row of a header. Raises Unsuitable where its parts do not fit together."""
    try:
        dtype, shape, (begin, end) = row["dtype"], row["shape"], row["data_offsets"]
    except (TypeError, KeyError, ValueError) as error:
        raise _damaged(name, path, f"its header does not describe {key!r:.80}") from error
    numbers = [*shape, begin, end] if isinstance(shape, list) else [None]
    if not isinstance(dtype, str) or dtype not in BITS or not _are_sizes(numbers):
        raise _damaged(name, path, f"its header does not describe {key!r:.80}")
    if len(shape) > MOST_DIMENSIONS or prod(shape) * BITS[dtype] != (end - begin) * 8:
        raise _damaged(name, path, f"the shape of {key!r:.80} does not fit its bytes")
    return StoredTensor(dtype, tuple(shape), end - begin)


def _are_sizes(numbers: Collection[Any]) -> bool:
    return all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)


def _damaged(name: str, path: Path, problem: str) -> Unsuitable:
    return Unsuitable(f"{name!r} could not be loaded: {path.name} is damaged, {problem}.")
