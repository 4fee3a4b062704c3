"""A race as validated data: one prompt, two to four lanes, and the order in which they run.

For a fair comparison, sampling, seed, length and coins are the same in every lane; drafter, rule
and shape of the draft may differ. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from specviz.settings.chance import random_u
from specviz.settings.settings import Sampling, Settings, require

PLAIN: Final = "plain"  # name of the lane without a drafter, which every race has
MIN_LANES: Final = 2
MAX_LANES: Final = 4
MAX_NAME_LENGTH: Final = 120
SHARED_SETTINGS: Final = {  # by field of Settings, its name in an error
    "sampling": "temperature, top-k and top-p",
    "seed": "seed",
    "max_new_tokens": "number of new tokens",
    "chat": "prompt format",
    "system": "system text",
    "coins": "coins set by hand",
}


@dataclass(frozen=True, slots=True)
class Lane:
    """One way of drafting.

    Attributes:
        name: Unique in the race.
        drafter: As accepted by `catalog.load_drafter`.
        settings: All settings of its run.
    """

    name: str
    drafter: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Race:
    """Lanes on one prompt; plain decoding is always added as one more lane.

    Attributes:
        prompt: The prompt.
        target: The target, as accepted by `catalog.load_target`.
        lanes: The lanes with a drafter.
        order_seed: Determines the order in which the lanes run.

    Raises:
        BadSettings: With a sentence, if the lanes cannot be compared.
    """

    prompt: str
    target: str
    lanes: tuple[Lane, ...]
    order_seed: int

    def __post_init__(self) -> None:
        lanes = len(self.lanes)
        fits = MIN_LANES <= lanes <= MAX_LANES
        needs = f"{MIN_LANES} to {MAX_LANES} lanes besides plain decoding"
        require(fits, f"A race has {needs}, not {lanes}.")
        require(-(2**63) <= self.order_seed < 2**63, "The order seed must fit in 64 bits.")
        for lane in self.lanes:
            short = 0 < len(lane.name) <= MAX_NAME_LENGTH
            require(short, f"A lane's name has 1 to {MAX_NAME_LENGTH} characters.")
            unique = lane.name != PLAIN and sum(lane.name == o.name for o in self.lanes) == 1
            require(unique, f"Two lanes are called {lane.name!r}.")
            self._check_shared(lane)

    def _check_shared(self, lane: Lane) -> None:
        """Raise BadSettings if a lane differs from the first where all must be the same."""
        first = self.lanes[0]
        for name, called in SHARED_SETTINGS.items():
            same = getattr(lane.settings, name) == getattr(first.settings, name)
            sentence = (
                f"All lanes of a race must have the same {called}; "
                f"those of {first.name!r} and {lane.name!r} differ."
            )
            require(same, sentence)

    @property
    def shared(self) -> Settings:
        """The settings that all lanes share, with defaults for the rest: plain decoding's."""
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
        """How every lane turns logits into a distribution."""
        return self.lanes[0].settings.sampling

    @property
    def order(self) -> tuple[str, ...]:
        """The names of all lanes, including plain decoding, shuffled by `order_seed`.

        Sorted by one random number each, so the order is the same in every version of Python.
        """
        names = [*(lane.name for lane in self.lanes), PLAIN]
        order = sorted(range(len(names)), key=lambda i: random_u(self.order_seed, i, "lane", 0))
        return tuple(names[index] for index in order)


def unique_names(names: Iterable[str]) -> list[str]:
    """Number names that came before.

    >>> unique_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    found: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in (*found, PLAIN):
            number += 1
            unique = f"{name} ({number})"
        found.append(unique)
    return found
