"""Lesson files as they are written, and their translations.

A translation contains texts only. Each of its steps names the English step by its heading (`of`);
what the page shows there, the claims about its run and the right answers are the English lesson's,
so the two cannot disagree. Its numbers are the same expressions, which is checked when it is read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from specviz.texts.languages import ENGLISH, languages

HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
SCREEN: Final = re.compile(r"\A\s*```toml\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
# What a translation repeats unchanged: numbers and tokens of the run, and addresses of links.
KEPT: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\]\(https://\S+?\)")
HEAD_TEXTS: Final = ("title", "question")
STEP_TEXTS: Final = ("try", "caption")
PREDICT_TEXTS: Final = ("ask", "options", "why")


@dataclass(frozen=True, slots=True)
class StepSource:
    """A step of a file."""

    title: str
    screen: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class LessonSource:
    """A file."""

    head: Mapping[str, Any]
    steps: list[StepSource]


class BadLesson(ValueError):
    """Raised if a lesson cannot be read; says which lesson and why."""


def find_translation(file: Path, lang: str) -> Path | None:
    """Return the file of a lesson's translation, if there is one."""
    found = file.parent / lang / file.name
    return found if lang in languages() and lang != ENGLISH and found.is_file() else None


def read_in(file: Path, lang: str) -> LessonSource:
    """Read a lesson in a language, or in English if it is not translated.

    Raises BadLesson if the translation does not fit the English lesson.
    """
    english = read_source(file)
    translation = find_translation(file, lang)
    if translation is None:
        return english
    try:
        return translate(english, read_source(translation))
    except ValueError as problem:
        raise BadLesson(f"{lang}/{file.stem}: {problem}") from problem


def read_source(file: Path) -> LessonSource:
    """Split a file into its front matter and its steps. Raises ValueError if it has neither."""
    _, head, text = file.read_text(encoding="utf-8").split("+++\n", 2)
    _, *parts = HEADING.split(text)
    steps = [_step(title, body) for title, body in zip(parts[::2], parts[1::2], strict=True)]
    return LessonSource(tomllib.loads(head), steps)


def _step(title: str, body: str) -> StepSource:
    found = SCREEN.match(body)
    screen = tomllib.loads(found.group(1)) if found else {}
    return StepSource(title.strip(), screen, body[found.end() :] if found else body)


def translate(english: LessonSource, other: LessonSource) -> LessonSource:
    """Return the English lesson in its translation; ValueError if that lacks or adds something."""
    head = _merge(english.head, other.head, HEAD_TEXTS, "the front matter")
    steps = [step.title for step in english.steps]
    names = [step.screen.get("of") for step in other.steps]
    if missing := [title for title in steps if title not in names]:
        raise ValueError(f"these steps are missing: {', '.join(missing)}")
    if names != steps:
        raise ValueError(f"its steps are not those of the English lesson, in order: {names}")
    translated = zip(english.steps, other.steps, strict=True)
    return LessonSource(head, [_translated(step, own) for step, own in translated])


def _translated(english: StepSource, other: StepSource) -> StepSource:
    where = f"the step {english.title!r}"
    ours = {key: value for key, value in other.screen.items() if key not in ("of", "predict")}
    screen = _merge(english.screen, ours, STEP_TEXTS, where)
    if ("predict" in english.screen) != ("predict" in other.screen):
        raise ValueError(f"{where} has no such question as the English step, or one too many")
    if question := english.screen.get("predict"):
        theirs = other.screen["predict"]
        screen["predict"] = _merge(question, theirs, PREDICT_TEXTS, f"the question of {where}")
    _check_kept(english.text, other.text, where)
    return StepSource(other.title, screen, other.text)


def _merge(
    english: Mapping[str, Any], other: Mapping[str, Any], texts: tuple[str, ...], where: str
) -> dict[str, Any]:
    wanted = {key for key in texts if key in english}
    if missing := sorted(wanted - other.keys()):
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    if unknown := sorted(other.keys() - wanted):
        raise ValueError(f"{where} has {', '.join(unknown)}, which is no text of the English one")
    for key in wanted:
        pairs = list(_pairs(english[key], other[key], f"{key} in {where}"))
        for one, translated in pairs:
            _check_kept(one, translated, f"{key} in {where}")
    return {**english, **other}


def _pairs(english: Any, other: Any, where: str) -> Iterator[tuple[str, str]]:
    ours, theirs = (value if isinstance(value, list) else [value] for value in (other, english))
    alike = isinstance(english, list) == isinstance(other, list) and len(ours) == len(theirs)
    if not alike or not all(isinstance(text, str) for text in ours):
        raise ValueError(f"{where} is not as many texts as in English")
    return zip(theirs, ours, strict=True)


def _check_kept(english: str, other: str, where: str) -> None:
    ours, theirs = set(KEPT.findall(other)), set(KEPT.findall(english))
    if missing := sorted(theirs - ours):
        raise ValueError(f"{where} lacks {', '.join(missing)}")
    if unknown := sorted(ours - theirs):
        raise ValueError(f"{where} has {', '.join(unknown)}, which the English text has not")
