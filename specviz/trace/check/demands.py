"""What every check asks with: a demand that holds, or a CheckFailed that says where and what."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

TINY = 1e-6  # a mass whose rounding would be magnified if it were divided by
TOLERANCE = 1e-6  # laws may be float32 (on MPS); on CPU and CUDA the true slack is near 1e-12


class CheckFailed(ValueError):
    """A trace that contradicts itself; says where, and what was found against what follows."""


@contextmanager
def fitting(where: str) -> Iterator[None]:
    """Turn what unlike lengths, missing inputs and absurd numbers raise into CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except (ArithmeticError, LookupError, ValueError) as error:
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
    demand(math.isfinite(seconds) and seconds >= 0, where, f"{what} took {seconds!r} seconds")


def pass_time(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless these are seconds that a pass can take: more than none."""
    time(seconds, where, what)
    demand(seconds > 0, where, f"{what} has no measured time")
