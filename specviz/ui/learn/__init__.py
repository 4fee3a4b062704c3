"""The Learn tab: a list of lessons, and the panel that shows a lesson beside every tab."""

from __future__ import annotations

from typing import Final, TypedDict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from specviz.texts.languages import ENGLISH, languages
from specviz.ui.component import TabContext, component
from specviz.ui.learn.lessons import LessonTitle, lesson, linked_name, titles
from specviz.ui.learn.plans import PanelConfig, Plan, known_plans

NAME: Final = "sv-learn"


class Config(TypedDict):
    """Initial data of the list."""

    lessons: dict[str, list[LessonTitle]]
    plans: list[Plan]


def build(place: TabContext) -> None:
    """Build the list of lessons."""
    config: Config = {
        "lessons": {code: titles(code) for code in languages()},
        "plans": known_plans(),
    }
    component(NAME, "learn/contents", config)


def panel(place: TabContext) -> None:
    """Build the panel, which is outside the tabs since a lesson can open each of them."""
    config: PanelConfig = {"plans": known_plans()}
    component("sv-lesson", "learn/panel", config, classes="")


def send_lesson(request: Request) -> Response:
    """Send a lesson as JSON, in English if it is not translated.

    If there is none, the answer is a `problem`, since a browser reports an error's status.
    """
    name, lang = (request.query_params.get(key, "") for key in ("name", "lang"))
    headers = {"Cache-Control": "no-cache"}
    try:
        found = lesson(linked_name(name), lang if lang in languages() else ENGLISH)
    except ValueError as problem:
        return JSONResponse({"problem": str(problem)}, headers=headers)
    return JSONResponse(found, headers=headers)
