"""The values of the race's form, and their conversion to a race and back.

A lane is a drafter and the values of its fields, as on Step; the settings that all lanes share are
separate fields. A preset is a set of lanes, which the form can be filled with.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from specviz.catalog.entry import find, listing, settings_read_by, title_of, with_defaults
from specviz.compare.race import MAX_LANES, MAX_NAME_LENGTH, Lane, Race, unique_names
from specviz.models.files import public_name
from specviz.settings.settings import BadSettings, require, summarize_draft
from specviz.settings.specs import Group, page_fields
from specviz.ui.request import HOUSE, USUAL, RunRequest
from specviz.ui.step.choices import Choices, read
from specviz.ui.step.drawer import filled, suited

SHARED: Final[tuple[Group, ...]] = ("sampling", "run", "prompt")  # what all lanes share
Value = str | float | None  # value of a field of the form


class FormLane(NamedTuple):
    """A lane in the form. filled: the values of its fields, in the order of the settings."""

    drafter: str
    filled: list[Any]

    def named(self) -> dict[str, Any]:
        """Return the values of its fields by name."""
        names = (row.name for row in page_fields("drafting"))
        return dict(zip(names, self.filled, strict=True))

    def described(self, target: str) -> str:
        """Return the shape of its draft in a few words, or why it cannot draft."""
        entry = find(self.drafter, "drafter")
        made_for = entry.made_for if entry else None
        if made_for not in (None, target) and find(target, "target"):
            titles = title_of(str(made_for)), title_of(target)
            return "made for {}: it cannot draft for {}".format(*titles)
        try:
            settings = read("drafting", self.named())
        except BadSettings as problem:
            return str(problem)
        shape = summarize_draft(settings, settings_read_by(self.drafter))
        return f"{shape} (default)" if self.filled == suited(self.drafter) else shape


def suited_lane(drafter: str, **changes: Any) -> FormLane:
    """Return a lane with the drafter's default settings, except for some changes."""
    return FormLane(drafter, filled("drafting", with_defaults(drafter, changes)))


@dataclass(frozen=True, slots=True)
class RaceRequest:
    """The values of a form.

    Attributes:
        target: A name in the catalogue, a folder or a Hub id.
        shared: The settings of all lanes, as values of their fields by name.
        lanes: The visible lanes, in order.
    """

    prompt: str
    target: str
    shared: Mapping[str, Any]
    lanes: tuple[FormLane, ...]

    @classmethod
    def from_form(cls, *values: Any) -> Self:
        """Build a request from the form's values: prompt, target, shared settings, lanes."""
        prompt, target, *rest = values
        names = [row.name for group in SHARED for row in page_fields(group)]
        shared = dict(zip(names, rest, strict=False))
        target = str(target or "").strip() or HOUSE
        return cls(prompt, target, shared, tuple(lanes_of(rest[len(names) :])))

    def race(self, any_model: bool = False) -> Race:
        """Build the race, with a random order of lanes.

        any_model: whether folders and Hub ids are allowed, besides the catalogue's models. Raises
        ValueError if the race cannot be run.
        """
        # What all lanes share is checked before any lane.
        self._request(suited_lane(USUAL)).allowed(any_model)
        most = f"A race has at most {MAX_LANES} lanes besides plain decoding."
        require(len(self.lanes) <= MAX_LANES, most)
        lanes = [self._lane(place, one, any_model) for place, one in enumerate(self.lanes, start=1)]
        return Race(self.prompt, self.target, _named(lanes), secrets.randbits(32))

    def _request(self, lane: FormLane) -> RunRequest:
        filled = {**self.shared, **lane.named()}
        return Choices(self.prompt, lane.drafter, filled, self.target).request()

    def _lane(self, place: int, lane: FormLane, any_model: bool) -> Lane:
        try:
            request = self._request(lane).allowed(any_model)
        except BadSettings as error:
            raise BadSettings(f"Lane {place}: {error}") from error
        return Lane(f"lane {place}", request.drafter, request.settings)


