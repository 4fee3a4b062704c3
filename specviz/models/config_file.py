"""Reads the small files of a model's folder, and refuses numbers that no network has.

Rule: a file is measured before it is read, and a config's numbers are checked before any class of
transformers is given them: some make a list of as many items as a number says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from specviz.models.errors import NotAvailable, Unsuitable
from specviz.models.weight_headers import StoredWeights

LARGEST_JSON: Final = 1 << 22  # bytes of a config; the largest that are published have a tenth
LARGEST_WORDS: Final = 1 << 26  # bytes of a tokenizer's file: twice the largest that are published
LARGEST: Final = 1 << 40
MOST_PARTS: Final = 10_000
LEAST_WIDTH: Final = 1 << 22  # a vocabulary may be larger than all that a small head holds
SMALL: Final = ("config.json", "generation_config.json", "tokenizer_config.json")
WORDS: Final = ("tokenizer*", "vocab*", "merges.txt", "chat_template*", "*token*.json")
# What a config counts: layers, heads, experts. Lists and modules are made one by one.
PARTS: Final = re.compile(r".*(layer|head|expert|block|label|depth|stage).*(?<!_size)(?<!_dim)")
WIDTHS: Final = re.compile(r"(?!.*(window|chunk|block|image|max)).*(_size|_dim|_rank|_embd|_inner)")


def check_folder(name: str, folder: Path) -> None:
    """Raise Unsuitable where a config or a tokenizer's file is larger than any that is used."""
    limits = dict.fromkeys((path for each in WORDS for path in folder.glob(each)), LARGEST_WORDS)
    limits |= dict.fromkeys((folder / each for each in SMALL), LARGEST_JSON)
    for path, limit in limits.items():
        if path.is_file() and path.stat().st_size > limit:
            raise Unsuitable(
                f"{name!r}: its {path.name} has {path.stat().st_size:,} bytes; no more than "
                f"{limit:,} are read."
            )


def read_config(name: str, folder: Path) -> dict[str, Any]:
    """The folder's config.json, its numbers checked; errors call the model `name`.

    Raises NotAvailable where there is none, Unsuitable where it is no object or cannot be used.
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
        raise Unsuitable(f"{name!r}: its config.json is no JSON object.")
    check_numbers(name, found)
    return found


def check_numbers(name: str, config: Mapping[str, Any], held: StoredWeights | None = None) -> None:
    """Raise Unsuitable where a number in a config is one that no network has.

    held: what the weight files hold, where that is known: no dimension of a tensor is larger.
    """
    widest = None if held is None else max(held.elements, LEAST_WIDTH)
    for key, number in _numbers(config):
        most = LARGEST
        if PARTS.fullmatch(key):
            most = MOST_PARTS
        elif widest is not None and WIDTHS.fullmatch(key):
            most = widest
        if abs(number) > most:
            raise Unsuitable(
                f"{name!r}: its config.json says {number:,} for {key:.60}, which is too large."
                if abs(number) < LARGEST**2
                else f"{name!r}: its config.json has a number for {key:.60} that is too large."
            )


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Every whole number in a config, with the key under which it, or its list, stands."""
    waiting: list[tuple[str, Any]] = list(config.items())
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += [(key, each) for each in value]
        elif type(value) is int or (type(value) is float and value.is_integer()):
            yield str(key), int(value)
