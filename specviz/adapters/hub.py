"""Uses of undocumented behaviour of huggingface_hub.

If huggingface_hub changes, the functions still run, but downloads have no timeout or no progress,
which is logged once. The library is imported inside the functions, because listing models does not
need it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from io import StringIO
from typing import Any, Final

from specviz.adapters import Patch, warn_once

TIMEOUT: Final = 10.0  # seconds without a byte; by default huggingface_hub waits forever
CONNECT_TIMEOUT: Final = 5.0  # seconds for a connection


# The HTTP client.
#
# Most requests of huggingface_hub have no timeout, and there is no setting for one. Its shared
# client is public (`get_session`). It is not documented that the client belongs to a library with
# httpx's interface (httpx, then httpx2), whose request hooks can set a timeout. Without them, a
# download never ends if the Hub does not respond, and errors are shown in the library's words.
def limit_silence() -> None:
    """Give every request of huggingface_hub's shared client a timeout of TIMEOUT seconds."""
    with Patch(
        "huggingface_hub's HTTP client no longer has request hooks: a download never ends if "
        "the Hub does not respond."
    ):
        from huggingface_hub import get_session

        client: Any = get_session()
        hooks = client.event_hooks
        if _set_timeout not in hooks["request"]:
            client.event_hooks = {**hooks, "request": [*hooks["request"], _set_timeout]}


def _set_timeout(request: Any) -> None:
    """Set a request's timeouts: TIMEOUT for each phase, CONNECT_TIMEOUT for connecting."""
    with Patch(
        "A request of huggingface_hub's HTTP client no longer has timeouts: a download never "
        "ends if the Hub does not respond."
    ):
        limits = request.extensions.get("timeout", {})
        bounded = {phase: limits.get(phase) or TIMEOUT for phase in ("read", "write", "pool")}
        bounded["connect"] = min(limits.get("connect") or CONNECT_TIMEOUT, CONNECT_TIMEOUT)
        request.extensions = {**request.extensions, "timeout": bounded}


@cache
def http_errors() -> tuple[type[Exception], ...]:
    """Return the HTTP library's exceptions for failed requests."""
    return _errors("HTTPError")


@cache
def timeout_errors() -> tuple[type[Exception], ...]:
    """Return the HTTP library's exceptions for requests that timed out."""
    return _errors("TimeoutException")


@cache
def connection_errors() -> tuple[type[Exception], ...]:
    """Return the HTTP library's exceptions for requests without a response."""
    return _errors("TransportError")


def _errors(name: str) -> tuple[type[Exception], ...]:
    """Return the exception `name` of the library that provides huggingface_hub's client."""
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
# It is documented that `snapshot_download` accepts a progress bar class. It is not documented that
# bars of bytes have the unit "B", or that an exception raised in `update` ends the download. If the
# unit changes, no progress is shown. If such exceptions are ignored, a download can be cancelled
# only between two files.
def progress_bar(
    report: Callable[[int, int], object], check: Callable[[], object]
) -> type[Any] | None:
    """Return a tqdm subclass that reports bytes to a listener and can be cancelled.

    The bar is not printed. If tqdm is missing, the result is None and a warning is logged.

    Args:
        report: Receives the bytes so far and the total.
        check: Called before each update; if it raises an exception, the download ends.
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
            """Print nothing."""

        def update(self, n: float | None = 1) -> bool | None:
            """Add n to the count."""
            check()
            moved: bool | None = super().update(n)
            if getattr(self, "unit", None) == "B":
                report(int(self.n), int(self.total or 0))
            return moved

    return Bar
