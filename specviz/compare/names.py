"""What the lanes of a race are called on screen: a title each, and settings that tell them apart.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from specviz.catalog.entry import reads_of, title_of
from specviz.compare.race import PLAIN, Lane, Race
from specviz.models.files import public_name
from specviz.settings.settings import Settings
from specviz.settings.summary import summarize_draft
from specviz.texts import count

TITLE: Final = "Plain decoding"
LONGEST: Final = 40  # characters of a setting that is said in full


@dataclass(frozen=True, slots=True)
class LaneName:
    """title: what people call the drafter. shape: its draft's shape in few words, if it has one.

    Where two lanes have the same title, `summarize_draft` differs.
    """

    title: str
    summarize_draft: str


def lane_names(race: Race) -> dict[str, LaneName]:
    """By name of the lane, in the order of the race's lanes, plain decoding last."""
    plain = LaneName(TITLE, "the baseline")
    lanes = [_lane(lane) for lane in race.lanes]
    told = [
        LaneName(
            one.title,
            " · ".join(filter(None, [one.shape, *_apart(lane, _alike(race, lanes, one))])),
        )
        for lane, one in zip(race.lanes, lanes, strict=True)
    ]
    names = [lane.name for lane in race.lanes]
    return {**dict(zip(names, map(_numbered, told, _before(told)), strict=True)), PLAIN: plain}


def _lane(lane: Lane) -> LaneName:
    drafter = public_name(lane.drafter)
    return LaneName(title_of(drafter), summarize_draft(lane.settings.to_json(), reads_of(drafter)))


def _alike(race: Race, lane_names: list[LaneName], one: LaneName) -> list[Lane]:
    """The lanes that read like `one`."""
    return [lane for lane, other in zip(race.lanes, lane_names, strict=True) if other == one]


def _apart(lane: Lane, alike: list[Lane]) -> list[str]:
    """The settings in which a lane differs from others that read the same."""
    mine, others = lane.settings.to_json(), [other.settings.to_json() for other in alike]
    names = [name for name in mine if any(other[name] != mine[name] for other in others)]
    return [f"{name.replace('_', ' ')} {_value(mine[name])}" for name in names]


def _value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _before(told: list[LaneName]) -> list[int]:
    """By lane, how many before it read the same to the last setting."""
    return [told[:place].count(one) for place, one in enumerate(told)]


def _numbered(one: LaneName, before: int) -> LaneName:
    """Lanes with the very same settings are counted."""
    if not before:
        return one
    return replace(one, shape=_joined([one.shape, f"no. {before + 1}"]))


def _joined(parts: list[str]) -> str:
    return " · ".join(filter(None, parts))


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
