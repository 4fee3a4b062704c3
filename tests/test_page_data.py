"""What Python sends to the page has the types that the page's TypeScript is checked against."""

from __future__ import annotations

import gzip
import json
from importlib import import_module

import pytest
from made import Recipe, made
from pydantic import TypeAdapter, ValidationError

from specviz.ui.compare.race import recorded as races
from specviz.ui.learn.lessons import lesson, titles
from specviz.ui.lossless.sandbox import PRESETS
from specviz.ui.lossless.sandbox.answer import reply
from specviz.ui.routes import given
from specviz.ui.step import player, tour
from specviz.ui.step import recorded as runs
from specviz.ui.step.lines import lines

RECIPES = [
    Recipe(),
    Recipe(shape=(3, 2, 1), bushy=True, replaced=True),
    Recipe(shape=(3, 2), point_mass=True),
    Recipe(greedy=True),
    Recipe(drafts=False, rounds=3),
    Recipe(chat=True, seed=18),
]
LAST_ROUND = 4


def check(module, name, texts):
    """Assert that JSON texts have a type of a module, and no field that the type does not have."""
    adapter = TypeAdapter(getattr(import_module(module), name))
    for text in texts:
        found = adapter.validate_json(text, strict=True)
        assert adapter.dump_python(found, mode="json") == json.loads(text)


def sent(packed):
    return gzip.decompress(packed).decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_lines_of_runs_have_their_types(recipe):
    run = made(recipe)
    check("specviz.ui.step.lines", "Line", lines([run.header, *run.events], "live", "1"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["04-medusa", "11-top-tree", "31-served"])
def test_lines_of_recorded_runs_have_their_types(name):
    """Check the first rounds; one whole run is checked below."""
    trace = runs.trace(name)
    early = [event for event in trace.events if getattr(event, "round", 0) <= LAST_ROUND]
    check("specviz.ui.step.lines", "Line", lines([trace.header, *early], "recorded"))


@pytest.mark.slow
def test_served_lines_of_a_recorded_run_have_their_types():
    check("specviz.ui.step.lines", "Line", sent(runs.body("23-lookahead")))


@pytest.mark.slow
@pytest.mark.parametrize("name", races.names())
def test_lines_of_recorded_races_have_their_types(name):
    check("specviz.ui.compare.race.lines", "Line", sent(races.body(name)))


@pytest.mark.parametrize(
    ("module", "name", "values"),
    [
        ("specviz.ui.step.player", "Config", player.config),
        ("specviz.ui.step.tour", "TourConfig", tour.config),
        ("specviz.ui.compare.race.recorded", "Config", races.config),
        ("specviz.ui.routes", "Given", lambda: json.loads(given()[12:-2])),
    ],
)
def test_data_that_the_page_starts_with_has_its_types(module, name, values):
    check(module, name, [json.dumps(values())])


@pytest.mark.parametrize("name", ["speculative", "none"])
def test_reply_to_an_experiment_has_its_type(name):
    p, q = ([*PRESETS[0][law]] for law in ("p", "q"))
    asked = {"p": p, "q": q, "drawn": "sampled", "candidates": 1, "rule": name, "number": 1}
    check("specviz.ui.lossless.sandbox.answer", "Reply", [json.dumps(reply(asked))])


def test_lessons_have_their_type():
    names = [each["id"] for each in titles("en")]
    check("specviz.ui.learn.lessons", "Lesson", [json.dumps(lesson(name)) for name in names])


def test_a_wrong_or_undeclared_field_is_reported():
    line = {"kind": "state", "id": "1", "state": "queued", "place": 2}
    check("specviz.ui.stream", "StateLine", [json.dumps(line)])
    with pytest.raises(ValidationError, match="place"):
        check("specviz.ui.stream", "StateLine", [json.dumps(line | {"place": "2"})])
    with pytest.raises(AssertionError):
        check("specviz.ui.stream", "StateLine", [json.dumps(line | {"position": 2})])
