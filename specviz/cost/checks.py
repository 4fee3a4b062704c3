"""Validate numbers for the formulas, with a readable error."""

from __future__ import annotations

from math import isfinite


def check_probability(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not a probability."""
    if not 0.0 <= value <= 1.0:  # NaN fails too
        raise ValueError(f"{name} must be a probability from 0 to 1, not {value:g}.")
    return value


def check_not_negative(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not finite and at least 0."""
    if not (isfinite(value) and value >= 0.0):
        raise ValueError(f"{name} must be at least 0, not {value:g}.")
    return value


def check_positive(name: str, value: float) -> float:
    """Return `value`, or raise ValueError if it is not finite and above 0."""
    if not (isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be greater than 0, not {value:g}.")
    return value
