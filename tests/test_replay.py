"""Runs and races as HTML files and in notebooks; tests/browser opens the files."""

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest
from made import Recipe, made

from specviz.commands.cli import main
from specviz.compare import storage
from specviz.compare.race import Results
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.ui.compare.race import replay as races
from specviz.ui.compare.race.replay import RACE
from specviz.ui.offline import Replay
from specviz.ui.step.lines import lines
from specviz.ui.step.recorded import names
from specviz.ui.step.replay import PLAYER, find_step, list_steps, replay

pytestmark = pytest.mark.slow
HOSTILE = "</script><!--<script><img src=x onerror=window.hacked=1>"
LIMIT = 1_500_000  # bytes of a file with one of the recorded runs


def size_of(name):
    return size(FOLDER / f"{name}.jsonl")


def size(path):
    return path.stat().st_size


@pytest.fixture(scope="module")
def run():
    return made(Recipe(odd=True))


@pytest.fixture(scope="module")
def race():
    return storage.read(storage.FOLDER / "1-story")


class Elements(HTMLParser):
    """The names and attributes of a page's elements."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def test_html_in_a_run_or_race_adds_no_element_to_the_replay_file(run, race):
    hostile = Trace(replace(run.header, prompt=HOSTILE), run.events)
    calm = Elements(replay(run)).found
    assert Elements(replay(hostile)).found == calm
    assert HOSTILE not in replay(hostile)
    assert not Elements(replay(hostile)).named("img")
    hostile = replace(race, race=replace(race.race, prompt=HOSTILE))
    page = races.replay(hostile, HOSTILE)
    assert Elements(page).found == Elements(races.replay(race, "x")).found
    assert HOSTILE not in page


PARTS = pytest.mark.parametrize("part", [PLAYER, RACE], ids=lambda part: part.name)


@PARTS
def test_replay_file_contains_no_links_to_fetch_and_its_policy_allows_none(part):
    elements = Elements(part.shell)
    policy = next(each for each in elements.named("meta") if "http-equiv" in each)["content"]
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    assert "http:" not in policy
    assert not re.search(r"script-src[^;]*unsafe", policy)
    assert not [each for _, each in elements.found if each.keys() & {"src", "href"}]
    style = re.search(r"<style>(.*?)</style>", part.shell, re.DOTALL)[1]
    assert not re.search(r"url\((?!#)", style)


@PARTS
def test_script_of_the_replay_file_imports_nothing_and_asks_no_server(part):
    text = part.start
    assert not re.search(r"\bimport\b\s*[\w{*(\"']", text)
    assert "import.meta" not in text
    assert ("sv-caption" in text) is (part is PLAYER), "the race has no modules of Step"


def test_replay_file_of_the_longest_recorded_run_and_race_is_small():
    longest = max(names(), key=size_of)
    assert len(replay(Trace.read(FOLDER / f"{longest}.jsonl")).encode()) < LIMIT
    folder = max(storage.FOLDER.glob("*-*"), key=lambda each: sum(map(size, each.iterdir())))
    assert len(races.replay(storage.read(folder), folder.name).encode()) < LIMIT


def test_step_of_a_replay_is_found_by_round_and_id(run):
    steps = [*list_steps(lines([run.header, *run.events], "recorded"))]
    rejected = find_step(steps, None, "rejected")
    lost = [played for played in run.rounds if not all(each.accepted for each in played.judged)]
    first = lost[0]
    node = next(each.node for each in first.judged if not each.accepted)
    assert rejected == {"round": first.number, "step": f"judge-{node}"}
    assert find_step(steps, 2, None)["round"] == 2
    assert find_step(steps, 2, "score") == {"round": 2, "step": "score"}
    assert find_step(steps, None, "end")["round"] == run.rounds[-1].number
    with pytest.raises(ValueError, match=r"^This run has no round 99\.$"):
        find_step(steps, 99, None)
    with pytest.raises(ValueError, match=r"^Round 2 has no step 'judge-99', only propose-1, .*\.$"):
        find_step(steps, 2, "judge-99")


def test_notebook_shows_a_trace_or_race_as_an_iframe_below_its_summary(run, race):
    shown = run._repr_html_()
    (frame,) = Elements(shown).named("iframe")
    assert frame["srcdoc"] == replay(run)
    summary = unescape(re.match(r"<p>(.*?)</p>", shown)[1])
    assert re.search(r"\d+ tokens in \d+ target passes", summary)
    assert not Elements(shown).named("script")
    opened = run.show(step="rejected")
    assert isinstance(opened, Replay)
    assert '"step": "judge-' in opened.html
    shown = race._repr_html_()
    (frame,) = Elements(shown).named("iframe")
    assert frame["srcdoc"] == races.replay(race, "results") == race.show().html
    assert "times as fast as plain decoding" in unescape(re.match(r"<p>(.*?)</p>", shown)[1])
    assert not Elements(shown).named("script")


def test_trace_without_rounds_is_shown_as_text_and_every_trace_has_a_short_one(run):
    empty = Trace(run.header)
    assert empty._repr_html_() is None
    text = "<Trace: made-up target with made-up drafter, 0 rounds, 0 tokens, unfinished>"
    assert repr(empty) == text
    assert len(repr(run)) < 120
    assert f"{len(run.rounds)} rounds" in repr(run)
    assert len(repr(run.show())) < 200


def test_a_race_that_has_not_begun_is_shown_as_text(race):
    empty = Results(race.race)
    assert empty._repr_html_() is None
    assert repr(empty) == "<Results: house, 0 of 5 lanes finished>"
    with pytest.raises(ValueError, match="none has run"):
        empty.show()
    lanes = "Medusa, plain, N-gram, Draft model, EAGLE-3"
    assert repr(race) == f"<Results: house, 5 of 5 lanes finished: {lanes}>"


def test_export_command_writes_files_of_runs_and_races_or_a_readable_error(run, tmp_path, capsys):
    run.write(tmp_path / "run.jsonl")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "race.json").write_text(json.dumps({"format": "x"}))
    file = tmp_path / "out.html"

    def export(path, *options):
        status = main(["export", str(path), "--html", str(file), *options])
        return status, capsys.readouterr()

    status, said = export(tmp_path / "run.jsonl", "--step", "rejected")
    assert status == 0
    assert re.fullmatch(r".*out\.html: \d+ rounds, 0\.\d MB\.\n", said.out)
    assert '"step": "judge-' in file.read_text("utf-8")
    status, said = export(storage.FOLDER / "2-repeat")
    assert status == 0
    assert re.fullmatch(r".*out\.html: 5 lanes, 0\.\d MB\.\n", said.out)
    whole = races.replay(storage.read(storage.FOLDER / "2-repeat"), "2-repeat")
    assert file.read_text("utf-8") == whole
    for wrong, sentence in (
        ((tmp_path / "run.jsonl", "--round", "99"), "This run has no round 99."),
        ((tmp_path / "none",), "cannot be read"),
        ((storage.FOLDER / "2-repeat", "--step", "rejected"), "leave out --round and --step"),
        ((tmp_path / "broken",), "cannot be read: "),
    ):
        status, said = export(*wrong)
        assert status == 2
        assert sentence in said.err
        assert said.err.count("\n") == 1
