"""How the threads that compute wait for each other. Must be told before torch is brought in.

By themselves OpenMP's threads wait actively for about a millisecond, which is many times a small
operation. Beside any other busy process, one of two is then often not running, while the other
burns the core that it would need: a pass of the house model takes ten times as long. Waiting a
short while and then asleep costs an idle machine little (tests/load/waiting.py measures both).
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Final

SPIN_COUNT: Final = (
    "10000"  # rounds of an empty loop: some microseconds, the gap between two operations
)
OPENBLAS_TIMEOUT: Final = "OPENBLAS_THREAD_TIMEOUT"
USER_VARIABLES: Final = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def shorten_busy_wait(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have them sleep soon, unless whoever started this process has said how they wait.

    GOMP_SPINCOUNT is read by GNU's OpenMP, which torch has on Linux; KMP_BLOCKTIME (milliseconds)
    by LLVM's, which it has on macOS and Windows; OPENBLAS_THREAD_TIMEOUT (a power of two of clock
    cycles, 26 by default: some 25 ms) by the BLAS of NumPy's wheels. A thread of NumPy's that waits
    actively takes the core of a thread of torch's: with 26, a round of EAGLE-3 on two cores takes
    four times as long as with 4.
    """
    if not any(name in environment for name in USER_VARIABLES):
        environment["GOMP_SPINCOUNT"] = SPIN_COUNT
        environment["KMP_BLOCKTIME"] = "0"
    environment.setdefault(OPENBLAS_TIMEOUT, "4")


def original_environment(environment: MutableMapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without what `shorten_busy_wait` added, for programs that decode their own way."""
    added = {"GOMP_SPINCOUNT": SPIN_COUNT, "KMP_BLOCKTIME": "0"}
    ours = added.items() <= environment.items() and "OMP_WAIT_POLICY" not in environment
    gone = {**(added if ours else {}), OPENBLAS_TIMEOUT: "4"}
    return {name: value for name, value in environment.items() if gone.get(name) != value}
