"""What a visitor asks for in the form of the race, as data, turned into a race.

Rule: a lane is a drafter and settings in the words of the command line; what all lanes share stands
beside them.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple, Self

from specviz.catalog.entry import settings_read_by, title_of, with_defaults
from specviz.compare.lane_parser import LaneRequest, parse_lane
from specviz.compare.race import LONGEST_NAME, MOST, Lane, Race, distinct
from specviz.models.files import public_name
from specviz.settings.settings import BadSettings, Sampling, Settings, require
from specviz.settings.specs import READ_BY_ALL, find_spec
from specviz.settings.summary import summarize_draft as brief_shape
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.choices import read, read_turns

LONGEST_SETTINGS: Final = 1000  # characters of one lane's settings
SHARED: Final = (
    "sampling",
    "seed",
    "max_new_tokens",
    "chat",
    "system",
    "coins",
)  # never a lane's own
QUIET: Final = ("candidates", "schedule", *READ_BY_ALL)  # said only where they are not as usual


class LaneAsked(NamedTuple):
    """A lane of the form. settings: as typed, such as "gamma=8 siblings=2,2"."""

    drafter: str
    settings: str


@dataclass(frozen=True, slots=True)
class RaceRequest:
    """One filled-in form. target: a name of the catalogue, a folder or a Hub id.

    lanes: those that are there, in order, with the numbers people see, from 1. chat, system: how
    the target is given the prompt, as Step's fields have it.
    """

    prompt: str
    target: Any
    temperature: Any
    top_k: Any
    top_p: Any
    seed: Any
    new_tokens: Any
    lanes: tuple[LaneAsked, ...]
    chat: Any = "auto"
    system: Any = ""

    @classmethod
    def from_form(cls, *values: Any) -> Self:
        """The form's values in the order of its inputs: what all lanes share, then lane by lane."""
        prompt, target, temperature, top_k, top_p, seed, new_tokens, chat, system, *typed = values
        pairs = zip(typed[::2], typed[1::2], strict=True)
        lanes = [LaneAsked(str(name).strip(), str(text or "")) for name, text in pairs if name]
        law = temperature, top_k, top_p
        return cls(prompt, target, *law, seed, new_tokens, tuple(lanes), chat, system)

    def race(self, any_model: bool = False) -> Race:
        """The race, in an order of its own. Raises ValueError with a sentence.

        any_model: whether folders and Hub ids may be named, beside the catalogue's models.
        """
        target = self._named
        RunRequest(self.prompt, target).allowed(any_model)
        require(len(self.lanes) <= MOST, f"A race has {MOST} lanes at most beside plain decoding.")
        for place, lane in enumerate(self.lanes, start=1):
            _allow(place, target, lane.drafter, any_model)
        shared = self._shared()
        asked = [_typed(place, lane, shared) for place, lane in enumerate(self.lanes, start=1)]
        lanes = [one.lane(f"lane {place}") for place, one in enumerate(asked, start=1)]
        return Race(self.prompt, target, _named(lanes), secrets.randbits(32))

    @property
    def _named(self) -> str:
        """The target's name."""
        return str(self.target or "").strip() or HOUSE

    def _shared(self) -> argparse.Namespace:
        """What all lanes have. Raises BadSettings."""
        values = {**asdict(self), "max_new_tokens": self.new_tokens}
        law, rest = read("sampling", values), read("run", values)
        rest |= read_turns(self._named, values)
        Settings(sampling=Sampling(**law), **rest)  # checked before any lane is
        return argparse.Namespace(**law, **rest)


def _typed(place: int, lane: LaneAsked, shared: argparse.Namespace) -> LaneRequest:
    """A lane as it is typed. place: its number. Raises BadSettings beginning with that."""
    short = len(lane.settings) <= LONGEST_SETTINGS
    require(short, f"Lane {place}: its settings are longer than {LONGEST_SETTINGS:,} characters.")
    text = f"{shlex.quote(lane.drafter)} {lane.settings}"
    return parse_lane(text, shared, f"Lane {place}: ")


def _allow(place: int, target: str, drafter: str, any_model: bool) -> None:
    """Raise BadSettings where a visitor may not name this drafter."""
    try:
        RunRequest("", target, drafter).allowed(any_model)
    except BadSettings as error:
        raise BadSettings(f"Lane {place}: {error}") from error


def _named(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """Lanes called as sentences on the page call them: by title, and shape where that is twice."""
    drafters = [public_name(lane.drafter) for lane in lanes]
    often, long = Counter(drafters), LONGEST_NAME - len(" (4)")
    names = distinct(
        _name(lane, drafter, often[drafter] > 1)[:long]
        for lane, drafter in zip(lanes, drafters, strict=True)
    )
    return tuple(replace(lane, name=name) for lane, name in zip(lanes, names, strict=True))


def _name(lane: Lane, drafter: str, twice: bool) -> str:
    said = brief_shape(lane.settings.to_json(), settings_read_by(drafter)) if twice else ""
    return f"{title_of(drafter)}, {said}" if said else title_of(drafter)


def suits(drafter: str) -> str:
    """What suits a drafter, as it is typed into a lane."""
    return shape(drafter, with_defaults(drafter, {}))


def shape(drafter: str, settings: Mapping[str, Any]) -> str:
    """A lane's own settings as they are typed: the draft's shape, and what is not as usual.

    settings: as `Settings.to_json` writes them.
    """
    usual, reads = with_defaults(drafter, {}), settings_read_by(drafter) or ["gamma"]
    loud = [name for name in reads if name not in QUIET]
    shaping = [name for name in loud if settings[name] or find_spec(name).at_depth]
    said = [
        f"{name.replace('_', '-')}={find_spec(name).kind.text(value)}"
        for name, value in settings.items()
        if name not in SHARED and (name in shaping or value != usual[name])
    ]
    return " ".join(said)


def values(race: Race) -> Iterator[Any]:
    """The form's values that ask for this race, in the order of its inputs."""
    law, shared = race.sampling, race.shared
    yield from (race.prompt, race.target, law.temperature, law.top_k, law.top_p)
    yield from (shared.seed, shared.max_new_tokens, shared.chat, shared.system)
    yield from slots(
        [
            LaneAsked(lane.drafter, shape(lane.drafter, lane.settings.to_json()))
            for lane in race.lanes
        ]
    )


def slots(lanes: Sequence[LaneAsked]) -> list[Any]:
    """Lanes as the form has them, lane by lane: those that are not there have no drafter."""
    empty = [LaneAsked("", "")] * (MOST - len(lanes))
    return [value or None for lane in (*lanes, *empty) for value in lane]
