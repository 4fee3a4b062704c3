"""A request for one run, as data that is validated before it joins the queue.

The form, "what if" runs and API clients all use the same request and the same checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from specviz.catalog.entry import Kind, entries, find, with_defaults
from specviz.settings.settings import BadSettings, Settings, require
from specviz.settings.suggestion import did_you_mean
from specviz.trace.chat import Turn
from specviz.trace.codec import from_plain

HOUSE: Final = "house"
USUAL: Final = "draft-model"
LONGEST_PROMPT: Final = 4000  # maximum characters; the page enforces it, other clients may not
LONGEST_NAME: Final = 300
LONGEST_TEXT: Final = 64_000  # maximum characters of a request as JSON


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run.

    Attributes:
        prompt: A text, or the turns of a conversation.
        drafter: Name of the drafter.
        settings: Settings of the run, including "what if" values of u.
    """

    prompt: str | tuple[Turn, ...]
    target: str = HOUSE
    drafter: str = USUAL
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        for name in ("target", "drafter"):
            require(isinstance(getattr(self, name), str), f"The {name} must be text.")
        spoken = isinstance(self.prompt, str | tuple)
        require(spoken, "The prompt must be text, or a list of turns.")
        texts = [self.prompt] if isinstance(self.prompt, str) else [t.text for t in self.prompt]
        short = sum(map(len, texts)) <= LONGEST_PROMPT
        require(short, f"The prompt is longer than {LONGEST_PROMPT:,} characters.")
        halves = any("\ud800" <= letter <= "\udfff" for letter in "".join(texts))
        require(not halves, "The prompt contains half a character (a lone surrogate).")
        named = max(len(self.target), len(self.drafter)) <= LONGEST_NAME
        require(named, f"The name of a model may have at most {LONGEST_NAME} characters.")

    @classmethod
    def from_json(cls, data: Any, any_model: bool = False) -> Self:
        """Validate plain data; only the prompt is required.

        any_model: whether folders and Hub ids are allowed, besides the catalogue's models. Raises
        BadSettings if anything is invalid.
        """
        known = [f.name for f in fields(cls)]
        require(isinstance(data, Mapping), f"A run must be a JSON object with {', '.join(known)}.")
        unknown = sorted(set(map(str, data)) - set(known))
        hint = did_you_mean(unknown[0], known) if unknown else ""
        sentence = f"A run has no field {', '.join(unknown)}; it has {', '.join(known)}.{hint}"
        require(not unknown, sentence)
        require("prompt" in data, "A run needs a prompt.")
        settings = settings_of(data.get("settings"), str(data.get("drafter", USUAL)))
        prompt = prompt_of(data["prompt"])
        return cls(**{**data, "prompt": prompt, "settings": settings}).allowed(any_model)

    @classmethod
    def from_text(cls, text: Any, any_model: bool = False) -> Self:
        """Validate a request as JSON text. Raises BadSettings if anything is invalid."""
        short = isinstance(text, str) and len(text) <= LONGEST_TEXT
        require(short, f"A run must be JSON text of at most {LONGEST_TEXT:,} characters.")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise BadSettings("This is not valid JSON.") from problem
        return cls.from_json(data, any_model)

    def allowed(self, any_model: bool) -> Self:
        """Return this request. Raises BadSettings if it contains a model that is not allowed."""
        if not any_model:
            require_listed(self.target, "target")
            require_listed(self.drafter, "drafter")
        return self


def prompt_of(data: Any) -> str | tuple[Turn, ...]:
    """Return the prompt of a request: a text, or a list of turns. Raises BadSettings."""
    if isinstance(data, str):
        return data
    require(isinstance(data, list), "The prompt must be text, or a list of turns.")
    try:
        return tuple(from_plain(Turn, turn) for turn in data)
    except (TypeError, ValueError) as problem:
        sentence = f'A turn must look like {{"role": "user", "text": "Hello"}}: {problem}.'
        raise BadSettings(sentence) from problem


def require_listed(name: str, kind: Kind) -> None:
    """Raise BadSettings unless the model is in the catalogue."""
    names = [entry.name for entry in entries() if entry.kind == kind]
    sentence = f"No {kind} is called {name!r} here. Choose one of: {', '.join(names)}."
    require(find(name, kind) is not None, sentence + did_you_mean(name, names))


def settings_of(data: Any, drafter: str) -> Settings:
    """Return settings from plain data, with this drafter's defaults. Raises BadSettings.

    Every type is checked. (`Settings.from_json`, which reads files that the program wrote, is less
    strict.)
    """
    given = {} if data is None else data
    require(isinstance(given, Mapping), "The settings must be a JSON object.")
    sampling = given.get("sampling", {})
    require(isinstance(sampling, Mapping), "The setting sampling must be a JSON object.")
    whole = with_defaults(drafter, given)  # raises its own exception for a damaged catalogue
    try:
        made: Settings = from_plain(Settings, whole)
    except BadSettings:
        raise
    except (TypeError, ValueError, ArithmeticError) as problem:
        raise BadSettings(f"These settings cannot be used: {problem}.") from problem
    return made
