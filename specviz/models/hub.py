"""The reason why a download from the Hub failed, in words."""

from __future__ import annotations

import re
from typing import Final

from specviz.adapters.hub import TIMEOUT, connection_errors, timeout_errors

CLASSES: Final = re.compile(r"^Got: \w+: (\[Errno -?\d+\] )?")  # how the library begins


def is_unreachable(error: Exception) -> bool:
    """Whether there was no connection to the Hub, as far as an error and its causes tell."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionError, *connection_errors())):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def hub_reason(error: Exception) -> str:
    """Why a download failed, as the end of a sentence. Folders of this machine are not named."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, timeout_errors()) for cause in causes):
        return f"it said nothing for {TIMEOUT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"there is no place to keep it here ({error.strerror})."
    return CLASSES.sub("", str(error).strip().split("\n")[0])
