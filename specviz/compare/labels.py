"""Labels of a race's lanes on screen: titles, and the settings in which lanes differ.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specviz.catalog.entry import settings_read_by, title_of
from specviz.compare.race import PLAIN, Lane, Race
from specviz.models.files import public_name
from specviz.settings.settings import Settings
from specviz.settings.summary import summarize_draft
from specviz.texts import count

TITLE: Final = "Plain decoding"
LONGEST_VALUE: Final = 40  # characters of a setting that is shown in full


@dataclass(frozen=True, slots=True)
class LaneLabel:
    """The label of a lane.

    Attributes:
        title: The drafter's title.
        shape: The draft's shape in few words, if it has one; unique among lanes of one title.
    """

    title: str
    shape: str


def lane_labels(race: Race) -> dict[str, LaneLabel]:
    """Label the lanes, by name, in the order of the race's lanes, plain decoding last."""
    plain = LaneLabel(TITLE, "the baseline")
    short = [_label(lane) for lane in race.lanes]
    labels = [
        LaneLabel(
            label.title,
            _join([label.shape, *_differences(lane, _lanes_labelled(race, short, label))]),
        )
        for lane, label in zip(race.lanes, short, strict=True)
    ]
    names = [lane.name for lane in race.lanes]
    numbered = map(_numbered, labels, _equal_before(labels))
    return {**dict(zip(names, numbered, strict=True)), PLAIN: plain}


def _label(lane: Lane) -> LaneLabel:
    drafter = public_name(lane.drafter)
    shape = summarize_draft(lane.settings.to_json(), settings_read_by(drafter))
    return LaneLabel(title_of(drafter), shape)


def _lanes_labelled(race: Race, labels: list[LaneLabel], label: LaneLabel) -> list[Lane]:
    return [lane for lane, other in zip(race.lanes, labels, strict=True) if other == label]


def _differences(lane: Lane, others: list[Lane]) -> list[str]:
    """The settings in which a lane differs from others with the same label."""
    mine, theirs = lane.settings.to_json(), [other.settings.to_json() for other in others]
    names = [name for name in mine if any(other[name] != mine[name] for other in theirs)]
    return [f"{name.replace('_', ' ')} {_value(mine[name])}" for name in names]


def _value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _equal_before(labels: list[LaneLabel]) -> list[int]:
    """For each label, how many before it are equal."""
    return [labels[:index].count(label) for index, label in enumerate(labels)]


def _numbered(label: LaneLabel, before: int) -> LaneLabel:
    """Number lanes with exactly the same settings."""
    if not before:
        return label
    return replace(label, shape=_join([label.shape, f"no. {before + 1}"]))


def _join(parts: list[str]) -> str:
    return " · ".join(filter(None, parts))


def shared_settings(settings: Settings) -> str:
    """The settings that all lanes share, in few words."""
    sampling = settings.sampling
    parts = [
        f"T {sampling.temperature:g}",
        f"top-k {sampling.top_k}" if sampling.top_k else "",
        f"top-p {sampling.top_p:g}" if sampling.top_p < 1 else "",
        count(settings.max_new_tokens, "token"),
        f"seed {settings.seed}",
    ]
    return _join(parts)


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence.

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
