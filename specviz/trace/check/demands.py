"""What every check asks with: a demand that holds, or a CheckFailed that says where and what."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

TINY = 1e-6  # a mass whose rounding would be magnified if it were divided by
TOLERANCE = 1e-6  # laws may be float32 (on MPS); on CPU and CUDA the true slack is near 1e-12
LONGEST = 1e9  # seconds that a clock can have shown: thirty years
# What Python raises where parts of a trace do not fit; struct.error comes of a number too long to
# be the key of a coin.
UNFIT = (ArithmeticError, LookupError, ValueError, TypeError, RecursionError, struct.error)


class CheckFailed(ValueError):
    """A trace that contradicts itself; says where, and what was found against what follows."""


@contextmanager
def fitting(where: str) -> Iterator[None]:
    """Turn what unlike lengths, missing inputs and absurd numbers raise into CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except UNFIT as error:
        raise CheckFailed(f"{where}: its parts do not fit together ({error}).") from error


def demand(holds: bool, where: str, problem: str) -> None:
    """Raise CheckFailed unless it holds."""
    if not holds:
        raise CheckFailed(f"{where}: {problem}.")


def same(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers are the same float."""
    demand(found == follows, where, f"{what} is {found!r}, but {follows!r} follows")


def close(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers agree up to rounding."""
    near = math.isfinite(found) and abs(found - follows) <= TOLERANCE
    demand(near, where, f"{what} is {found!r}, but {follows!r} follows")


def chances(values: Iterable[float], where: str, what: str) -> None:
    """Raise CheckFailed unless every value is a probability: from 0 to 1."""
    for value in values:
        demand(0.0 <= value <= 1.0 + TOLERANCE, where, f"{what} holds {value!r}, no probability")


def time(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless these are seconds that something can take."""
    demand(0 <= seconds <= LONGEST, where, f"{what} took {seconds!r} seconds")


def pass_time(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless these are seconds that a pass can take: more than none."""
    time(seconds, where, what)
    demand(seconds > 0, where, f"{what} has no measured time")
