"""Refuses numbers that a formula cannot take, each with a sentence. Standard library only."""

from __future__ import annotations

from math import isfinite


def check_probability(name: str, value: float) -> float:
    """`value`, where it is a probability."""
    if not 0.0 <= value <= 1.0:  # NaN fails too
        raise ValueError(f"{name} must be a chance from 0 to 1, and {value:g} is not.")
    return value


def check_not_negative(name: str, value: float) -> float:
    """`value`, where it is finite and 0 or more."""
    if not (isfinite(value) and value >= 0.0):
        raise ValueError(f"{name} must be 0 or more, and {value:g} is not.")
    return value


def check_positive(name: str, value: float) -> float:
    """`value`, where it is finite and above 0."""
    if not (isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be more than 0, and {value:g} is not.")
    return value
