"""Gradio, imported without writing its type stubs anew.

At every import it parses each component's source and looks whether the stub beside it, which only
editors read, still says the same: half of the time that the import takes, in a folder that need not
be the user's to write. Where it does so no longer, or was imported before, nothing is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final

WRITER: Final = "gradio.component_meta"
WRITE: Final = "create_or_modify_pyi"


class Unwritten(MetaPathFinder):
    """Finds the one module that writes stubs, once, and takes its function's place."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if name != WRITER:
            return None
        sys.meta_path.remove(self)
        found = PathFinder.find_spec(name, path, target)
        loader: Any = found.loader if found else None
        if loader is not None:
            run = loader.exec_module

            def without(module: ModuleType) -> None:
                run(module)
                if hasattr(module, WRITE):
                    setattr(module, WRITE, lambda *_: None)

            loader.exec_module = without
        return found


def leave_unwritten() -> None:
    """To be called before Gradio is imported."""
    sys.meta_path.insert(0, Unwritten())
