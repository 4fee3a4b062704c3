"""The reason why a download from the Hub failed, in words."""

from __future__ import annotations

import re
from errno import EDQUOT, ENOSPC
from typing import Final

from specviz.adapters.hub import TIMEOUT, connection_errors, timeout_errors

CLASSES: Final = re.compile(r"^Got: \w+: (\[Errno -?\d+\] )?")  # how the library begins
FULL: Final = (ENOSPC, EDQUOT)  # no space on the disk; none of a user's share of it
LONGEST_CHAIN: Final = 10  # exceptions, each the cause of the one before


def is_unreachable(error: Exception) -> bool:
    """Whether there was no connection to the Hub, as far as an error and its causes tell."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionError, *connection_errors())):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def is_disk_full(error: BaseException) -> bool:
    """Whether a download failed because the disk has no space left.

    The Hub's faster downloader, hf_xet, says it only in the text of a RuntimeError.
    """
    cause: BaseException | None = error
    for _ in range(LONGEST_CHAIN):
        if cause is None:
            return False
        if isinstance(cause, OSError) and cause.errno in FULL:
            return True
        if isinstance(cause, OSError | RuntimeError) and "no space left on" in str(cause).lower():
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
