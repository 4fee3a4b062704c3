"""A race as data: one prompt, two to four lanes, and the order in which they run. Checked here.

Rule: what must be the same for a fair comparison (sampling, seed, length, coins) is the same in
every lane; drafter, rule and shape of the draft are each lane's own. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from specviz.settings.chance import random_u
from specviz.settings.settings import Sampling, Settings, require

PLAIN: Final = "plain"  # the name of the lane without a drafter, which every race has
FEWEST: Final = 2
MOST: Final = 4
LONGEST_NAME: Final = 120
SHARED: Final = {  # by field of Settings, what it is called
    "sampling": "temperature, top-k and top-p",
    "seed": "seed",
    "max_new_tokens": "number of new tokens",
    "chat": "form of the prompt",
    "system": "system text",
    "coins": "coins laid by hand",
}


@dataclass(frozen=True, slots=True)
class Lane:
    """One way of drafting. name: its own in the race. drafter: as `catalog.load_drafter` takes."""

    name: str
    drafter: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Race:
    """Lanes on one prompt; plain decoding is always one more. Raises BadSettings with a sentence.

    order_seed: fixes the order in which the lanes run.
    """

    prompt: str
    target: str
    lanes: tuple[Lane, ...]
    order_seed: int

    def __post_init__(self) -> None:
        many = len(self.lanes)
        fits = FEWEST <= many <= MOST
        require(fits, f"A race has {FEWEST} to {MOST} lanes beside plain decoding, not {many}.")
        require(-(2**63) <= self.order_seed < 2**63, "The seed of the order must fit in 64 bits.")
        for lane in self.lanes:
            short = 0 < len(lane.name) <= LONGEST_NAME
            require(short, f"A lane's name has 1 to {LONGEST_NAME} characters.")
            free = lane.name != PLAIN and sum(lane.name == o.name for o in self.lanes) == 1
            require(free, f"Two lanes are called {lane.name!r}.")
            self._check_alike(lane)

    def _check_alike(self, lane: Lane) -> None:
        """Raise BadSettings where a lane differs from the first in what all must share."""
        first = self.lanes[0]
        for name, called in SHARED.items():
            alike = getattr(lane.settings, name) == getattr(first.settings, name)
            sentence = (
                f"All lanes of a race have the same {called}; "
                f"{first.name!r} and {lane.name!r} have not."
            )
            require(alike, sentence)

    @property
    def shared(self) -> Settings:
        """What all lanes share, the rest as usual: plain decoding's settings."""
        one = self.lanes[0].settings
        return Settings(
            sampling=one.sampling,
            seed=one.seed,
            max_new_tokens=one.max_new_tokens,
            chat=one.chat,
            system=one.system,
            coins=one.coins,
        )

    @property
    def sampling(self) -> Sampling:
        """How every lane makes a law of logits."""
        return self.lanes[0].settings.sampling

    @property
    def order(self) -> tuple[str, ...]:
        """The names of all lanes, plain decoding among them, as `order_seed` shuffles them.

        Sorted by one coin each, so it is the same in every version of Python.
        """
        names = [*(lane.name for lane in self.lanes), PLAIN]
        places = sorted(range(len(names)), key=lambda i: random_u(self.order_seed, i, "lane", 0))
        return tuple(names[place] for place in places)


def distinct(names: Iterable[str]) -> list[str]:
    """The same names, those that came before numbered: a, b, a as a, b, a (2)."""
    found: list[str] = []
    for name in names:
        number, free = 1, name
        while free in (*found, PLAIN):
            number += 1
            free = f"{name} ({number})"
        found.append(free)
    return found
