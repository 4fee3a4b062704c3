"""A sample tab from outside the package: expected tokens of a pass for α and γ.

This folder, a row of `specviz/ui/tabs.py` and one of `specviz/ui/page.ts` are the complete tab.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from specviz.cost.formula import expected_tokens
from specviz.ui.component import TabContext, component
from specviz.ui.questions import BadRequest


class Config(TypedDict):
    """The initial values of the section."""

    alpha: float
    gamma: int


class Answer(TypedDict):
    """The answer to one request. tokens: expected tokens by draft length, from 1 to γ."""

    sentence: str
    tokens: list[float]


def build(place: TabContext) -> None:
    """Build the section, and answer its questions."""
    config: Config = {"alpha": 0.7, "gamma": 4}
    component("sv-sample", "sample/sample", config)
    place.questions.add("sample", answer)


def answer(data: Mapping[str, Any]) -> Answer:
    """Return the expected tokens by draft length. Raises BadRequest with a sentence."""
    alpha, gamma = data.get("alpha"), data.get("gamma")
    if not isinstance(alpha, int | float) or not 0 <= alpha <= 1:
        raise BadRequest("α must be between 0 and 1.", "alpha")
    if not isinstance(gamma, int) or not 1 <= gamma <= 16:
        raise BadRequest("γ must be between 1 and 16.", "gamma")
    tokens = [expected_tokens(alpha, length) for length in range(1, gamma + 1)]
    return {"sentence": f"A pass yields {tokens[-1]:.2f} tokens.", "tokens": tokens}
