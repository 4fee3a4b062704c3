"""Compare how torch's threads wait, on an idle machine and beside a busy process.

`PYTHONPATH=. python tests/load/waiting.py` runs the house models in new processes, with one thread
or as many as there are cores. The threads wait actively (OpenMP's default), for a number of rounds
of an empty loop, or asleep. All variants take turns, alone and beside a process that uses one core.
The script prints tokens per second relative to active waiting on an idle machine. Run it on an idle
machine; otherwise the ratios are meaningless.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from statistics import median

ROUNDS = 5
CORES = os.cpu_count() or 1
WAITING = {
    "active": {},
    "100000 spins": {"GOMP_SPINCOUNT": "100000"},
    "10000 spins": {"GOMP_SPINCOUNT": "10000"},
    "1000 spins": {"GOMP_SPINCOUNT": "1000"},
    "asleep": {"OMP_WAIT_POLICY": "PASSIVE"},
}
WAYS = {"1 thread": {"OMP_NUM_THREADS": "1"}}
for waiting, told in WAITING.items():
    WAYS[f"{CORES} threads, {waiting}"] = {"OMP_NUM_THREADS": str(CORES), **told}
DECODING = """
import time
from specviz.catalog import load
from specviz.engine.loop import Decoding, plain
from specviz.settings.settings import Sampling, Settings
settings = Settings(Sampling(0.0), max_new_tokens=48)
target, drafter = load("house", "eagle3", "cpu")
ids = target.encode("Once upon a time there was a little girl called Lily. She", 48)
for counted in (False, True):
    start = time.perf_counter()
    for _ in plain(target, ids, settings): pass
    middle = time.perf_counter()
    for _ in Decoding(target, drafter, ids, settings).rounds(): pass
    end = time.perf_counter()
print(48 / (middle - start), 48 / (end - middle))
"""
BUSY = "while True: sum(range(100_000))"


def speeds(way: dict[str, str]) -> tuple[float, float]:
    """Return tokens per second of plain decoding and of EAGLE-3, measured in a new process."""
    command = [sys.executable, "-c", DECODING]
    told = subprocess.run(command, env=os.environ | way, capture_output=True, text=True, check=True)
    plainly, drafted = map(float, told.stdout.split())
    return plainly, drafted


def main() -> None:
    """Measure and print."""
    found: dict[tuple[str, bool], list[tuple[float, float]]] = defaultdict(list)
    for _ in range(ROUNDS):
        for busy in (False, True):
            other = subprocess.Popen([sys.executable, "-c", BUSY]) if busy else None
            for name, way in WAYS.items():
                found[name, busy].append(speeds(way))
            if other is not None:
                other.kill()
                other.wait()
    usual = [median(each) for each in zip(*found[f"{CORES} threads, active", False], strict=True)]
    print(f"{'':28} idle: plain, EAGLE-3   beside a busy process")
    for name in WAYS:
        cells = [
            median(values) / base
            for busy in (False, True)
            for values, base in zip(zip(*found[name, busy], strict=True), usual, strict=True)
        ]
        print(f"{name:28} {cells[0]:10.2f} {cells[1]:8.2f} {cells[2]:15.2f} {cells[3]:8.2f}")
    print(f"1.00 is {usual[0]:.0f} and {usual[1]:.0f} tokens a second")


if __name__ == "__main__":
    main()
