"""Timeouts for the Hub, and the reason why a download failed."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, Final

WAIT: Final = 10.0  # seconds without a byte; huggingface_hub itself would wait for ever
CLASSES: Final = re.compile(r"^Got: \w+: (\[Errno -?\d+\] )?")  # how the library begins
CONNECT: Final = 5.0  # seconds for a connection


@cache
def hub_library() -> Any:
    """The HTTP library that huggingface_hub uses, with a timeout on each of its requests."""
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
    """Set the timeouts of a request that has none, and a short one for its connection."""
    limits = request.extensions.get("timeout", {})
    kept = {each: limits.get(each) or WAIT for each in ("read", "write", "pool")}
    kept["connect"] = min(limits.get("connect") or CONNECT, CONNECT)
    request.extensions = {**request.extensions, "timeout": kept}


def is_unreachable(error: Exception) -> bool:
    """Whether there was no connection to the Hub, as far as an error and its causes tell."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionError | hub_library().TransportError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def hub_reason(error: Exception) -> str:
    """Why a download failed, as the end of a sentence. Folders of this machine are not named."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, hub_library().TimeoutException) for cause in causes):
        return f"it said nothing for {WAIT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"there is no place to keep it here ({error.strerror})."
    return CLASSES.sub("", str(error).strip().split("\n")[0])
