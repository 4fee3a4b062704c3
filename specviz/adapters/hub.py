"""What specviz assumes about huggingface_hub beyond its documented API.

Every function here works on a huggingface_hub that has changed: downloads then go on without a
timeout or without progress, and the log says so once. The library is imported inside the functions,
since a machine that only lists models need not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from io import StringIO
from typing import Any, Final

from specviz.adapters.warning import Patch, warn_once

TIMEOUT: Final = 10.0  # seconds without a byte; huggingface_hub itself would wait for ever
CONNECT_TIMEOUT: Final = 5.0  # seconds for a connection


# The HTTP client.
#
# huggingface_hub leaves most of its requests without a timeout, and has no setting for one. Its
# shared client is public (`get_session`); that it belongs to a library with httpx's interface
# (httpx, then httpx2), with request hooks that can set a timeout, is not promised. Without them a
# silent Hub is waited for without end, and its errors keep the library's own words.
def limit_silence() -> None:
    """Give every request of huggingface_hub's shared client a timeout of TIMEOUT seconds."""
    with Patch(
        "huggingface_hub's HTTP client no longer has request hooks: a download from a Hub that "
        "stays silent waits without end."
    ):
        from huggingface_hub import get_session

        client: Any = get_session()
        hooks = client.event_hooks
        if _set_timeout not in hooks["request"]:
            client.event_hooks = {**hooks, "request": [*hooks["request"], _set_timeout]}


def _set_timeout(request: Any) -> None:
    """Request hook: bound the phases of a request, the connection to CONNECT_TIMEOUT at most."""
    with Patch(
        "A request of huggingface_hub's HTTP client no longer has timeouts: a download from a Hub "
        "that stays silent waits without end."
    ):
        limits = request.extensions.get("timeout", {})
        bounded = {phase: limits.get(phase) or TIMEOUT for phase in ("read", "write", "pool")}
        bounded["connect"] = min(limits.get("connect") or CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        request.extensions = {**request.extensions, "timeout": bounded}


@cache
def http_errors() -> tuple[type[Exception], ...]:
    """Exceptions of the HTTP library under huggingface_hub: of every failed request."""
    return _errors("HTTPError")


@cache
def timeout_errors() -> tuple[type[Exception], ...]:
    """Exceptions of the HTTP library under huggingface_hub: of requests that timed out."""
    return _errors("TimeoutException")


@cache
def connection_errors() -> tuple[type[Exception], ...]:
    """Exceptions of the HTTP library under huggingface_hub: of requests that got no answer."""
    return _errors("TransportError")


def _errors(name: str) -> tuple[type[Exception], ...]:
    """The exception called `name` of the library that huggingface_hub's client belongs to."""
    with Patch(
        f"The HTTP library under huggingface_hub has no {name}: a failed download may end in an "
        "error that is not explained."
    ):
        from huggingface_hub import get_session

        library = import_module(type(get_session()).__module__.partition(".")[0])
        return (getattr(library, name),)
    return ()


# Progress.
#
# That `snapshot_download` takes a class of progress bars is documented; that those which count
# bytes have the unit "B", and that an exception raised in `update` ends the download, is not. If
# the unit changes, no progress is shown; if such exceptions are swallowed, a download cannot be
# cancelled between two files.
def progress_bar(
    report: Callable[[int, int], object], check: Callable[[], object]
) -> type[Any] | None:
    """A tqdm subclass that draws nothing: it reports bytes, and can cancel the download.

    report: takes the bytes so far and in all. check: called before each update; what it raises
    ends the download. None where there is no tqdm, after a warning.
    """
    try:
        from tqdm.auto import tqdm
    except ImportError:
        warn_once("tqdm is missing: downloads show no progress and cannot be cancelled.")
        return None

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options | {"file": StringIO(), "disable": False})

        def display(self, *_: object, **__: object) -> None:
            """Draw nothing."""

        def update(self, n: float | None = 1) -> bool | None:
            """Count n more."""
            check()
            moved: bool | None = super().update(n)
            if getattr(self, "unit", None) == "B":
                report(int(self.n), int(self.total or 0))
            return moved

    return Bar
