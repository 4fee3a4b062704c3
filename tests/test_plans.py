"""Plans of classes: data that the page follows."""

from __future__ import annotations

import json

import pytest

from specviz.shipped import BrokenFile
from specviz.ui.learn import plans as module
from specviz.ui.learn.lessons import lesson
from specviz.ui.learn.plans import known_plans, plans


def test_parts_fill_the_minutes_and_open_existing_steps():
    assert [plan["minutes"] for plan in plans()] == [20, 45, 90]
    for plan in plans():
        ends = [part["until"] for part in plan["parts"]]
        assert [part["begin"] for part in plan["parts"]] == [0, *ends[:-1]]
        assert ends[-1] == plan["minutes"]
        for opening in (each for part in plan["parts"] for each in part["opens"]):
            if "lesson" in opening:
                steps = len(lesson(opening["lesson"])["steps"])
                assert opening["at"] < opening.get("end", steps) <= steps
    second = plans()[0]["parts"][1]["opens"]
    title = "One pass checks a whole guess"
    name = "02-one-pass-checks-all"
    assert second == [{"label": "Lesson 2", "title": title, "lesson": name, "at": 0, "end": 4}]


@pytest.mark.parametrize(
    ("minutes", "ends", "opens"),
    [(20, [10], []), (20, [12, 8, 20], []), (5, [5], ["lesson 99"]), (5, [5], ["Nowhere"])],
)
def test_plan_with_a_mistake_is_refused_and_left_out(monkeypatch, tmp_path, minutes, ends, opens):
    parts = [{"until": end, "what": "", "say": "", "opens": opens} for end in ends]
    data = [{"minutes": minutes, "title": "", "heads": [], "parts": parts}]
    (tmp_path / "plans.json").write_text(json.dumps(data))
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    with pytest.raises(BrokenFile):
        plans()
    assert known_plans() == []
