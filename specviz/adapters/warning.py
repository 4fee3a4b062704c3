"""Warnings that an adapter logs: a patch no longer applies, and what the app loses by it."""

from __future__ import annotations

import logging
from functools import cache
from types import TracebackType
from typing import Final

log = logging.getLogger("specviz.adapters")


@cache
def warn_once(sentence: str) -> None:
    """Log a sentence as a warning, the first time it is given in this process."""
    log.warning("%s", sentence)


class Patch:
    """Context of code that may no longer fit its library: any Exception becomes one warning."""

    def __init__(self, loss: str) -> None:
        """loss: a sentence that says what no longer applies, and what the app loses by it."""
        self.loss: Final = loss

    def __enter__(self) -> None:
        """Begin; nothing is prepared."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        """Log `loss` for an Exception and go on behind the block; let all else through."""
        if not isinstance(error, Exception):
            return False
        log.debug("%s", self.loss, exc_info=error)
        warn_once(self.loss)
        return True
