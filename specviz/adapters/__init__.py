"""Uses of undocumented behaviour of libraries, one module per library.

If an adapter no longer fits its library, it logs a warning with the effect on the app.
"""

from __future__ import annotations

import logging
from functools import cache
from types import TracebackType
from typing import Final

log = logging.getLogger("specviz.adapters")


@cache
def warn_once(sentence: str) -> None:
    """Log a sentence as a warning, once per process."""
    log.warning("%s", sentence)


class Patch:
    """Context manager for code that may no longer fit its library; it logs each failure once."""

    def __init__(self, loss: str) -> None:
        """Set `loss`, a sentence that says what has changed and what the app loses."""
        self.loss: Final = loss

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Log `loss` for an Exception, and suppress it; let other exceptions propagate."""
        if not isinstance(error, Exception):
            return False
        log.debug("%s", self.loss, exc_info=error)
        warn_once(self.loss)
        return True
