"""Shorten the time that idle compute threads spin before they sleep.

This has to be called before torch is imported. By default, OpenMP's threads spin for about a
millisecond, many times as long as a small operation takes. If another process is busy, one of two
threads is then often descheduled while the other occupies its core by spinning: a pass of the
shipped target takes ten times as long. A short spin costs little on an idle machine
(tests/load/waiting.py measures both).
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Final

SPIN_COUNT: Final = "10000"  # iterations: a few microseconds, the time between two operations
OPENBLAS_TIMEOUT: Final = "OPENBLAS_THREAD_TIMEOUT"
USER_VARIABLES: Final = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def shorten_busy_wait(environment: MutableMapping[str, str] = os.environ) -> None:
    """Make idle threads sleep soon, unless the user has already set how they wait.

    GOMP_SPINCOUNT is read by GNU's OpenMP, which torch uses on Linux; KMP_BLOCKTIME (milliseconds)
    by LLVM's, which it uses on macOS and Windows; OPENBLAS_THREAD_TIMEOUT (a power of two of clock
    cycles, 26 by default: about 25 ms) by the BLAS in NumPy's wheels. A spinning NumPy thread takes
    the core of a torch thread: with 26, a round of EAGLE-3 on two cores takes four times as long as
    with 4.
    """
    if not any(name in environment for name in USER_VARIABLES):
        environment["GOMP_SPINCOUNT"] = SPIN_COUNT
        environment["KMP_BLOCKTIME"] = "0"
    environment.setdefault(OPENBLAS_TIMEOUT, "4")


def original_environment(environment: MutableMapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment for other programs, without the variables of `shorten_busy_wait`."""
    added = {"GOMP_SPINCOUNT": SPIN_COUNT, "KMP_BLOCKTIME": "0"}
    ours = added.items() <= environment.items() and "OMP_WAIT_POLICY" not in environment
    removed = {**(added if ours else {}), OPENBLAS_TIMEOUT: "4"}
    return {name: value for name, value in environment.items() if removed.get(name) != value}
