"""Imports torch and transformers, the first and for small models the longest stage of a load."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from specviz.models.load_progress import LIBRARIES, begin, loading
from specviz.models.weight_budget import check_stop

# In this order; between two of them, a load can be stopped.
MODULES: Final = ("torch", "transformers.modeling_utils", "specviz.models.checkpoint")


def start_libraries() -> None:
    """Import what loads models, unless that was done before. Raises Stopped."""
    missing = [name for name in MODULES if name not in sys.modules]
    if not missing:
        return
    with loading(), collection_paused():
        begin(LIBRARIES)
        for name in missing:
            check_stop()
            import_module(name)
        gc.freeze()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Within, Python's garbage collector does not run.

    Imports make about a million objects that stay. The collector visits all of them again and
    again meanwhile, which was a quarter of the time of importing, unless it is told that they stay
    (`gc.freeze`).
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
