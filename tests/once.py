"""Share slow results, such as trained heads, between all tests and workers of one run.

The first caller computes a result; later ones read it from a file in a folder of this run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

SHARED: list[Path] = []  # the folder of this run; None outside pytest, where nothing is shared


def share(factory: pytest.TempPathFactory) -> None:
    """Store shared results in a folder that all workers of this run have in common."""
    own = factory.getbasetemp()
    SHARED[:] = [own.parent if "PYTEST_XDIST_WORKER" in os.environ else own]


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """Cache a function's results across workers; arguments and results must be picklable.

    Functions can train models even if the first call is within a test's inference mode.
    """

    @cache
    @wraps(make)
    @torch.inference_mode(False)
    def found(*given: Any, **named: Any) -> Any:
        if not SHARED:
            return make(*given, **named)
        asked = sha256(pickle.dumps((given, named))).hexdigest()[:16]
        path = SHARED[0] / f"{make.__module__}.{make.__name__}-{asked}.pt"
        with FileLock(path.with_suffix(".lock")):
            if not path.exists():
                part = path.with_suffix(".part")
                torch.save(make(*given, **named), part)
                part.rename(path)
            return torch.load(path, weights_only=False)  # written by this run

    return found
