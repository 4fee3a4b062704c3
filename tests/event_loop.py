"""Run an async test in an event loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any


def in_event_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Let pytest call an async test as a function."""

    @wraps(test)
    def called(*args: Any, **options: Any) -> None:
        asyncio.run(test(*args, **options))

    return called
