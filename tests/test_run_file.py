"""Runs as files: they have the structure of the player's lines, and `export` writes them.

The browser reads them: see tests/browser/test_open_run.py.
"""

import json
from typing import Any

import pytest
from made import Recipe, made

from specviz.commands.cli import main
from specviz.frames import apply_patch
from specviz.shipped import FOLDER
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.ui.step import recorded
from specviz.ui.step.lines import lines
from specviz.ui.step.recorded import names
from specviz.ui.step.run_file import FORMAT, VERSION, FileShape, Shape, run_file, shape

# Recorded runs that differ in their drafter and rule, and so in what a line can hold.
USUAL = ("01-chain", "03-tree", "09-greedy", "11b-block", "13-eagle2", "23-lookahead", "31-served")
PLAIN = {
    "string": lambda value: isinstance(value, str),
    "escaped": lambda value: isinstance(value, str) and not set("<>") & set(value),
    "number": lambda value: type(value) in (int, float) and abs(value) < 1e6,
    "integer": lambda value: type(value) is int and abs(value) < 1e9,
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "any": lambda value: True,
}


def fault(value: Any, form: Shape, records: dict[str, Any], where: str = "") -> str | None:
    """Where a value differs from a shape, as `run_file.ts` finds it; None if nowhere."""
    if isinstance(form, str):
        return None if PLAIN[form](value) else where
    if "is" in form:
        return None if value in form["is"] else where
    if "either" in form:
        found = [fault(value, each, records, where) for each in form["either"]]
        return None if None in found else f"{where} (any of {found})"
    if not isinstance(value, list if {"list", "tuple"} & form.keys() else dict):
        return where
    shapes = shapes_of(value, form, records)
    keys = set(range(len(value)) if isinstance(value, list) else value)
    if keys ^ shapes.keys():
        return f"{where}: {sorted(map(str, keys ^ shapes.keys()))}"
    inner = (fault(value[name], shapes[name], records, f"{where}.{name}") for name in shapes)
    return next((found for found in inner if found is not None), None)


def shapes_of(value: Any, form: dict[str, Any], records: dict[str, Any]) -> dict[Any, Shape]:
    """The shapes of a value's parts by key; for a record, also those of its missing fields."""
    if "record" in form:
        fields, may = (records[form["record"]][name] for name in ("fields", "may"))
        return {name: fields[name] for name in fields if name in value or name not in may}
    if "tuple" in form:
        return dict(enumerate(form["tuple"]))
    every = form.get("list", form.get("map"))
    return dict.fromkeys(range(len(value)) if isinstance(value, list) else value, every)


def faults(trace: Trace, known: FileShape) -> list[str]:
    """All differences of a run's lines and frames from their shapes."""
    found, first = [], {}
    for text in lines([trace.header, *trace.events], "recorded", "run"):
        line = json.loads(text)
        wrong = [fault(line, known["lines"][line["kind"]], known["records"], line["kind"])]
        frames = []
        if line["kind"] == "round":
            first = line["first"]
            frames = [first, *(apply_patch(first, patch) for patch in line["then"])]
            frames += [apply_patch(frames[int(at) - 1], p) for at, p in line["asks"].items()]
        if "end" in line:
            frames = [apply_patch(first, line["end"])]
        wrong += [fault(frame, known["frame"], known["records"], "frame") for frame in frames]
        found += [each for each in wrong if each is not None]
    return found


OTHERS = [pytest.param(name, marks=pytest.mark.nightly) for name in names() if name not in USUAL]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*USUAL, *OTHERS])
def test_page_accepts_the_structure_of_every_recorded_run(name):
    assert faults(Trace.read(FOLDER / f"{name}.jsonl"), shape()) == []


def test_opening_run_is_faster_than_plain_decoding_and_soon_rejects_what_another_u_would_keep():
    opening = recorded.trace(names()[0])
    assert metrics.summary(opening)["speedup"] >= 1.6
    assert metrics.explain_noise(opening, opening.baseline) is None
    early = [played for played in opening.rounds if played.number in (1, 2)]
    rejected = [event for played in early for event in played.judged if not event.accepted]
    assert any(
        min(event.inputs["p"], event.inputs["q"]) >= 0.05 and 0.2 <= event.threshold <= 0.8
        for event in rejected
    )


@pytest.mark.slow
def test_page_accepts_the_structure_of_made_up_runs_and_refuses_others():
    known = shape()
    for odd in (False, True):
        assert faults(made(Recipe(odd=odd)), known) == [], odd
    frame = {"record": "figures.charts.DrawnFrame"}
    assert known["frame"] == frame
    assert fault({}, frame, known["records"]) == ": ['caption', 'chips', 'panel', 'step', 'tree']"
    chart = known["records"]["ui.step.run_file.ChartText"]["fields"]["text"]
    assert fault(["a &lt; b"], chart, known["records"]) is None
    assert fault(['<a href="https://example.org">x</a>'], chart, known["records"]) == ".0"


@pytest.mark.slow
def test_export_command_writes_a_run_file_for_the_page_or_a_readable_error(tmp_path, capsys):
    run = made(Recipe())
    run.write(tmp_path / "trace.jsonl")
    file, command = tmp_path / "run.jsonl", ["export", str(tmp_path / "trace.jsonl")]
    assert main([*command, "--run", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: {len(run.rounds)} rounds, ")
    first, *rest = file.read_text("utf-8").splitlines()
    assert json.loads(first) == {"format": FORMAT, "version": VERSION, "lines": len(rest)}
    assert [json.loads(line)["kind"] for line in rest][:2] == ["run", "round"]
    assert run_file(lines([run.header, *run.events], "recorded", "run")) == file.read_text("utf-8")
    for options, sentence in (
        ([], "Name a file to write: --html FILE or --run FILE."),
        (["--run", "x", "--round", "1"], "leave them out with --run."),
    ):
        assert main([*command, *options]) == 2
        said = capsys.readouterr()
        assert sentence in said.err
        assert said.err.count("\n") == 1
