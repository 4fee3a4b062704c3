"""Parse lanes, such as "draft-model gamma=8", and label them on screen.

A lane is one drafter with its settings. Settings written in a lane apply to that lane, options
outside it to all lanes; for all other settings, the drafter's defaults apply. Labels have a title
and the settings in which lanes differ. Standard library only.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from specviz.catalog.entry import settings_from_args, settings_read_by, title_of
from specviz.compare.race import PLAIN, Lane, Race, unique_names
from specviz.models.files import public_name
from specviz.settings.settings import (
    BadSettings,
    Sampling,
    Settings,
    require,
    summarize_draft,
)
from specviz.settings.specs import SETTING_SPECS
from specviz.settings.suggestion import did_you_mean
from specviz.texts import count

RACE_TEMPERATURE: Final = 0.0  # the default of all races, so that all lanes write one text
EXAMPLE: Final = "'draft-model gamma=8 siblings=2,2'"


@dataclass(frozen=True, slots=True)
class LaneRequest:
    """A parsed lane. drafter: its drafter."""

    text: str
    drafter: str
    options: argparse.Namespace
    error_prefix: str = ""

    def lane(self, name: str) -> Lane:
        """Build the lane, called `name`. Raises BadSettings if its settings are not valid."""
        try:
            return Lane(name, self.drafter, settings_from_args(self.options, self.drafter))
        except BadSettings as error:
            raise BadSettings(f"{self.error_prefix}{error}") from error


def parse_lane(text: str, args: argparse.Namespace) -> LaneRequest:
    """Parse a drafter and its settings, named like the options of `run`.

    Raises BadSettings if a setting is unknown or invalid.

    Args:
        text: The lane as typed, for example "draft-model gamma=8".
        args: The options for all lanes.
    """
    prefix = f"Lane {text!r}: "
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadSettings(f"{prefix}{error}.") from error
    require(bool(words), f"A lane is a drafter and its settings, such as {EXAMPLE}.")
    drafter, *pairs = words
    options = argparse.Namespace(**vars(args) | _parse_settings(pairs, prefix))
    return LaneRequest(" ".join([public_name(drafter), *pairs]), drafter, options, prefix)


def _parse_settings(pairs: Sequence[str], prefix: str) -> dict[str, Any]:
    for pair in pairs:
        require("=" in pair[1:], f"{prefix}{pair!r} is not a setting; write it like gamma=8.")
    split = [pair.partition("=") for pair in pairs]
    given = {name.replace("-", "_"): value for name, _, value in split}
    known = {row.name: row for row in SETTING_SPECS if row.name != "coins"}
    try:
        own = {name: known[name].parse(text) for name, text in given.items() if name in known}
    except BadSettings as error:
        raise BadSettings(f"{prefix}{error}") from error
    strange = [name for name in given if name not in known]
    hint = did_you_mean(strange[0], setting_names()) if strange else ""
    names = ", ".join(strange).replace("_", "-")
    require(not strange, f"{prefix}there is no setting called {names}.{hint}")
    return own


def build_race(prompt: str, target: str, requests: Sequence[LaneRequest], order_seed: int) -> Race:
    """Build the race of these lanes; lanes with the same name are numbered. Raises BadSettings."""
    names = unique_names(request.text for request in requests)
    lanes = tuple(request.lane(name) for request, name in zip(requests, names, strict=True))
    return Race(prompt, public_name(target), lanes, order_seed)


def setting_names() -> set[str]:
    """Return the names of all settings of a run."""
    return {field.name for field in (*fields(Settings), *fields(Sampling))} - {"sampling"}


def shared_options(given: Mapping[str, Any]) -> argparse.Namespace:
    """Return the settings for all lanes as options. Raises BadSettings for an unknown setting."""
    known = setting_names()
    for name in given:
        hint = did_you_mean(name, known)
        require(name in known, f"There is no setting called {name!r}.{hint}")
    return argparse.Namespace(**given)


TITLE: Final = "Plain decoding"
LONGEST_VALUE: Final = 40  # maximum characters of a setting that is shown in full


@dataclass(frozen=True, slots=True)
class LaneLabel:
    """The label of a lane.

    Attributes:
        title: The drafter's title.
        shape: The shape of the draft in a few words, if it has one; unique among lanes with the
            same title.
    """

    title: str
    shape: str


def lane_labels(race: Race) -> dict[str, LaneLabel]:
    """Return a label for each lane by name, in the race's order, plain decoding last."""
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
    mine, theirs = lane.settings.to_json(), [other.settings.to_json() for other in others]
    names = [name for name in mine if any(other[name] != mine[name] for other in theirs)]
    return [f"{name.replace('_', ' ')} {_value(mine[name])}" for name in names]


def _value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _equal_before(labels: list[LaneLabel]) -> list[int]:
    # For each label, how many equal ones come before it.
    return [labels[:index].count(label) for index, label in enumerate(labels)]


def _numbered(label: LaneLabel, before: int) -> LaneLabel:
    if not before:
        return label
    return replace(label, shape=_join([label.shape, f"no. {before + 1}"]))


def _join(parts: list[str]) -> str:
    return " · ".join(filter(None, parts))


def shared_settings(settings: Settings) -> str:
    """Return the settings that all lanes share, in a few words."""
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
