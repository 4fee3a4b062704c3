"""specviz: real speculative decoding, one decision at a time.

Public names are imported on first use, so that importing `specviz.trace` does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from specviz.catalog import load, load_drafter, load_target
    from specviz.compare.run import compare
    from specviz.engine.decode import run as decode
    from specviz.settings.settings import Sampling, Settings
    from specviz.trace.chat import Turn
    from specviz.trace.file import Trace

__version__ = "0.16.0"


__all__ = [
    "Sampling",
    "Settings",
    "Trace",
    "Turn",
    "compare",
    "decode",
    "load",
    "load_drafter",
    "load_target",
]


_HOMES = {
    "load": ("specviz.catalog", "load"),
    "load_drafter": ("specviz.catalog", "load_drafter"),
    "load_target": ("specviz.catalog", "load_target"),
    "compare": ("specviz.compare", ""),  # the package itself, which can be called
    "decode": ("specviz.engine", "run"),
    "Sampling": ("specviz.settings", "Sampling"),
    "Settings": ("specviz.settings", "Settings"),
    "Trace": ("specviz.trace", "Trace"),
    "Turn": ("specviz.trace.chat", "Turn"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
