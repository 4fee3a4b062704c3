"""Imports torch and transformers, the first and for small models the longest stage of a load."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from specviz.models.load_progress import LIBRARIES, begin
from specviz.models.weight_budget import check_stop

# In this order; between two of them, a load can be stopped.
MODULES: Final = ("torch", "transformers.modeling_utils", "specviz.models.checkpoint")


def start_libraries() -> None:
    """Import what loads models, unless that was done before. Raises Stopped."""
    missing = [name for name in MODULES if name not in sys.modules]
    if missing:
        begin(LIBRARIES)
    with collection_paused():
        for name in missing:
            import_module(name)
            check_stop()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Within, Python looks for no unreachable cycles.

    Imports make hundreds of thousands of objects that stay. Looking through all of them again and
    again took a quarter of the time of importing.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
