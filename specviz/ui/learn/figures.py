"""What figures of the article and of lessons begin with, read from a recorded run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypedDict

from specviz.frames.numbers import format_seconds
from specviz.frames.scene import Word
from specviz.ui.learn.values import Run, find_frame

WORDS: Final = 5  # whose bars can be dragged
MOST_GUESSES: Final = 10  # the slider's largest γ


class Bars(TypedDict):
    """The likeliest words of a position, with p and q each rescaled to sum to 1."""

    words: list[Word]
    p: list[float]
    q: list[float]


class PassTime(TypedDict):
    """A measured target pass. words: what its positions read, in order."""

    words: list[Word]
    seconds: float
    text: str


class Weights(TypedDict):
    """A pass over one position and one over several, and the number of weights that each reads."""

    weights: str
    passes: list[PassTime]


class Mask(TypedDict):
    """The words that one pass reads: the last one of the text, and the guesses after it."""

    words: list[Word]


class Gain(TypedDict):
    """A run's acceptance probability, guesses per round, cost of a guess, and speed-up."""

    alpha: float
    gamma: int
    c: float
    most: int
    measured: str


@dataclass(frozen=True, slots=True)
class OwnFigure:
    """A figure that the article's script draws."""

    source: str
    values: Callable[[str, int, str], Mapping[str, Any]]


def bars(trace: str, number: int, step: str) -> Bars:
    """Return the first words of a step's table."""
    rows = find_frame(trace, number, step)["panel"]["table"]["rows"]
    chosen = [row for row in rows if "w" in row][:WORDS]
    p, q = ([row["m"][column] for row in chosen] for column in (0, 1))
    return {"words": [row["w"] for row in chosen], "p": _rescaled(p), "q": _rescaled(q)}


def weights(trace: str, number: int, step: str) -> Weights:
    """Return the median pass of plain decoding, and the pass of a round."""
    run, words = Run(trace), mask(trace, number, step)["words"]
    assert len(words) == run.positions(number)
    return {
        "weights": run.weights,
        "passes": [_pass_time(words[:1], run.pass_seconds), _pass_time(words, run.seconds(number))],
    }


def mask(trace: str, number: int, step: str) -> Mask:
    """Return the words of a round whose guesses are a chain."""
    tree = find_frame(trace, number, step)["tree"]
    nodes = list(tree["nodes"].values())
    assert [node["depth"] for node in nodes] == list(range(1, len(nodes) + 1))
    return {"words": [tree["root"], *(node["w"] for node in nodes)]}


def gain(trace: str) -> Gain:
    """Return what a whole run measured."""
    run = Run(trace)
    alpha, gamma, c = run.rounded_point
    return {"alpha": alpha, "gamma": gamma, "c": c, "most": MOST_GUESSES, "measured": run.speedup}


def _pass_time(words: list[Word], seconds: float) -> PassTime:
    return {"words": words, "seconds": seconds, "text": format_seconds(seconds)}


def _rescaled(values: list[float]) -> list[float]:
    return [value / sum(values) for value in values]


FIGURES: Final[Mapping[str, OwnFigure]] = {
    "weights": OwnFigure("measured in this run", weights),
    "mask": OwnFigure("from this run", mask),
    "bars": OwnFigure("computed here", bars),
    "gain": OwnFigure("computed here", lambda trace, *_: gain(trace)),
}
