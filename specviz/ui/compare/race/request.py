"""The values of the race's form, and their conversion to a race and back.

A lane is a drafter and its settings as typed on the command line; the settings that all lanes share
are separate fields.

A preset is a set of lanes, which a button fills into the form.
"""

from __future__ import annotations

import argparse
import secrets
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple, Self

from specviz.catalog.entry import find, listing, settings_read_by, title_of, with_defaults
from specviz.compare.lanes import LaneRequest, parse_lane
from specviz.compare.race import MAX_LANES, MAX_NAME_LENGTH, Lane, Race, unique_names
from specviz.models.files import public_name
from specviz.settings.settings import BadSettings, Sampling, Settings, require
from specviz.settings.settings import summarize_draft as brief_shape
from specviz.settings.specs import READ_BY_ALL, find_spec
from specviz.ui.request import HOUSE, RunRequest
from specviz.ui.step.choices import read, read_turns

LONGEST_SETTINGS: Final = 1000  # maximum characters of one lane's settings
SHARED: Final = (
    "sampling",
    "seed",
    "max_new_tokens",
    "chat",
    "system",
    "coins",
)  # settings that all lanes share
Value = str | float | None  # value of a field of the form
QUIET: Final = ("candidates", "schedule", *READ_BY_ALL)  # shown only if changed


class FormLane(NamedTuple):
    """A lane in the form.

    Attributes:
        settings: As typed, such as "gamma=8 siblings=2,2".
    """

    drafter: str
    settings: str


@dataclass(frozen=True, slots=True)
class RaceRequest:
    """The values of a form.

    Attributes:
        target: A name in the catalogue, a folder or a Hub id.
        lanes: The visible lanes, in order.
        chat: The prompt's format, as in the field on Step.
        system: The system text, as in the field on Step.
    """

    prompt: str
    target: Any
    temperature: Any
    top_k: Any
    top_p: Any
    seed: Any
    new_tokens: Any
    lanes: tuple[FormLane, ...]
    chat: Any = "auto"
    system: Any = ""

    @classmethod
    def from_form(cls, *values: Any) -> Self:
        """Build a request from the form's values: shared settings, then lanes, in order."""
        prompt, target, temperature, top_k, top_p, seed, new_tokens, chat, system, *typed = values
        pairs = zip(typed[::2], typed[1::2], strict=True)
        lanes = [FormLane(str(name).strip(), str(text or "")) for name, text in pairs if name]
        sampling = temperature, top_k, top_p
        return cls(prompt, target, *sampling, seed, new_tokens, tuple(lanes), chat, system)

    def race(self, any_model: bool = False) -> Race:
        """Build the race, with a random order of lanes.

        Args:
            any_model: Whether folders and Hub ids are allowed, besides the catalogue's models.

        Raises:
            ValueError: If the race cannot be run.
        """
        target = self._named
        RunRequest(self.prompt, target).allowed(any_model)
        most = f"A race has at most {MAX_LANES} lanes besides plain decoding."
        require(len(self.lanes) <= MAX_LANES, most)
        for place, lane in enumerate(self.lanes, start=1):
            _allow(place, target, lane.drafter, any_model)
        shared = self._shared()
        lanes = [
            _parse_lane(place, lane, shared).lane(f"lane {place}")
            for place, lane in enumerate(self.lanes, start=1)
        ]
        return Race(self.prompt, target, _named(lanes), secrets.randbits(32))

    @property
    def _named(self) -> str:
        """Return the target's name."""
        return str(self.target or "").strip() or HOUSE

    def _shared(self) -> argparse.Namespace:
        """Return the settings of all lanes. Raises BadSettings."""
        values = {**asdict(self), "max_new_tokens": self.new_tokens}
        sampling, rest = read("sampling", values), read("run", values)
        rest |= read_turns(self._named, values)
        Settings(sampling=Sampling(**sampling), **rest)  # these are validated before any lane
        return argparse.Namespace(**sampling, **rest)


def _parse_lane(place: int, lane: FormLane, shared: argparse.Namespace) -> LaneRequest:
    """Parse a lane; its number `place` is mentioned in errors (BadSettings)."""
    short = len(lane.settings) <= LONGEST_SETTINGS
    require(short, f"Lane {place}: the settings are longer than {LONGEST_SETTINGS:,} characters.")
    text = f"{shlex.quote(lane.drafter)} {lane.settings}"
    return parse_lane(text, shared, f"Lane {place}: ")


def _allow(place: int, target: str, drafter: str, any_model: bool) -> None:
    """Raise BadSettings if a visitor may not use this drafter."""
    try:
        RunRequest("", target, drafter).allowed(any_model)
    except BadSettings as error:
        raise BadSettings(f"Lane {place}: {error}") from error


def _named(lanes: Sequence[Lane]) -> tuple[Lane, ...]:
    """Return the lanes with names for sentences: the title, with the draft's shape if needed."""
    drafters = [public_name(lane.drafter) for lane in lanes]
    often, long = Counter(drafters), MAX_NAME_LENGTH - len(" (4)")
    names = unique_names(
        _name(lane, drafter, often[drafter] > 1)[:long]
        for lane, drafter in zip(lanes, drafters, strict=True)
    )
    return tuple(replace(lane, name=name) for lane, name in zip(lanes, names, strict=True))


