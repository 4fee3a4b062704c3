"""Plans of classes: which part of the page is shown in which minutes.

They are data in `assets/lessons/plans.json`. The page follows a plan, and the tables in
docs/lesson-plans.md are made of them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final, NotRequired, TypedDict

from specviz.shipped import read_shipped_json
from specviz.ui.broken import read_unless_broken
from specviz.ui.learn.lessons import FOLDER, TABS, full_name, titles

LESSON: Final = re.compile(r"lesson (\d+)(?:\.(\d+)(?:-(\d+))?)?")  # "lesson 4.1-4"


class Opening(TypedDict):
    """What a part of a plan opens: a step of a lesson, or a tab."""

    label: str
    title: NotRequired[str]
    lesson: NotRequired[str]
    at: NotRequired[int]
    end: NotRequired[int]
    tab: NotRequired[str]


class PlanPart(TypedDict):
    """A part of a plan.

    Attributes:
        begin: Minutes from the beginning of the class.
        what: What is shown, or done.
    """

    begin: int
    until: int
    what: str
    opens: list[Opening]
    task: str


class Plan(TypedDict):
    """A plan. minutes: its length, which is also its name in links."""

    minutes: int
    title: str
    parts: list[PlanPart]


class PanelConfig(TypedDict):
    """Initial data of the panel's script."""

    plans: list[Plan]


def plans() -> list[Plan]:
    """Read the plans, from the shortest on.

    Raises BrokenFile if the file, or a lesson or tab that a part opens, is missing.
    """
    return read_shipped_json(FOLDER / "plans.json", lambda data: [_plan(each) for each in data])


def known_plans() -> list[Plan]:
    """Return the plans; none if their file is broken."""
    return read_unless_broken(plans, [])


def _plan(data: dict[str, Any]) -> Plan:
    ends = [0, *(part["until"] for part in data["parts"])]
    if ends[-1] != data["minutes"] or any(end <= begin for begin, end in pairwise(ends)):
        raise ValueError(f"the parts of {data['minutes']} minutes are not in order")
    parts: list[PlanPart] = [
        {
            "begin": begin,
            "until": part["until"],
            "what": part["what"],
            "opens": [_opening(name) for name in part["opens"]],
            "task": part.get("task", ""),
        }
        for begin, part in zip(ends, data["parts"], strict=False)
    ]
    return {"minutes": data["minutes"], "title": data["title"], "parts": parts}


def _opening(name: str) -> Opening:
    if found := LESSON.fullmatch(name):
        number, step, end = found.groups()
        lesson = full_name(int(number))
        if not lesson:
            raise ValueError(f"there is no {name}")
        title = next(each["title"] for each in titles() if each["id"] == lesson)
        opened: Opening = {"label": f"Lesson {number}", "title": title, "lesson": lesson}
        opened["at"] = int(step or 1) - 1
        return {**opened, "end": int(end)} if end else opened
    if name not in TABS:
        raise ValueError(f"there is no tab {name}")
    return {"label": name, "tab": name}
