"""What the lanes of a race are called on screen: a title each, and settings that tell them apart.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from specviz.catalog.known import reads_of, title_of
from specviz.compare.lanes import PLAIN, Lane, Race
from specviz.frames.numbers import count
from specviz.settings import Settings, shape

TITLE: Final = "Plain decoding"
LONGEST: Final = 40  # characters of a setting that is said in full


@dataclass(frozen=True, slots=True)
class Called:
    """title: what people call the drafter. said: its draft's shape in few words, if it has one.

    Where two lanes have the same title, `said` differs.
    """

    title: str
    said: str


def called(race: Race) -> dict[str, Called]:
    """By name of the lane, in the order of the race's lanes, plain decoding last."""
    plain = Called(TITLE, "the baseline")
    lanes = [_lane(lane) for lane in race.lanes]
    told = [
        Called(
            one.title, " · ".join(filter(None, [one.said, *_apart(lane, _alike(race, lanes, one))]))
        )
        for lane, one in zip(race.lanes, lanes, strict=True)
    ]
    names = [lane.name for lane in race.lanes]
    return {**dict(zip(names, map(_numbered, told, _before(told)), strict=True)), PLAIN: plain}


def _lane(lane: Lane) -> Called:
    drafter = shown(lane.drafter)
    return Called(title_of(drafter), shape(lane.settings.to_json(), reads_of(drafter)))


def _alike(race: Race, called: list[Called], one: Called) -> list[Lane]:
    """The lanes that read like `one`."""
    return [lane for lane, other in zip(race.lanes, called, strict=True) if other == one]


def _apart(lane: Lane, alike: list[Lane]) -> list[str]:
    """The settings in which a lane differs from others that read the same."""
    mine, others = lane.settings.to_json(), [other.settings.to_json() for other in alike]
    names = [name for name in mine if any(other[name] != mine[name] for other in others)]
    return [f"{name.replace('_', ' ')} {_value(mine[name])}" for name in names]


def _value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _before(told: list[Called]) -> list[int]:
    """By lane, how many before it read the same to the last setting."""
    return [told[:place].count(one) for place, one in enumerate(told)]


def _numbered(one: Called, before: int) -> Called:
    """Lanes with the very same settings are counted."""
    if not before:
        return one
    return replace(one, said=_joined([one.said, f"no. {before + 1}"]))


def _joined(parts: list[str]) -> str:
    return " · ".join(filter(None, parts))


def shown(name: str) -> str:
    """A model's name for screen and files, which must not name anyone's folders."""
    try:
        return Path(name).resolve().name if Path(name).is_dir() else name
    except OSError:  # too long to be anyone's folder
        return name


def shared(settings: Settings) -> str:
    """What all lanes share, in few words."""
    sampling = settings.sampling
    parts = [
        f"T {sampling.temperature:g}",
        f"top-k {sampling.top_k}" if sampling.top_k else "",
        f"top-p {sampling.top_p:g}" if sampling.top_p < 1 else "",
        count(settings.max_new_tokens, "token"),
        f"seed {settings.seed}",
    ]
    return " · ".join(filter(None, parts))