def _name(lane: Lane, drafter: str, twice: bool) -> str:
    shape = brief_shape(lane.settings.to_json(), settings_read_by(drafter)) if twice else ""
    return f"{title_of(drafter)}, {shape}" if shape else title_of(drafter)


def suits(drafter: str) -> str:
    """Return a drafter's default settings, as typed into a lane."""
    return shape(drafter, with_defaults(drafter, {}))


def shape(drafter: str, settings: Mapping[str, Any]) -> str:
    """Return a lane's own settings as typed: the draft's shape, and changed settings.

    Args:
        drafter: The drafter's name.
        settings: As returned by `Settings.to_json`.
    """
    defaults, reads = with_defaults(drafter, {}), settings_read_by(drafter) or ["gamma"]
    written = [name for name in reads if name not in QUIET]
    shaping = [name for name in written if settings[name] or find_spec(name).at_depth]
    pairs = [
        f"{name.replace('_', '-')}={find_spec(name).kind.text(value)}"
        for name, value in settings.items()
        if name not in SHARED and (name in shaping or value != defaults[name])
    ]
    return " ".join(pairs)


def values(race: Race) -> Iterator[Value]:
    """Return the form's values for this race, in the order of its inputs."""
    sampling, shared = race.sampling, race.shared
    yield from (race.prompt, race.target, sampling.temperature, sampling.top_k, sampling.top_p)
    yield from (shared.seed, shared.max_new_tokens, shared.chat, shared.system)
    yield from slots(
        [
            FormLane(lane.drafter, shape(lane.drafter, lane.settings.to_json()))
            for lane in race.lanes
        ]
    )


def slots(lanes: Sequence[FormLane]) -> list[str | None]:
    """Return the form's values of the lanes, in order; unused lanes have no drafter."""
    empty = [FormLane("", "")] * (MAX_LANES - len(lanes))
    return [value or None for lane in (*lanes, *empty) for value in lane]


MODEL = "draft-model"
LONG = 3  # number of guesses of a chain: the most that parallel heads can make


# Settings with which each head drafts a chain of that length.
CHAINS = {
    **dict.fromkeys(("eagle2", "eagle3", "moa"), f"gamma={LONG} budget={LONG} fan-out=1"),
    "mtp-parallel": f"gamma={LONG} siblings=1",
}


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset.

    Attributes:
        name: Part of its button's id.
        title: Label of the button.
        sentence: What the preset is for.
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
            with_default_settings("ngram", "medusa", "eagle3", MODEL),
        ),
        Preset(
            "tree",
            "Chain against tree",
            "The same drafter and depth, with one guess per position or several.",
            (
                FormLane(MODEL, "gamma=4"),
                FormLane(MODEL, "gamma=4 siblings=3,2"),
                FormLane("eagle", "gamma=4 siblings=1"),
                FormLane("eagle2", "gamma=4 budget=10 fan-out=3"),
            ),
        ),
        Preset(
            "gamma",
            "γ 2 against γ 8",
            "One draft model, two draft lengths: a longer draft adds more tokens if it is "
            "accepted, but always costs more time.",
            (FormLane(MODEL, "gamma=2"), FormLane(MODEL, "gamma=8")),
        ),
        equal_bytes(),
        Preset(
            "eagles",
            "Three EAGLEs",
            "A head with a tree of fixed shape, the same head with a tree shaped by its "
            "confidence, and a head trained on its own guesses.",
            with_default_settings("eagle", "eagle2", "eagle3"),
        ),
    )


def with_default_settings(*drafters: str) -> tuple[FormLane, ...]:
    """Return a lane for each drafter, with its default settings."""
    return tuple(FormLane(name, suits(name)) for name in drafters)


def equal_bytes() -> Preset:
    """Return the draft model and the head closest to it in size, both drafting chains."""
    sizes = weights()
    heads = [name for name in CHAINS if name in sizes]
    head = min(heads, key=lambda name: abs(sizes[name] - sizes.get(MODEL, 0)), default="eagle3")
    title = getattr(find(head, "drafter"), "title", head)
    megabytes = [f"{sizes[name] / 1e6:.1f} MB" for name in (head, MODEL) if name in sizes]
    both = " and ".join(megabytes)
    size = f", with {both} of weights" if len(megabytes) == 2 else ""
    sentence = f"Chains of {LONG} guesses from {title} and from a separate draft model{size}"
    chains = (FormLane(head, CHAINS[head]), FormLane(MODEL, f"gamma={LONG}"))
    return Preset("bytes", "Head against model of equal size", f"{sentence}.", chains)


def weights() -> Mapping[str, int]:
    """Return the size in bytes of each drafter's weight files on this machine."""
    rows = [row for row in listing() if row["kind"] == "drafter"]
    return {row["name"]: row["bytes"] for row in rows if row["folder"] and row["bytes"]}
