"""A wish: one run that somebody asks for, as data, checked before it waits in line.

One rule: whoever asks (the form, a branch, a client), it is the same wish and the same checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self

from specviz.catalog.entry import Kind, entries, find, with_defaults
from specviz.settings.settings import BadSettings, Settings, require
from specviz.trace.chat import Turn
from specviz.trace.codec import from_plain

HOUSE: Final = "house"
USUAL: Final = "draft-model"
LONGEST_PROMPT: Final = 4000  # characters; the page's box stops there, other clients may not
LONGEST_NAME: Final = 300
LONGEST_TEXT: Final = 64_000  # characters of a wish as JSON


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run: a prompt, a target, a drafter and settings, "what if" coins among them.

    prompt: a text, or the turns of a conversation.
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
        require(not halves, "The prompt holds half a character (a lone surrogate).")
        named = max(len(self.target), len(self.drafter)) <= LONGEST_NAME
        require(named, f"The name of a model has {LONGEST_NAME} characters at most.")

    @classmethod
    def from_json(cls, data: Any, any_model: bool = False) -> Self:
        """The wish that plain data says; only the prompt must be there.

        any_model: whether folders and Hub ids may be named, beside the catalogue's models. Raises
        BadSettings with a sentence, whatever is wrong.
        """
        known = [f.name for f in fields(cls)]
        require(isinstance(data, Mapping), f"A run is a JSON object: {', '.join(known)}.")
        unknown = sorted(set(map(str, data)) - set(known))
        require(not unknown, f"A run has no {', '.join(unknown)}; it has {', '.join(known)}.")
        require("prompt" in data, "A run needs a prompt.")
        settings = settings_of(data.get("settings"), str(data.get("drafter", USUAL)))
        prompt = prompt_of(data["prompt"])
        return cls(**{**data, "prompt": prompt, "settings": settings}).allowed(any_model)

    @classmethod
    def from_text(cls, text: Any, any_model: bool = False) -> Self:
        """The wish that JSON text says. Raises BadSettings with a sentence."""
        short = isinstance(text, str) and len(text) <= LONGEST_TEXT
        require(short, f"A run is JSON text of {LONGEST_TEXT:,} characters at most.")
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise BadSettings("This is not whole JSON, so no run.") from problem
        return cls.from_json(data, any_model)

    def allowed(self, any_model: bool) -> Self:
        """This wish. Raises BadSettings where it names what only `any_model` would allow."""
        if not any_model:
            require_listed(self.target, "target")
            require_listed(self.drafter, "drafter")
        return self


def prompt_of(data: Any) -> str | tuple[Turn, ...]:
    """The prompt that plain data says: a text, or a list of turns. Raises BadSettings."""
    if isinstance(data, str):
        return data
    require(isinstance(data, list), "The prompt must be text, or a list of turns.")
    try:
        return tuple(from_plain(Turn, turn) for turn in data)
    except (TypeError, ValueError) as problem:
        sentence = f'A turn is like {{"role": "user", "text": "Hello"}}: {problem}.'
        raise BadSettings(sentence) from problem


def require_listed(name: str, kind: Kind) -> None:
    """Raise BadSettings unless the catalogue has this model: nothing else is looked for."""
    names = ", ".join(entry.name for entry in entries() if entry.kind == kind)
    require(find(name, kind) is not None, f"No {kind} is called {name!r} here; there is: {names}.")


def settings_of(data: Any, drafter: str) -> Settings:
    """Settings from plain data; what is not said is as usual with this drafter. Raises BadSettings.

    Stricter than `Settings.from_json`, which reads what the program wrote: every type is checked.
    """
    given = {} if data is None else data
    require(isinstance(given, Mapping), "Settings are a JSON object.")
    sampling = given.get("sampling", {})
    require(isinstance(sampling, Mapping), "The setting sampling is a JSON object.")
    whole = with_defaults(drafter, given)  # a damaged catalogue has a sentence of its own
    try:
        made: Settings = from_plain(Settings, whole)
    except BadSettings:
        raise
    except (TypeError, ValueError, ArithmeticError) as problem:
        raise BadSettings(f"These settings cannot be used: {problem}.") from problem
    return made
