"""Read the small files of a model's folder, and reject impossible values.

A file's size is checked before it is read. A config's numbers are checked before transformers reads
them, because some of its classes build lists whose length is such a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.weight_files import StoredWeights

LARGEST_JSON: Final = 1 << 22  # bytes of a config: ten times the largest published one
LARGEST_TOKENIZER: Final = 1 << 26  # bytes of a tokenizer's file: twice the largest published one
MAX_NUMBER: Final = 1 << 40
MAX_PARTS: Final = 10_000
MIN_WIDTH: Final = 1 << 22  # a small head may have fewer weights than its vocabulary has tokens
SMALL: Final = ("config.json", "generation_config.json", "tokenizer_config.json")
TOKENIZER_FILES: Final = ("tokenizer*", "vocab*", "merges.txt", "chat_template*", "*token*.json")
# Keys that count layers, heads or experts, for each of which an object is built.
PARTS: Final = re.compile(r".*(layer|head|expert|block|label|depth|stage).*(?<!_size)(?<!_dim)")
WIDTHS: Final = re.compile(r"(?!.*(window|chunk|block|image|max)).*(_size|_dim|_rank|_embd|_inner)")


def check_folder(name: str, folder: Path) -> None:
    """Check the sizes of a folder's config and tokenizer files.

    Raises:
        Unsuitable: A file is larger than any that is used in practice.
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
    """Read a folder's config.json and check its numbers; errors call the model `name`.

    Raises:
        NotAvailable: There is no config.json.
        Unsuitable: It is not a JSON object or has impossible values.
    """
    path = folder / "config.json"
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise Unsuitable(f"{name!r}: its config.json has more than {LARGEST_JSON:,} bytes.")
        found = json.loads(path.read_text(encoding="utf-8"))
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
    """Check that every number in a config is possible.

    Args:
        name: The model's name, for errors.
        config: The config as plain data.
        stored: Size of the weight files, if known; no dimension may exceed it.

    Raises:
        Unsuitable: A number is too large.
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
    """Yield every whole number in a config with its key, or with the key of the list it is in."""
    waiting: list[tuple[str, Any]] = list(config.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif type(value) is int or (type(value) is float and value.is_integer()):
            yield str(key), int(value)
