"""Why a model did not come from the Hub, in words."""

from __future__ import annotations

from specviz.adapters.hub import TIMEOUT, timeout_errors


def hub_reason(error: Exception) -> str:
    """Why a model did not come, as a sentence ends. Folders of this machine are not named."""
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, timeout_errors()) for cause in causes):
        return f"it said nothing for {TIMEOUT:g} seconds."
    if isinstance(error, OSError) and error.filename is not None:
        return f"there is no place to keep it here ({error.strerror})."
    return str(error).strip().split("\n")[0]
