"""Run functions on a GPU of a ZeroGPU Space, with the package `spaces` of Hugging Face.

A ZeroGPU Space has the package and provides a GPU for one call at a time. Elsewhere the package is
optional and has no effect. It must be imported in the main thread, before torch accesses a device,
so this module imports it at its top.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

from specviz.adapters import warn_once

try:
    import spaces
except ModuleNotFoundError:
    spaces = None
except Exception as error:
    warn_once(f"The package spaces cannot be imported, so no GPU is used: {error!r}")
    spaces = None

# The environment variable that sets `spaces.config.Config.zero_gpu`, and the values that mean true.
VARIABLE: Final = "SPACES_ZERO_GPU"
TRUE: Final = ("1", "t", "true")
Function = TypeVar("Function", bound=Callable[..., Any])


def is_zerogpu() -> bool:
    """Return whether this process runs on a ZeroGPU Space.

    This is read from `spaces.config.Config`, which is not documented. If it no longer exists, the
    environment variable VARIABLE is read instead.
    """
    if spaces is None:
        return False
    try:
        from spaces.config import Config

        return bool(Config.zero_gpu)
    except Exception:
        warn_once(
            "The package spaces no longer has config.Config.zero_gpu: the environment variable "
            f"{VARIABLE} says whether this is a ZeroGPU Space."
        )
        return os.environ.get(VARIABLE, "").lower() in TRUE


ZEROGPU: Final[bool] = is_zerogpu()


def gpu_task(duration: Callable[..., float]) -> Callable[[Function], Function]:
    """Return a decorator that runs a function on a ZeroGPU GPU, in a forked process.

    Outside a ZeroGPU Space, the function is unchanged.

    Args:
        duration: Returns the seconds to request the GPU for, from the arguments of the call.
    """
    if not ZEROGPU:
        return lambda function: function
    decorator: Callable[[Function], Function] = spaces.GPU(duration=duration)
    return decorator
