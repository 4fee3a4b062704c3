"""How long the Hub is waited for, and what to say where it gives nothing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

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


def hub_reason(error: Exception) -> str:
    """Why a model did not come, as a sentence ends. Folders of this machine are not named."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, hub_library().TimeoutException) for cause in causes):
        return f"it said nothing for {WAIT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"there is no place to keep it here ({error.strerror})."
    return str(error).strip().split("\n")[0]
