"""A drafter from outside the package: one file and one catalogue row suffice to run and show it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from families import CHAIN, LETTERS, PAIRS, small

from specviz import engine
from specviz.catalog import NotAvailable, entry, load, load_drafter
from specviz.commands import cli
from specviz.compare.domains import Cell, choices
from specviz.compare.domains.heatmap import HeatMap, headline
from specviz.compare.race import Lane, Race, Results
from specviz.compare.run import run as race
from specviz.compare.summary import race_summary
from specviz.drafters.contract import CHECKS, run_check
from specviz.figures.diagram import diagram
from specviz.frames import Scene, frames
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.ui.request import RunRequest
from specviz.ui.step import drawer, player

HERE = Path(__file__).resolve().parent
OUTSIDE = HERE / "third_party"
GREEDY = Settings(Sampling(temperature=0), max_new_tokens=24, gamma=3)


def use(monkeypatch, path):
    """Return the catalogue with the rows of another file."""
    monkeypatch.setenv(entry.MORE_ROWS, str(path))
    monkeypatch.syspath_prepend(str(OUTSIDE))
    entry.entries.cache_clear()


@pytest.fixture(autouse=True)
def _only_here():
    """Remove the rows after each test."""
    yield
    entry.entries.cache_clear()


@pytest.fixture
def row(monkeypatch):
    """Return the sample drafter's catalogue row."""
    use(monkeypatch, OUTSIDE / "catalog.json")
    return entry.find("bigram", "drafter")


def traced(target, drafter, settings):
    header, *events = engine.run(target, drafter, tiny.PROMPT, settings)
    return Trace(header, events)


def test_package_does_not_name_third_party_drafter():
    assert entry.find("bigram", "drafter") is None
    named = [p for p in (HERE.parent / "specviz").rglob("*.py") if "bigram" in p.read_text("utf-8")]
    assert not named


def test_third_party_drafter_is_listed(row, capsys):
    assert cli.main(["models", "--json"]) == 0
    (said,) = [row for row in json.loads(capsys.readouterr().out) if row["name"] == "bigram"]
    assert (said["kind"], said["layout"], said["bytes"]) == ("drafter", "no weights", 0)
    assert cli.main(["models"]) == 0
    assert row.about in capsys.readouterr().out


