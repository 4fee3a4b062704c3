"""A question about the speed-up formula: the page's JSON, validated, with readable errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from math import isfinite
from typing import Any, Final, Self

from specviz.cost.formula import MeasuredPoint, SpeedupModel
from specviz.ui.questions import BadRequest

LONGEST_LIST: Final = 100
MOST_GUESSES: Final = 64
MOST_PLACES: Final = 8
DEEPEST: Final = 12
MAPS: Final = ("gamma", "c")
PARTS: Final = ("formula", "trees")  # of the page
LIMITS: Final[Mapping[str, tuple[str, float, float]]] = {  # name in errors, minimum, maximum
    "alpha": ("α", 0.0, 1.0),
    "gamma": ("γ", 0.0, 64.0),
    "c": ("c", 0.0, 10.0),
    "verify": ("The verification pass", 0.1, 20.0),
    "c_hat": ("ĉ", 0.0, 10.0),
}


@dataclass(frozen=True, slots=True)
class LawQuestion:
    """Slider values, the chosen map, a tree as typed, the run shown beside the formula, and the
    parts of the page that are open.
    """

    terms: SpeedupModel
    gamma: float
    map: str
    widths: str
    places: str
    run: MeasuredPoint | None
    parts: tuple[str, ...] = PARTS

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest with a sentence."""
        if data.get("map") not in MAPS:
            raise BadRequest(f"The map must be one of {', '.join(MAPS)}.")
        found = {name: _number(data.get(name), name) for name in LIMITS}
        gamma = found.pop("gamma")
        return cls(
            terms=SpeedupModel(**found),
            gamma=gamma,
            map=data["map"],
            widths=str(data.get("widths")),
            places=str(data.get("places")),
            run=_run(data.get("run")),
            parts=_open_parts(data.get("parts", PARTS)),
        )


def widths(text: str) -> list[int]:
    """Parse the children of a node at each depth, typed like "3, 2, 1". Raises BadRequest."""
    found = [int(_typed(part, "widths", whole=True)) for part in _parts(text, "widths", DEEPEST)]
    guesses, level = 0, 1
    for width in found:
        level *= width
        guesses += level
        if guesses > MOST_GUESSES:
            raise BadRequest(f"This tree has more than {MOST_GUESSES} draft tokens.", "widths")
    if not all(width >= 1 for width in found):
        raise BadRequest("Each level needs at least 1 child, as in 3, 2, 1, 1.", "widths")
    return found


def places(text: str) -> list[float]:
    """Parse acceptance by sibling rank, typed like "0.65, 0.11". Raises BadRequest."""
    found = [_typed(part, "places") for part in _parts(text, "places", MOST_PLACES)]
    if not all(0.0 <= chance <= 1.0 for chance in found):
        raise BadRequest(
            "Acceptance probabilities lie between 0 and 1, as in 0.65, 0.11.", "places"
        )
    if any(after > before for before, after in pairwise(found)):
        raise BadRequest(
            "A later sibling cannot have a higher probability than an earlier one.", "places"
        )
    if sum(found) > 1.0 + 1e-9:
        said = f"Only one sibling can be accepted, but these probabilities sum to {sum(found):.4g}."
        raise BadRequest(said, "places")
    return found


def _finite(value: Any, called: str, field: str = "") -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or abs(value) > 1e15 or not isfinite(value):
        raise BadRequest(f"{called} must be a number.", field)
    return float(value)


def _number(value: Any, name: str) -> float:
    called, least, most = LIMITS[name]
    found = _finite(value, called, name)
    if not least <= found <= most:
        raise BadRequest(f"{called} must be between {least:g} and {most:g}.", name)
    return found


def _open_parts(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list | tuple) or not all(part in PARTS for part in data):
        raise BadRequest(f"The parts must be among {', '.join(PARTS)}.")
    return tuple(data)


def _run(data: Any) -> MeasuredPoint | None:
    """Parse a measured point; further keys are ignored."""
    if data is None:
        return None
    if not isinstance(data, dict):
        raise BadRequest("A measured run must be a JSON object.")
    names = [field.name for field in fields(MeasuredPoint)]
    found = {name: _finite(data.get(name), f"A run's {name}") for name in names}
    costs = [found[name] for name in names if name != "alpha"]
    if not 0.0 <= found["alpha"] <= 1.0 or min(costs) < 0.0 or max(costs) > 1e6:
        raise BadRequest("This measured run has impossible numbers.")
    if min(found["verify"], found["gamma"], found["tokens"], found["speedup"]) <= 0.0:
        raise BadRequest("This measured run has impossible numbers.")
    return MeasuredPoint(**found)


def _parts(text: str, field: str, most: int) -> list[str]:
    if len(text) > LONGEST_LIST:
        raise BadRequest(f"The list is longer than {LONGEST_LIST} characters.", field)
    found = text.replace(",", " ").split()
    if not 1 <= len(found) <= most:
        raise BadRequest(f"Type 1 to {most} numbers, separated by commas.", field)
    return found


def _typed(part: str, field: str, whole: bool = False) -> float:
    kind = "an integer" if whole else "a number"
    try:
        found = float(int(part)) if whole else float(part)
    except (ValueError, OverflowError) as problem:
        raise BadRequest(f"“{part[:20]}” is not {kind}.", field) from problem
    if not isfinite(found):
        raise BadRequest(f"“{part[:20]}” is not {kind}.", field)
    return found
