"""Run several lanes and plain decoding on one prompt, one after the other, and compare them.

The numbers of a lane are computed from its trace. `domains` compares drafters on all shipped
prompts. The package can be called: `specviz.compare(...)` is `specviz.compare.run.compare`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    # It has the same name as the function `compare`.
    def __call__(self, *args: Any, **named: Any) -> Any:
        return import_module("specviz.compare.run").compare(*args, **named)


sys.modules[__name__].__class__ = _CallablePackage
