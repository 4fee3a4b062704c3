"""The Learn tab: a list of lessons, and the panel that shows a lesson beside every tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from specviz.texts.languages import ENGLISH, languages
from specviz.ui.component import TabContext, component
from specviz.ui.learn.lessons import Lesson, LessonTitle, lesson, linked_name, titles
from specviz.ui.learn.plans import PanelConfig, Plan, known_plans

NAME: Final = "sv-learn"


class Config(TypedDict):
    """Initial data of the list.

    Attributes:
        lessons: The list of lessons, by language.
        plans: The plans of classes.
    """

    lessons: dict[str, list[LessonTitle]]
    plans: list[Plan]


def build(place: TabContext) -> None:
    """Build the list of lessons."""
    config: Config = {
        "lessons": {code: titles(code) for code in languages()},
        "plans": known_plans(),
    }
    component(NAME, "learn/contents", config)
    place.questions.add("lesson", answer)


def panel(place: TabContext) -> None:
    """Build the panel, which is outside the tabs since a lesson can open each of them."""
    config: PanelConfig = {"plans": known_plans()}
    component("sv-lesson", "learn/panel", config, classes="")


def answer(question: Mapping[str, Any]) -> Lesson:
    """Return a lesson, in English if it is not translated. Raises ValueError if there is none."""
    lang = question.get("lang")
    known = isinstance(lang, str) and lang in languages()
    name = linked_name(str(question.get("lesson", "")))
    return lesson(name, str(lang) if known else ENGLISH)
