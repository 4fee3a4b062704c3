"""What specviz assumes about `spaces`, the package of ZeroGPU on Hugging Face Spaces.

A ZeroGPU Space lends a GPU for one call at a time, and has the package. Elsewhere it need not be
installed, and changes nothing if it is. It must be imported in the main thread, before torch is
asked for a device, so this module imports it at its top.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

from specviz.adapters.warning import warn_once

try:
    import spaces
except ModuleNotFoundError:
    spaces = None
except Exception as error:
    warn_once(f"The package spaces cannot be imported, so no GPU is borrowed: {error!r}")
    spaces = None

# Where `spaces.config.Config.zero_gpu` comes from, and the values that `spaces` considers true.
VARIABLE: Final = "SPACES_ZERO_GPU"
TRUE: Final = ("1", "t", "true")
Function = TypeVar("Function", bound=Callable[..., Any])


def is_zerogpu() -> bool:
    """Return whether this process runs on a ZeroGPU Space.

    `spaces` decides that in `spaces.config.Config`, which is not documented. If that is gone, the
    environment variable that it reads decides.
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
    """Decorate a function to run on a borrowed GPU, in a process forked for it.

    Outside a ZeroGPU Space, the function is unchanged.

    Args:
        duration: Takes the call's arguments and returns for how many seconds to request the GPU.
    """
    if not ZEROGPU:
        return lambda function: function
    decorator: Callable[[Function], Function] = spaces.GPU(duration=duration)
    return decorator
