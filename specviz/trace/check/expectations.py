"""What every check asks with: a demand that holds, or a CheckFailed that says where and what."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

MIN_MASS = 1e-6  # a mass whose rounding would be magnified if it were divided by
TOLERANCE = 1e-6  # laws may be float32 (on MPS); on CPU and CUDA the true slack is near 1e-12
MAX_SECONDS = 1e9  # seconds that a clock can have shown: thirty years
# What Python raises where parts of a trace do not fit; struct.error comes of a number too long to
# be the key of a coin.
MALFORMED_ERRORS = (ArithmeticError, LookupError, ValueError, TypeError, RecursionError, struct.error)


class CheckFailed(ValueError):
    """A trace that contradicts itself; says where, and what was found against what follows."""


@contextmanager
def malformed_fails(where: str) -> Iterator[None]:
    """Turn what unlike lengths, missing inputs and absurd numbers raise into CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except MALFORMED_ERRORS as error:
        raise CheckFailed(f"{where}: its parts do not fit together ({error}).") from error


def expect(holds: bool, where: str, problem: str) -> None:
    """Raise CheckFailed unless it holds."""
    if not holds:
        raise CheckFailed(f"{where}: {problem}.")


def expect_equal(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers are the same float."""
    expect(found == follows, where, f"{what} is {found!r}, but {follows!r} follows")


def expect_close(found: float, follows: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers agree up to rounding."""
    near = math.isfinite(found) and abs(found - follows) <= TOLERANCE
    expect(near, where, f"{what} is {found!r}, but {follows!r} follows")


def expect_probabilities(values: Iterable[float], where: str, what: str) -> None:
    """Raise CheckFailed unless every value is a probability: from 0 to 1."""
    for value in values:
        expect(0.0 <= value <= 1.0 + TOLERANCE, where, f"{what} holds {value!r}, no probability")


def expect_duration(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless these are seconds that something can take."""
    expect(0 <= seconds <= MAX_SECONDS, where, f"{what} took {seconds!r} seconds")


def expect_pass_duration(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless these are seconds that a pass can take: more than none."""
    expect_duration(seconds, where, what)
    expect(seconds > 0, where, f"{what} has no measured time")
