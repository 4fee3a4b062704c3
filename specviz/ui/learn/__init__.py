"""The Learn tab: a list of lessons, and the panel that shows a lesson beside every tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from specviz.texts.languages import ENGLISH, languages
from specviz.ui.component import TabContext, component
from specviz.ui.learn.lessons import Lesson, LessonTitle, full_name, lesson, titles
from specviz.ui.routes import module_address, modules

NAME: Final = "sv-learn"


class Config(TypedDict):
    """Initial data of the list.

    Attributes:
        lessons: The list of lessons, by language.
    """

    lessons: dict[str, list[LessonTitle]]


class OpenedLesson(Lesson):
    """A lesson as the page opens it.

    Attributes:
        modules: Addresses of modules that its tabs need, which the page fetches early.
    """

    modules: list[str]


def build(place: TabContext) -> None:
    """Build the list of lessons."""
    config: Config = {"lessons": {code: titles(code) for code in languages()}}
    component(NAME, "learn/contents", config)
    place.questions.add("lesson", answer)


def panel(place: TabContext) -> None:
    """Build the panel, which is outside the tabs since a lesson can open each of them."""
    component("sv-lesson", "learn/panel", classes="")


def answer(question: Mapping[str, Any]) -> OpenedLesson:
    """Return a lesson, in English if it is not translated. Raises ValueError if there is none."""
    lang = question.get("lang")
    known = isinstance(lang, str) and lang in languages()
    name = full_name(str(question.get("lesson", "")))
    found = lesson(name, str(lang) if known else ENGLISH)
    return {**found, "modules": _modules_of(found)}


def _modules_of(found: Lesson) -> list[str]:
    """Return the addresses of the modules of the lesson's tabs that are not loaded at first."""
    folders = {step["tab"].lower().rstrip("?") for step in found["steps"]} - {"step", "learn"}
    names = [name for name in modules()[1] if name.split("/")[0] in folders]
    return [module_address(name.removesuffix(".js")) for name in names]
