"""GPUs that are lent for a call at a time: ZeroGPU on Hugging Face Spaces, by its package `spaces`.

A Space of that kind has the package; elsewhere it need not be there, and if it is it changes
nothing. It must be imported before anything asks torch for a device, in the main thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

try:
    import spaces
    from spaces.config import Config
except ImportError:
    spaces = None

LENT: Final[bool] = spaces is not None and Config.zero_gpu
Function = TypeVar("Function", bound=Callable[..., Any])


def lent(duration: Callable[..., float]) -> Callable[[Function], Function]:
    """Has a function computed with a GPU that is lent for the call, in a process of its own.

    Where none is lent, nothing changes. duration: of the call's arguments, the seconds that are
    asked for.
    """
    if not LENT:
        return lambda function: function
    decorator: Callable[[Function], Function] = spaces.GPU(duration=duration)
    return decorator
