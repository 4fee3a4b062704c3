"""Import torch and transformers, the first stage of a load; for small models it is the longest."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Final

from specviz.models.load_progress import LIBRARIES, begin_stage, loading
from specviz.models.weight_budget import check_stop

# Imported in this order. A load can be stopped between two of them.
MODULES: Final = ("torch", "transformers.modeling_utils", "specviz.models.checkpoint")


def start_libraries() -> None:
    """Import everything that is needed to load models. Does nothing the second time.

    Raises:
        Stopped: The load was stopped.
    """
    missing = [name for name in MODULES if name not in sys.modules]
    if not missing:
        return
    with loading(), collection_paused():
        begin_stage(LIBRARIES)
        for name in missing:
            check_stop()
            import_module(name)
        gc.freeze()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause Python's garbage collector.

    Imports create about a million permanent objects. The collector would visit them again and
    again, which takes a quarter of the import time; afterwards `gc.freeze` excludes them.
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
