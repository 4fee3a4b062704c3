"""The Learn tab: a list of lessons, and the panel that leads through one on every tab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

from specviz.ui.component import TabContext, component
from specviz.ui.learn.lessons import Lesson, LessonTitle, lesson, titles

NAME: Final = "sv-learn"


class Config(TypedDict):
    """What the list starts with."""

    lessons: list[LessonTitle]


def build(place: TabContext) -> None:
    """Build the list of lessons."""
    config: Config = {"lessons": titles()}
    component(NAME, "learn/contents", config)
    place.questions.add("lesson", answer)


def panel(place: TabContext) -> None:
    """Build the panel, which is outside the tabs since a lesson opens any of them."""
    component("sv-lesson", "learn/panel", classes="")


def answer(question: Mapping[str, Any]) -> Lesson:
    """Answer the question for a lesson. Raises ValueError with a sentence if there is none."""
    return lesson(str(question.get("lesson", "")))
