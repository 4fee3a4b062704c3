"""How long the Hub is waited for, and what to say where it gives nothing."""

from __future__ import annotations

from errno import EDQUOT, ENOSPC
from functools import cache
from importlib import import_module
from typing import Any, Final

FULL: Final = (ENOSPC, EDQUOT)  # no space on the disk; none of a user's share of it
LONGEST_CHAIN: Final = 10  # exceptions, each the cause of the one before
WAIT: Final = 10.0  # seconds without a byte; huggingface_hub itself would wait for ever


@cache
def hub_library() -> Any:
    """The HTTP library under huggingface_hub, once it is told to give a silent Hub up."""
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    def client() -> Any:
        made = _http.default_client_factory()
        made.event_hooks = {**made.event_hooks, "request": [*made.event_hooks["request"], patient]}
        return made

    set_client_factory(client)
    made = client()
    made.close()
    return import_module(type(made).__module__.partition(".")[0])


def patient(request: Any) -> None:
    """Bound a request that its sender would leave unbounded."""
    limits = request.extensions.get("timeout", {})
    kept = {each: limits.get(each) or WAIT for each in ("connect", "read", "write", "pool")}
    request.extensions = {**request.extensions, "timeout": kept}


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
    """Why a model did not come, as a sentence ends. Folders of this machine are not named."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, hub_library().TimeoutException) for cause in causes):
        return f"it said nothing for {WAIT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"there is no place to keep it here ({error.strerror})."
    return str(error).strip().split("\n")[0]
