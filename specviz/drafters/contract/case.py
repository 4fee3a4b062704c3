"""What is on trial: a drafter, a target for it, and what they are tried with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Final

from specviz.engine.protocol import Drafter
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings

GREEDY: Final = Sampling(0.0)
WARM: Final = Sampling(1.3, top_k=4, top_p=0.97)
NEW: Final = 16  # tokens of a usual run: some rounds, and room at its end for the shortest drafts


class ContractBroken(AssertionError):
    """A drafter broke a law of the contract; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Case:
    """A drafter on trial.

    target: gives the target; laws copy it where they change how its texts end. drafter: makes
    the drafter for it. prompts: two or more, on which it guesses two tokens deep at times.
    shapes: settings to try it with; laws lay temperature, seed and limit themselves.
    sampling: how warm runs draw; few tokens must carry most of the law, or no statistics will
    tell. remembers: its guesses depend on rounds gone by and not on the text alone (a pool of
    n-grams). runs: how many the G-test counts.
    """

    target: Callable[[], Target]
    drafter: Callable[[Target], Drafter]
    prompts: Sequence[str]
    shapes: Sequence[Settings] = (Settings(gamma=4),)
    sampling: Sampling = WARM
    remembers: bool = False
    runs: int = 300

    def settings(self, new: int = NEW) -> Iterator[Settings]:
        """Every shape at temperature 0, then warm, for so many new tokens."""
        for sampling in (GREEDY, self.sampling):
            for shape in self.shapes:
                yield replace(shape, sampling=sampling, max_new_tokens=new)

    def ending(self, *ends: int) -> Target:
        """The target, but its texts end with one of these tokens only."""
        target = copy(self.target())
        target.eos = ends
        return target


def demand(holds: bool, sentence: str) -> None:
    """Raise ContractBroken with the sentence unless it holds."""
    if not holds:
        raise ContractBroken(sentence)
