"""A question about a server's statistics: pasted texts and the deployment, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from specviz.cost.server.loading import MAX_CHARACTERS
from specviz.cost.server.outlook import LIMITS, Deployment
from specviz.ui.questions import BadRequest

# Two texts as JSON, in which one character may take six.
LONGEST_QUESTION: Final = 4 * MAX_CHARACTERS
NAMES: Final = ("hardware", "model", "dtype", "drafter")
LONGEST_NAME: Final = 1_000  # characters of a server's own name for its model


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """The visitor's pasted text and choices.

    Attributes:
        now: The statistics.
        before: An earlier snapshot; may be empty.
        named: The model, if the server has several.
        site: Where the server runs.
    """

    now: str
    before: str
    named: str | None
    site: Deployment

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest with a sentence."""
        named = _text(data, "named", LONGEST_NAME)
        return cls(
            _text(data, "now", MAX_CHARACTERS),
            _text(data, "before", MAX_CHARACTERS),
            named or None,
            _site(data),
        )


def _site(data: Mapping[str, Any]) -> Deployment:
    names = {name: _text(data, name, 100) for name in NAMES}
    numbers = {name: _whole(data, name) for name in LIMITS}
    for name in ("cards", "context"):
        if numbers[name] is None:
            raise BadRequest(f"{LIMITS[name][0]} must be an integer.", name)
    try:
        return Deployment(**names, **numbers)  # type: ignore[arg-type]
    except ValueError as problem:
        raise BadRequest(str(problem)) from problem


def _text(data: Mapping[str, Any], name: str, longest: int) -> str:
    found = data.get(name, "")
    if not isinstance(found, str):
        raise BadRequest(f"“{name}” must be text.", name)
    if len(found) > longest:
        raise BadRequest(f"This text is longer than {longest:,} characters.", name)
    return found


def _whole(data: Mapping[str, Any], name: str) -> int | None:
    """Parse an integer; None if the box is empty."""
    value = data.get(name)
    if value is None or value == "":
        return None
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or abs(value) > 1e9 or value != int(value):
        raise BadRequest(f"{LIMITS[name][0]} must be an integer.", name)
    return int(value)
