"""The languages of the lessons and the tour: a catalogue of words for each, such as `de.toml`.

A catalogue has the words around the lessons and the tour's texts; the translated lessons are below
`assets/lessons`. English is complete. Another catalogue has the same keys and placeholders, which
is checked when it is read. Everything else on the page is in English. Numbers are written in the
same way in all languages, with a decimal point.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, TypedDict, cast

ENGLISH: Final = "en"
FOLDER: Final = Path(__file__).parent
PLACEHOLDER: Final = re.compile(r"\{\w*\}|\[|\]")


class Words(TypedDict):
    """The words around the lessons and the tour. `{at}` and the like are placeholders for numbers.

    Attributes:
        article: The sentence that introduces the article, with its name in square brackets.
        languages: The name of the switch between languages, for screen readers.
        untranslated: The note beside a lesson in the list that exists only in English.
    """

    lead: str
    article: str
    languages: str
    untranslated: str
    untranslated_lesson: str
    lesson: str
    tour: str
    at: str
    back: str
    next: str
    next_lesson: str
    done: str
    skip: str
    show_answer: str
    leave: str
    close: str
    end_tour: str
    prediction: str
    right: str
    wrong: str
    attempt: str
    sources: str
    silent: str
    read: str
    begun: str
    minutes: str
    opening: str
    fold: str
    unfold: str
    follows: str
    start: str
    drafters: str
    limits: str
    hides: str


class TourText(TypedDict):
    """The text of a stop of the tour."""

    title: str
    say: str


class Language(TypedDict):
    """A catalogue.

    tour: the texts of the tour, by the place of the stop; see `specviz.ui.step.tour`.
    """

    name: str
    words: Words
    tour: dict[str, TourText]


@cache
def languages() -> dict[str, Language]:
    """Return all catalogues by their code, English first. Raises ValueError as `check_language`."""
    files = sorted(FOLDER.glob("*.toml"), key=lambda file: (file.stem != ENGLISH, file.stem))
    found = {file.stem: tomllib.loads(file.read_text(encoding="utf-8")) for file in files}
    for code, language in found.items():
        try:
            check_language(language, found[ENGLISH])
        except ValueError as problem:
            raise ValueError(f"{code}.toml: {problem}") from problem
    return cast("dict[str, Language]", found)


def check_language(language: Mapping[str, object], english: Mapping[str, object]) -> None:
    """Raise ValueError if a catalogue lacks a text or a placeholder, or has one too many."""
    if set(english) != set(Language.__annotations__):
        raise ValueError(f"these keys differ: {sorted(set(english) ^ {*Language.__annotations__})}")
    words = english["words"]
    if not isinstance(words, dict) or set(words) != set(Words.__annotations__):
        raise ValueError("its words are not those that the page uses")
    ours, theirs = _texts(language), _texts(english)
    if missing := sorted(theirs.keys() - ours.keys()):
        raise ValueError(f"these texts are missing: {', '.join(missing)}")
    if unknown := sorted(ours.keys() - theirs.keys()):
        raise ValueError(f"these texts are unknown: {', '.join(unknown)}")
    for key, text in ours.items():
        if sorted(PLACEHOLDER.findall(text)) != sorted(PLACEHOLDER.findall(theirs[key])):
            raise ValueError(f"{key} has other placeholders than the English text")


def _texts(table: Mapping[str, object], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= _texts(value, f"{before}{key}.")
        elif isinstance(value, str):
            found[before + key] = value
        else:
            raise ValueError(f"{before}{key} is not a text")
    return found
