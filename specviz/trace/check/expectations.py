"""Functions that raise CheckFailed, with the location and the expected value."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

MIN_MASS = 1e-6  # dividing by a smaller mass would magnify its rounding error
TOLERANCE = 1e-6  # tolerance: probabilities are float32 on MPS; elsewhere they agree to about 1e-12
MAX_SECONDS = 1e9  # longest possible duration: thirty years
# What Python raises if parts of a trace do not fit together. struct.error is raised if a number is
# too large for the key of a random number.
MALFORMED_ERRORS = (
    ArithmeticError,
    LookupError,
    ValueError,
    TypeError,
    RecursionError,
    struct.error,
)


class CheckFailed(ValueError):
    """Raised if a trace contradicts itself; says where, what was found and what was expected."""


@contextmanager
def malformed_fails(where: str) -> Iterator[None]:
    """Convert errors from unequal lengths, missing inputs or impossible numbers to CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except MALFORMED_ERRORS as error:
        raise CheckFailed(f"{where}: its parts do not fit together ({error}).") from error


def expect(holds: bool, where: str, problem: str) -> None:
    """Raise CheckFailed with `problem` unless `holds` is true."""
    if not holds:
        raise CheckFailed(f"{where}: {problem}.")


def expect_equal(found: float, expected: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two floats are exactly equal."""
    expect(found == expected, where, f"{what} is {found!r} but should be {expected!r}")


def expect_close(found: float, expected: float, where: str, what: str) -> None:
    """Raise CheckFailed unless two numbers agree up to rounding."""
    near = math.isfinite(found) and abs(found - expected) <= TOLERANCE
    expect(near, where, f"{what} is {found!r} but should be {expected!r}")


def expect_probabilities(values: Iterable[float], where: str, what: str) -> None:
    """Raise CheckFailed unless every value is between 0 and 1."""
    for value in values:
        fits = 0.0 <= value <= 1.0 + TOLERANCE
        expect(fits, where, f"{what} contains {value!r}, which is not a probability")


def expect_duration(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless `seconds` is a possible duration."""
    expect(0 <= seconds <= MAX_SECONDS, where, f"{what} took {seconds!r} seconds")


def expect_pass_duration(seconds: float, where: str, what: str) -> None:
    """Raise CheckFailed unless `seconds` is a possible duration of a pass, so above 0."""
    expect_duration(seconds, where, what)
    expect(seconds > 0, where, f"{what} has no measured time")