def _named(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    drafters = [public_name(lane.drafter) for lane in lanes]
    often, long = Counter(drafters), MAX_NAME_LENGTH - len(" (4)")
    names = unique_names(
        _name(lane, drafter, often[drafter] > 1)[:long]
        for lane, drafter in zip(lanes, drafters, strict=True)
    )
    return tuple(replace(lane, name=name) for lane, name in zip(lanes, names, strict=True))


def _name(lane: Lane, drafter: str, twice: bool) -> str:
    shape = summarize_draft(lane.settings.to_json(), settings_read_by(drafter)) if twice else ""
    return f"{title_of(drafter)}, {shape}" if shape else title_of(drafter)


def values(race: Race) -> list[Value]:
    """Return the form's values for this race, in the order of its inputs."""
    shared = race.shared.to_json()
    fields = [value for group in SHARED for value in filled(group, shared)]
    return [race.prompt, race.target, *fields, *slots(list(map(form_lane, race.lanes)))]


def form_lane(lane: Lane) -> FormLane:
    """Return a race's lane as the form has it."""
    return FormLane(lane.drafter, filled("drafting", lane.settings.to_json()))


def slots(lanes: Sequence[FormLane]) -> list[Value]:
    """Return the form's values of the lanes, in order; unused lanes have no drafter."""
    empty = [suited_lane("")] * (MAX_LANES - len(lanes))
    return [value for one in (*lanes, *empty) for value in (one.drafter or None, *one.filled)]


def lanes_of(values: Sequence[Any]) -> list[FormLane]:
    """Return the lanes in use, given the form's values of all lanes."""
    size = 1 + len(suited(""))
    rows = [values[at : at + size] for at in range(0, len(values), size)]
    return [FormLane(str(row[0]).strip(), list(row[1:])) for row in rows if row[0]]


LONG: Final = 3  # number of guesses of a chain: the most that parallel heads can make


# Settings with which each head drafts a chain of that length.
CHAINS: Final[Mapping[str, Mapping[str, Any]]] = {
    **{name: {"budget": LONG, "fan_out": 1} for name in ("eagle2", "eagle3", "moa")},
    "mtp-parallel": {"siblings": [1]},
}


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset.

    Attributes:
        name: Part of its button's id.
        title: Label of the button.
    """

    name: str
    title: str
    sentence: str
    lanes: tuple[FormLane, ...]


def presets() -> tuple[Preset, ...]:
    """Return all presets; the first fills the form initially if no race is recorded."""
    return (
        Preset(
            "families",
            "Four families",
            "A look-up in the text so far, several small networks (heads) in parallel, one head "
            "that reads the target's hidden states, and a separate small model, each with its "
            "default settings.",
            tuple(map(suited_lane, ("ngram", "medusa", "eagle3", USUAL))),
        ),
        Preset(
            "tree",
            "Chain against tree",
            "The same drafter and depth, with one guess per position or several.",
            (
                suited_lane(USUAL, gamma=4),
                suited_lane(USUAL, gamma=4, siblings=[3, 2]),
                suited_lane("eagle", gamma=4, siblings=[1]),
                suited_lane("eagle2", gamma=4, budget=10, fan_out=3),
            ),
        ),
        Preset(
            "gamma",
            "γ 2 against γ 8",
            "One draft model, two draft lengths: a longer draft adds more tokens if it is "
            "accepted, but always costs more time.",
            (suited_lane(USUAL, gamma=2), suited_lane(USUAL, gamma=8)),
        ),
        equal_bytes(),
        Preset(
            "eagles",
            "Three EAGLEs",
            "A head with a tree of fixed shape, the same head with a tree shaped by its "
            "confidence, and a head trained on its own guesses.",
            tuple(map(suited_lane, ("eagle", "eagle2", "eagle3"))),
        ),
        Preset(
            "blocks",
            "Four blocks",
            "Each guesses a whole block in one pass. They differ in what a position of the block "
            "knows of the guesses before it.",
            tuple(map(suited_lane, ("dflash", "dspark", "dflash2", "jetspec"))),
        ),
    )


def equal_bytes() -> Preset:
    """Return the draft model and the head closest to it in size, both drafting chains."""
    sizes = weights()
    heads = [name for name in CHAINS if name in sizes]
    head = min(heads, key=lambda name: abs(sizes[name] - sizes.get(USUAL, 0)), default="eagle3")
    title = getattr(find(head, "drafter"), "title", head)
    megabytes = [f"{sizes[name] / 1e6:.1f} MB" for name in (head, USUAL) if name in sizes]
    both = " and ".join(megabytes)
    size = f", with {both} of weights" if len(megabytes) == 2 else ""
    sentence = f"Chains of {LONG} guesses from {title} and from a separate draft model{size}"
    chains = (suited_lane(head, gamma=LONG, **CHAINS[head]), suited_lane(USUAL, gamma=LONG))
    return Preset("bytes", "Head against model of equal size", f"{sentence}.", chains)


def weights() -> Mapping[str, int]:
    """Return the size in bytes of each drafter's weight files on this machine."""
    rows = [row for row in listing() if row["kind"] == "drafter"]
    return {row["name"]: row["bytes"] for row in rows if row["folder"] and row["bytes"]}