@pytest.mark.slow
def test_third_party_drafter_loads_and_is_lossless(row, pair):
    target, drafter = load(str(pair[0]), "bigram")
    assert (drafter.card.name, drafter.card.family) == ("bigram", "bigram")
    trace = traced(target, drafter, GREEDY)
    ours = [token for played in trace.rounds for token in played.committed.tokens]
    ids = target.encode(tiny.PROMPT, GREEDY.max_new_tokens)
    assert ours == [step.token for step in engine.plain(target, ids, GREEDY)]
    assert any(event.accepted for played in trace.rounds for event in played.judged)
    assert trace.finished.held_bytes == 0  # it stores the text and no tensors


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
def test_third_party_drafter_satisfies_the_contract(check, row):
    run_check(
        check,
        small(lambda target: load_drafter("bigram", target), CHAIN, prompts=[PAIRS, *LETTERS]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("settings", [GREEDY, Settings(max_new_tokens=24)], ids=["greedy", "warm"])
def test_trace_of_a_third_party_drafter_passes_check_and_can_be_shown(settings, row, tiny_target):
    trace = traced(tiny_target, load_drafter("bigram", tiny_target), settings)
    check(trace)
    shown = [frames(Scene.of(trace, index)) for index in range(len(trace.rounds))]
    assert max(map(len, shown)) > 3  # at least one guess was judged
    json.dumps(shown, allow_nan=False)


def test_page_offers_and_explains_third_party_drafter(row):
    assert "bigram" in [one.name for one in drawer.drafters()]
    assert "bigram" in player.config()["drafters"]
    card = drawer.card(row)
    for sentence in (row.how, row.knows, row.costs):
        assert sentence in card
    assert diagram(row.diagram) in card
    assert row.diagram["says"] in card
    asked = RunRequest.from_json({"prompt": "Once", "drafter": "bigram"})
    assert asked.settings.gamma == row.usual["gamma"]


@pytest.mark.slow
def test_third_party_drafter_can_race(row, tiny_target):
    lanes = (Lane("Bigram", "bigram", GREEDY), Lane("N-gram", "ngram", GREEDY))
    results = Results(Race(tiny.PROMPT, "tiny", lanes, 1))
    drafters = {lane.name: load_drafter(lane.drafter, tiny_target) for lane in lanes}
    for event in race(tiny_target, drafters, results.race):
        results.add(event)
    told = race_summary(results)
    assert told["texts"]["same"]
    (lane,) = [lane for lane in told["lanes"] if lane["name"] == "Bigram"]
    assert lane["sentence"]


def test_map_by_domain_describes_a_third_party_drafter_that_copies_text(row):
    assert ("Bigram", "bigram") in choices()
    speedups = {("bigram", "repeat"): 2.0, ("eagle", "repeat"): 1.5, ("bigram", "stories"): 1.1}
    speedups["eagle", "stories"] = 1.5
    cells = [
        Cell(name, domain, 1, speedup, 1.0, 2.0, None, 3.0, 100.0)
        for (name, domain), speedup in speedups.items()
    ]
    said = headline(HeatMap.from_cells(cells, ["bigram", "eagle"], ["stories", "repeat"], 1))
    assert "copies" in said
    assert "fastest on repetition; elsewhere others are" in said


@pytest.mark.slow
def test_command_line_runs_third_party_drafter(pair, tmp_path):
    path = tmp_path / "run.jsonl"
    more = {"SPECVIZ_CATALOG": str(OUTSIDE / "catalog.json"), "PYTHONPATH": str(OUTSIDE)}
    options = ["--target", str(pair[0]), "--drafter", "bigram", "--prompt", tiny.PROMPT]
    command = [sys.executable, "-m", "specviz", "run", *options, "--trace", str(path)]
    done = subprocess.run(
        command, cwd=HERE.parent, env=os.environ | more, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    trace = Trace.read(path)
    assert trace.header.drafter.name == "bigram"
    assert trace.header.settings["gamma"] == 3


def rows(**changes):
    (row,) = json.loads((OUTSIDE / "catalog.json").read_text(encoding="utf-8"))
    return json.dumps([{**row, **changes}])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read"),
        ("{", "is not valid JSON"),
        ("[5]", "has an invalid row"),
        (rows(colour="red"), "has an invalid row.*colour"),
        (rows(drafter=""), "the row 'bigram' needs a drafter"),
        (rows(kind="target"), "the row 'bigram' needs a drafter"),
        (rows(name="ngram"), "a drafter called 'ngram' already"),
    ],
)
def test_invalid_catalogue_rows_raise_readable_error(text, sentence, tmp_path, monkeypatch, capsys):
    path = tmp_path / "rows.json"
    if text is not None:
        path.write_text(text)
    use(monkeypatch, path)
    with pytest.raises(ValueError, match=sentence):
        entry.entries()
    for command in (["models"], ["train", "--help"]):
        assert cli.main(command) == 2
        assert entry.MORE_ROWS in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("nowhere:Bigram", "cannot be imported"),
        ("bigram:Trigram", "cannot be imported"),
        ("no path:at all", "cannot be imported"),
        ("bigram", "is not a drafter"),
    ],
)
def test_missing_class_of_a_drafter_raises_readable_error(
    path, sentence, tmp_path, monkeypatch, tiny_target
):
    (tmp_path / "rows.json").write_text(rows(drafter=path))
    use(monkeypatch, tmp_path / "rows.json")
    with pytest.raises(NotAvailable, match=f"The code of 'bigram' {sentence}"):
        load_drafter("bigram", tiny_target)


def test_weights_folder_is_relative_to_the_catalogue_file(tmp_path, monkeypatch, tiny_target):
    (tmp_path / "rows.json").write_text(
        rows(drafter="specviz.drafters.medusa:Medusa", folder="heads")
    )
    use(monkeypatch, tmp_path / "rows.json")
    assert entry.find("bigram", "drafter").path == tmp_path / "heads"
    with pytest.raises(NotAvailable, match="its weights belong in"):
        load_drafter("bigram", tiny_target)
