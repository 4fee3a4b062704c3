"""Count the GPU operations of a round, by drafter: the house models on the simulated device.

What is recorded as a CUDA graph counts as one launch.

`PYTHONPATH=. python tests/counted.py` writes the table that ships, assets/device.json. Rounds are
counted from the second on and without a recorder, so a row has only the work of decoding itself.
"""

from __future__ import annotations

import gc
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from pretend import DeviceLog, pretended

from specviz.catalog import entries, load, loading
from specviz.catalog.entry import with_defaults
from specviz.drafters.contract.harness import summarize
from specviz.engine.loop import Decoding, plain
from specviz.engine.recorder import versions
from specviz.models.memory import ModelCache
from specviz.settings.settings import Settings
from specviz.shipped import ASSETS

PLACE = ASSETS / "device.json"
PROMPT = "Once upon a time there was a little girl called Lily. She"
NEW = 16
TEMPERATURES = (0.0, 0.8)
KINDS = ("launches", "reads", "uploads", "waits", "late")
DRAFTERS = [
    entry.name
    for entry in entries()
    if entry.kind == "drafter" and entry.made_for in ("house", None)
]
PLAIN = "plain"


# models already loaded onto the device
SHELVES: tuple[ModelCache[Any], ModelCache[Any]] = (ModelCache(), ModelCache())


@contextmanager
def gpu() -> Iterator[DeviceLog]:
    """Simulate the device, with model caches that nothing else uses."""
    with (
        pretended() as device_log,
        patch.object(loading, "MODELS", SHELVES[0]),
        patch.object(loading, "HEADS", SHELVES[1]),
    ):
        yield device_log


def counted_settings(drafter: str, temperature: float) -> Settings:
    """Return the settings of a counted run."""
    given = {"max_new_tokens": NEW, "sampling": {"temperature": temperature}}
    return Settings.from_json(with_defaults(drafter, given))


def row(drafter: str, temperature: float, device_log: DeviceLog) -> tuple[dict[str, Any], Any]:
    """Return a drafter's row of the table and its run's trace; call this within `gpu`.

    Counts are sums over the counted rounds; the row has the number of rounds and of their tokens.
    """
    target, made = load("house", drafter, "cuda", "float32")
    settings = counted_settings(drafter, temperature)
    ids = target.encode(PROMPT, NEW)
    record_graphs(target, made, ids, settings)
    decoding = Decoding(target, made, ids, settings)
    played, before = [], Counter(device_log.counts)
    for one in decoding.rounds():
        played.append(one)
        if len(played) == 2:  # the prompt, and a round in which caches allocate their first buffer
            before = Counter(device_log.counts)
    tokens = sum(len(one.tokens) for one in played[2:])
    return _row(drafter, temperature, len(played) - 2, tokens, device_log, before), summarize(
        played
    )


def record_graphs(*run: Any) -> None:
    """Do a run, so that another one finds its graphs in the memory that it gives back."""
    for _ in Decoding(*run).rounds():
        pass
    del _
    gc.collect()


def plain_row(temperature: float, device_log: DeviceLog) -> dict[str, Any]:
    """Return plain decoding's row, in which a round is one token."""
    target, _ = load("house", "ngram", "cuda", "float32")
    settings = counted_settings("ngram", temperature)
    for _ in plain(target, target.encode(PROMPT, NEW), settings):
        pass
    before, steps = Counter(device_log.counts), 0
    for steps, _ in enumerate(plain(target, target.encode(PROMPT, NEW), settings), 1):
        if steps == 2:
            before = Counter(device_log.counts)
    return _row(PLAIN, temperature, steps - 2, steps - 2, device_log, before)


def _row(
    name: str, temperature: float, rounds: int, tokens: int, device_log: DeviceLog, before: Counter
) -> dict[str, Any]:
    made = {kind: device_log.counts[kind] - before[kind] for kind in KINDS}
    told = {"drafter": name, "temperature": temperature, "rounds": rounds, "tokens": tokens}
    return told | made


def depends_on() -> dict[str, str]:
    """Return the versions that determine the number of ops in a pass."""
    return {name: version for name, version in versions().items() if name != "python"}


def table() -> dict[str, Any]:
    """Return all rows, with the versions that they depend on."""
    rows = []
    with gpu() as device_log:
        for temperature in TEMPERATURES:
            rows.append(plain_row(temperature, device_log))
            rows += [row(name, temperature, device_log)[0] for name in DRAFTERS]
    return {
        "device": "a pretended CUDA device: no GPU was used, so there are counts and no times",
        "target": "house",
        "dtype": "float32",
        "prompt": PROMPT,
        "new_tokens": NEW,
        "versions": depends_on(),
        "rows": rows,
    }


def main() -> None:
    """Write the table."""
    found = table()
    rows = ",\n".join(f"  {json.dumps(row)}" for row in found.pop("rows"))
    head = json.dumps(found, indent=1, ensure_ascii=False).removesuffix("\n}")
    PLACE.write_text(f'{head},\n "rows": [\n{rows}\n ]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
