"""A drafter from outside the package: one file and one catalogue row suffice to run and show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from families import CHAIN, LETTERS, PAIRS, small

from specviz import engine
from specviz.catalog import NotAvailable, entry, load_drafter
from specviz.commands import cli
from specviz.compare.domains import Cell, choices
from specviz.compare.domains.heatmap import HeatMap, headline
from specviz.compare.race import Lane, Race, Results
from specviz.compare.run import run as race
from specviz.compare.summary import race_summary
from specviz.drafters.contract import check_drafter
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
    """Add the rows of another file to the catalogue."""
    assert entry.MORE_ROWS == "SPECVIZ_CATALOG"  # as documented
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


def test_package_does_not_name_third_party_drafter():
    assert entry.find("bigram", "drafter") is None
    named = [p for p in (HERE.parent / "specviz").rglob("*.py") if "bigram" in p.read_text("utf-8")]
    assert not named


@pytest.mark.slow
def test_third_party_drafter_satisfies_the_contract(row):
    made = small(lambda target: load_drafter("bigram", target), CHAIN, prompts=[PAIRS, *LETTERS])
    check_drafter(made)


@pytest.mark.slow
def test_trace_of_a_third_party_drafter_passes_check_and_can_be_shown(row, tiny_target):
    drafter = load_drafter("bigram", tiny_target)
    assert (drafter.card.name, drafter.card.family) == ("bigram", "bigram")
    for settings in (GREEDY, Settings(max_new_tokens=24)):
        header, *events = engine.run(tiny_target, drafter, tiny.PROMPT, settings)
        trace = Trace(header, events)
        check(trace)
        assert trace.finished.held_bytes == 0  # it stores the text and no tensors
        shown = [frames(Scene.of(trace, index)) for index in range(len(trace.rounds))]
        assert max(map(len, shown)) > 3  # at least one guess was judged
        json.dumps(shown, allow_nan=False)


def test_page_offers_and_explains_third_party_drafter(row):
    assert "bigram" in [one.name for one in drawer.drafters()]
    assert "bigram" in player.config()["drafters"]
    card = drawer.card(row)
    for part in (row.how, row.knows, row.costs, diagram(row.diagram), row.diagram["says"]):
        assert part in card
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
    assert "copies" in headline(
        HeatMap.from_cells(cells, ["bigram", "eagle"], ["stories", "repeat"], 1)
    )


@pytest.mark.slow
def test_command_line_lists_and_runs_third_party_drafter(row, pair, tmp_path, capsys):
    assert cli.main(["models", "--json"]) == 0
    (said,) = [row for row in json.loads(capsys.readouterr().out) if row["name"] == "bigram"]
    assert (said["kind"], said["layout"], said["bytes"]) == ("drafter", "no weights", 0)
    path = tmp_path / "run.jsonl"
    options = ["--target", str(pair[0]), "--drafter", "bigram", "--prompt", tiny.PROMPT]
    assert cli.main(["run", *options, "--trace", str(path)]) == 0
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
    ("changes", "sentence"),
    [
        ({"drafter": "nowhere:Bigram"}, "The code of 'bigram' cannot be imported"),
        ({"drafter": "bigram:Trigram"}, "The code of 'bigram' cannot be imported"),
        ({"drafter": "no path:at all"}, "The code of 'bigram' cannot be imported"),
        ({"drafter": "bigram"}, "The code of 'bigram' is not a drafter"),
        (
            {"drafter": "specviz.drafters.medusa:Medusa", "folder": "heads"},
            "its weights belong in",
        ),
    ],
)
def test_missing_class_or_weights_of_a_drafter_raise_readable_error(
    changes, sentence, tmp_path, monkeypatch, tiny_target
):
    (tmp_path / "rows.json").write_text(rows(**changes))
    use(monkeypatch, tmp_path / "rows.json")
    if "folder" in changes:  # relative to the catalogue file
        assert entry.find("bigram", "drafter").path == tmp_path / "heads"
    with pytest.raises(NotAvailable, match=sentence):
        load_drafter("bigram", tiny_target)
