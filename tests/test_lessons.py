"""Lessons: every number is read from a run, and every claim about it is checked."""

from __future__ import annotations

import re

import pytest

from specviz.frames.frame import frame_at
from specviz.frames.scene import Scene
from specviz.ui.learn import answer, lessons
from specviz.ui.learn.lessons import BadLesson, inline, lesson, titles
from specviz.ui.learn.values import Values, find_frame
from specviz.ui.step import recorded

NAMES = [title["id"] for title in titles()]
# A number of a run, such as 0.75, 3.3 ms or 12%. Papers' sections and temperatures are not.
NUMBER = re.compile(r"(?<![\d./\w])\d+\.\d+|\d+ ?%|\d ms")
ALLOWED = {"1.15.1", "3.8", "0.7", "A.1"}

HEAD = '+++\ntitle = "T"\nquestion = "Q"\nminutes = 2\ntrace = "01-chain"\n+++\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a lesson into a new folder and return it."""
    monkeypatch.setattr(lessons, "FOLDER", tmp_path)
    lesson.cache_clear()
    yield lambda steps: ((tmp_path / "own.md").write_text(HEAD + steps), lesson("own"))[1]
    lesson.cache_clear()


def flat(paragraph):
    """Return a paragraph as a reader sees it."""
    return "".join(
        part
        if isinstance(part, str)
        else next(str(part[key]) for key in ("n", "b", "i", "a", "w", "t") if key in part)
        for part in paragraph
    )


def test_there_are_fourteen_lessons():
    assert len(NAMES) == 14
    assert [name[:2] for name in NAMES] == [f"{number:02d}" for number in range(1, 15)]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_lesson_has_a_prediction_an_exercise_and_sources(name):
    found = lesson(name)
    assert 1 <= len(found["steps"]) <= 8
    assert 2 <= found["minutes"] <= 5
    assert any("predict" in step for step in found["steps"])
    assert any("attempt" in step for step in found["steps"])
    assert found["sources"]


@pytest.mark.parametrize("name", NAMES)
def test_lessons_take_every_number_of_a_run_from_its_trace(name):
    text = (lessons.FOLDER / f"{name}.md").read_text()
    text = re.sub(r"\{\{.*?\}\}|\(https://\S+\)|holds = .*", "", text)
    assert {found.group() for found in NUMBER.finditer(text)} <= ALLOWED


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_prediction_about_a_verdict_is_asked_before_its_step(name):
    """A question about a verdict is asked at a step before it."""
    for step in lesson(name)["steps"]:
        then = step.get("predict", {}).get("then")
        if then is None:
            continue
        place = step["place"]
        rounds = recorded.trace(then["trace"]).rounds
        order = [
            (each.number, frame_at(scene, moment)["step"]["id"])
            for index, each in enumerate(rounds)
            if each.number in (place["round"], then["round"])
            for scene in [Scene.of(recorded.trace(then["trace"]), index)]
            for moment in scene.steps
        ]
        asked, shown = (order.index((at["round"], at["step"])) for at in (place, then))
        assert place["trace"] == then["trace"]
        assert asked < shown


def test_numbers_in_a_lesson_equal_those_of_the_caption_at_its_step(write):
    text = (
        '## A\n```toml\nat = "1 judge-5"\n```\n{{ token }} {{ p }} {{ q }} {{ threshold }} {{ u }}'
    )
    (step,) = write(text)["steps"]
    sentence = find_frame("01-chain", 1, "judge-5")["caption"]["parts"]
    shown = [
        part for part in sentence if not isinstance(part, str) and ("n" in part or "w" in part)
    ]
    assert [part for part in step["text"][0] if part != " "] == shown[:5]


def test_false_claim_in_a_lesson_is_an_error(write):
    with pytest.raises(BadLesson, match=r"does not satisfy 'run\.numbers\.speedup < 1'"):
        write('## A\n```toml\nholds = "run.numbers.speedup < 1"\n```\nSlow.')


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('at = "1 judge-9"', "has no step judge-9 in round 1"),
        ('at = "99 draw"', "has no step draw in round 99"),
        ('tab = "Play"', "there is no tab 'Play'"),
        ('preset = "none"', "the sandbox has no preset 'none'"),
        ('[predict]\nask="a"\noptions=["b"]\nanswer=1\nwhy="c"', "no option is number 1"),
    ],
)
def test_lesson_that_refers_to_something_missing_is_an_error(write, step, message):
    with pytest.raises(BadLesson, match=re.escape(message)):
        write(f"## A\n```toml\n{step}\n```\nText.")


def test_undefined_variable_in_a_lesson_is_an_error(write):
    with pytest.raises(Exception, match="'speed' is undefined"):
        write("## A\n\n{{ speed }}")


@pytest.mark.parametrize("name", ["", "..", "../README", "15-none", None, ["05"]])
def test_request_for_an_unknown_lesson_is_refused(name):
    with pytest.raises(ValueError, match="There is no lesson of this name"):
        answer({"lesson": name})


def test_lesson_markup_is_parsed_into_parts():
    found = inline("a **b** *c* [d](https://example.org/e) **f")
    assert found == [
        "a ",
        {"b": "b"},
        " ",
        {"i": "c"},
        " ",
        {"a": "d", "href": "https://example.org/e"},
        " **f",
    ]


def test_link_with_a_javascript_url_stays_text():
    assert inline("[d](javascript:alert(1))") == ["[d](javascript:alert(1))"]


def test_exact_values_of_a_preset_equal_known_values():
    values = Values("", None)
    assert values["overlap"]("example") == "0.65"
    assert values["bound"]("example") == "4"
    assert values["darts"]("example") == "0.25"
