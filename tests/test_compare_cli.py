"""`compare` on the command line: its JSON, its text, its lanes, and errors of one sentence."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import signal
import sys
from dataclasses import replace

import pytest
import tiny
from test_console import assert_one_sentence, raising

import specviz
from specviz.catalog import find, loading
from specviz.commands import compare as command
from specviz.commands.cli import build_parser, main
from specviz.commands.compare import parse_race
from specviz.commands.output import printable
from specviz.compare import run, storage
from specviz.compare.race import LaneProgress, Results
from specviz.compare.summary import race_summary
from specviz.frames.numbers import format_bytes
from specviz.settings.settings import BadSettings, Settings, add_settings
from specviz.trace.file import Trace
from specviz.trace.metrics import token_ids
from specviz.ui.compare.race.form import opening

pytestmark = pytest.mark.slow


def compare(pair, *options, prompt=tiny.PROMPT, tokens=12):
    """Return the exit status of a short race on the tiny target."""
    few = ["--prompt", prompt, "--max-new-tokens", str(tokens)]
    return main(["compare", "--target", str(pair[0]), *few, *options])


@pytest.fixture(scope="module")
def lanes(pair):
    """Return the options for a chain and a tree of the small model, and for n-grams."""
    return ["--drafters", f"{pair[1]},ngram", "--lane", f"{pair[1]} gamma=2 siblings=3,2"]


def test_compare_prints_a_table_and_writes_the_documented_json_and_traces(
    pair, lanes, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(command.secrets, "randbits", lambda _: 11)
    out, folder = tmp_path / "race.json", tmp_path / "traces"
    options = ["--temperature", "0", "--json", str(out), "--traces", str(folder)]
    assert compare(pair, *lanes, *options) == 0
    said, data = capsys.readouterr(), json.loads(out.read_text())
    assert_documented(data)
    assert said.out.startswith(printable(tiny.PROMPT + data["lanes"][0]["text"]))
    for text in [data["headline"], data["texts"]["sentence"]]:
        assert text in said.out
    for lane in data["lanes"]:
        assert_lane_is_printed(lane, said.out)
    assert f"--order-seed 11): {', '.join(data['order'])}" in said.err, "a random seed"
    assert [f"{i} of 4: {name}" for i, name in enumerate(data["order"], 1)] == [
        line for line in said.err.split("\n") if " of 4: " in line and ", run " not in line
    ]
    files = sorted(folder.glob("*.jsonl"))
    assert [file.name[0] for file in files] == list("1234")
    by_name = dict(zip(data["order"], files, strict=True))
    for lane in data["lanes"]:
        trace = Trace.read(by_name[lane["name"]])
        assert trace.baseline is not None
        assert main(["check", str(by_name[lane["name"]])]) == 0
        if lane["name"] != "plain":
            assert token_ids(trace) == lane["token_ids"]
    assert json.loads(json.dumps(race_summary(storage.read(folder)))) == data


def assert_documented(data):
    """Assert that the JSON of the race has the documented fields, and that they agree."""
    assert list(data) == [
        "prompt", "chat", "prompt_tokens", "target", "machine", "device", "dtype", "threads",
        "sampling", "seed", "max_new_tokens", "order_seed", "order", "complete", "headline",
        "caution", "texts", "lanes",
    ]  # fmt: skip
    names = ["small", "ngram", "small gamma=2 siblings=3,2", "plain"]
    assert [lane["name"] for lane in data["lanes"]] == names
    assert sorted(data["order"]) == sorted(names)
    assert (data["complete"], data["order_seed"], data["texts"]["same"]) == (True, 11, True)
    titles = [(lane["title"], lane["said"]) for lane in data["lanes"]]
    assert titles[1][0] == "N-gram"
    assert titles[2:] == [("small", "tree 3·2 · γ 2"), ("Plain decoding", "the baseline")]
    assert [lane["settings"]["siblings"] for lane in data["lanes"]] == [[], [], [3, 2], []]
    for lane in data["lanes"]:
        assert lane.keys() >= {
            "name", "title", "said", "sentence", "drafter", "tokens", "passes", "speedup",
            "brings", "costs", "kept", "guesses", "alpha", "depths", "flops", "flops_per_token",
            "seconds", "bytes", "held_bytes", "equality", "token_ids", "text", "timeline",
            "parts", "uneven",
        }  # fmt: skip
        assert lane["costs"].keys() == {"draft", "target", "overhead", "prefill", "total"}
        assert lane["speedup"] == pytest.approx(lane["brings"] / lane["costs"]["total"])
        assert lane["flops_per_token"] > 0
        assert (lane["held_bytes"] > 0) is lane["name"].startswith("small")
        assert lane["token_ids"] == data["lanes"][0]["token_ids"]


def assert_lane_is_printed(lane, said):
    """Assert that a lane's sentence is printed, and its row of the table."""
    assert lane["sentence"] in said
    apart = lane["speedups"] and " ({:.2f} to {:.2f})".format(*lane["speedups"])
    ratio = "" if lane["noise"] else f"{lane['speedup']:.2f}{apart or ''}"
    table = [re.split(" {2,}", line.strip()) for line in said.split("\n") if "  " in line]
    (line,) = [cells for cells in table if cells[0] == lane["name"]]
    numbers = [*filter(None, [ratio]), "12", f"{lane['seconds']:.2f}"]
    assert line[1 : 1 + len(numbers)] == numbers
    assert line[-2:] == [format_bytes(lane["bytes"]), format_bytes(lane["held_bytes"])]


def test_compare_can_be_called_from_python(pair):
    lanes = [str(pair[1]), f"{pair[1]} gamma=2 siblings=3,2", "ngram"]
    shared = {"max_new_tokens": 12}
    found = specviz.compare(tiny.PROMPT, lanes, str(pair[0]), order_seed=5, **shared)
    assert isinstance(found, Results)
    assert found.complete
    told = race_summary(found)
    assert (told["order_seed"], told["target"]) == (5, "big")
    assert told["texts"]["same"] is True
    assert [lane["settings"]["siblings"] for lane in told["lanes"]] == [[], [3, 2], [], []]
    assert {lane["tokens"] for lane in told["lanes"]} == {12}
    assert "4 of 4 lanes finished" in repr(found)
    for wrong, sentence in (
        ({"temprature": 0}, "There is no setting called 'temprature'."),
        ({"temperature": -1}, "temperature"),
    ):
        with pytest.raises(BadSettings, match=f"(?i){sentence}"):
            specviz.compare(tiny.PROMPT, lanes, str(pair[0]), **wrong)


def test_race_is_greedy_by_default():
    words = ["compare", "--prompt", "a", "--drafters", "ngram,suffix"]
    for options, temperature in ([], 0.0), (["--temperature", "0.7"], 0.7):
        race = parse_race(build_parser("compare").parse_args([*words, *options]))
        assert {lane.settings.sampling.temperature for lane in race.lanes} == {temperature}
    assert opening().sampling.temperature == 0.0, "the page's race"


@pytest.mark.parametrize("first", ["specviz", "specviz.compare.race", "specviz.compare"])
def test_package_can_be_called_however_it_was_imported(first, monkeypatch):
    for name in own_modules():
        monkeypatch.delitem(sys.modules, name)
    try:
        importlib.import_module(first)
        importlib.import_module("specviz.compare.race")
        with pytest.raises(ValueError, match="A race has 2 to 4 lanes besides plain decoding, not"):
            sys.modules["specviz"].compare("a", ["ngram"], order_seed=1)
    finally:
        for name in own_modules():
            del sys.modules[name]  # monkeypatch restores the modules of before


def own_modules():
    """Return the names of all imported modules of the package."""
    return [name for name in sys.modules if name.split(".")[0] == "specviz"]


def test_compare_prints_all_differing_texts_with_the_reason(pair, lanes, capsys):
    options = [*lanes, "--temperature", "1.2"]
    assert compare(pair, *options, prompt=f"\x1b[2J{tiny.PROMPT}") == 0
    said = capsys.readouterr().out
    assert said.count(tiny.PROMPT) == 4
    assert said.count("another sample of the same distribution") == 3
    assert "\x1b" not in said, "a control character of the prompt"
    assert compare(pair, *options, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["texts"]["same"] is False


def lane(text, *options):
    """Return the lane that a text and the other options describe."""
    parser = argparse.ArgumentParser()
    add_settings(parser)
    asked = command.parse_lane(text, parser.parse_args(options))
    return asked.lane(asked.text)


def test_settings_of_a_lane_override_options_which_override_defaults():
    usual = lane("eagle").settings
    eagle = find("eagle", "drafter").usual
    assert (usual.gamma, usual.siblings) == (eagle["gamma"], eagle["siblings"])
    assert lane("eagle", "--gamma", "3").settings == replace(usual, gamma=3)
    found = lane("eagle gamma=4 siblings=2", "--gamma", "3", "--seed", "7")
    assert found.settings == replace(usual, gamma=4, siblings=[2], seed=7)
    assert (found.name, found.drafter) == ("eagle gamma=4 siblings=2", "eagle")
    assert lane("ngram").settings == Settings(gamma=10)
    assert lane("uniform").settings == Settings()


def test_lane_accepts_both_option_names_and_setting_names():
    found = lane("lookahead lookahead_window=7 lookahead-ngram=3 rank_paths='0;1;0,0' siblings=")
    assert (found.settings.lookahead_window, found.settings.lookahead_ngram) == (7, 3)
    assert (found.settings.rank_paths, found.settings.siblings) == ([[0], [1], [0, 0]], [])
    assert lane("'a folder/b' gamma=2").drafter == "a folder/b"


WRONG_OPTIONS = [  # after `--drafters ngram,suffix`, unless others are given
    (["--drafters", "ngram"], "A race has 2 to 4 lanes besides plain decoding, not 1"),
    (["--drafters", ""], "not 0"),
    (["--drafters", "ngram,nobody"], "No model is called 'nobody'"),
    (["--gamma", "0"], "specviz: γ must be"),
    (["--gamma", "x"], "γ must be a number, not 'x'"),
    (["--top-k", "999"], "Top-k 999 is larger"),
    (["--prompt", " "], "prompt is empty"),
    (["--order-seed", str(2**63)], "order must fit in 64 bits"),
    (["--json", "no/such/place"], "cannot be written"),
    (["--traces", "no/such/place"], "cannot be a folder for traces"),
]
WRONG_LANES = {  # after `--drafters ngram --lane`
    "": "A lane is a drafter and its settings, such as",
    "suffix gamma": "'gamma' is not a setting; write it",
    "suffix =3": "'=3' is not a setting; write it",
    "suffix colour=red": "no setting called colour",
    "suffix gam=3": "no setting called gam",
    "suffix gamma=x": "gamma=x': γ must be a number, not 'x'",
    "suffix gamma=0": "Lane 'suffix gamma=0': γ must be",
    "suffix 'gamma=3": "No closing quotation",
    "suffix seed=2": "All lanes of a race must have the same",
    "suffix rule=speculative": "Lane 'suffix rule=specu",
}
WRONG = WRONG_OPTIONS + [
    (["--drafters", "ngram", "--lane", text], pattern) for text, pattern in WRONG_LANES.items()
]


@pytest.mark.parametrize(("options", "pattern"), WRONG)
def test_invalid_input_prints_one_sentence_and_exits_with_2(pair, capsys, options, pattern):
    try:
        status = compare(pair, "--drafters", "ngram,suffix", *options)
    except SystemExit as exit:
        status = exit.code
    assert_one_sentence(capsys, status, pattern)


def test_compare_checks_settings_before_it_loads_a_model(pair, capsys, monkeypatch):
    monkeypatch.setattr(loading, "load_target", raising(AssertionError("a model was read")))
    for options, pattern in (
        (["ngram"], "2 to 4 lanes"),
        (["a,b", "--top-p", "0"], "Top-p must be"),
        (["a,b", "--json", "no/place"], "cannot be written"),
    ):
        assert_one_sentence(capsys, compare(pair, "--drafters", *options), pattern)


def test_an_interrupted_race_writes_its_finished_lanes(pair, lanes, tmp_path, monkeypatch):

    whole, passes = run.run, []

    def interrupted(*args, **options):
        for event in whole(*args, **options):
            yield event
            passes.append(event) if isinstance(event, LaneProgress) else None
            if len(passes) == 15 and passes[-1] is event:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(run, "run", interrupted)
    out, folder = tmp_path / "race.json", tmp_path / "traces"
    before = signal.getsignal(signal.SIGINT)
    places = ["--json", str(out), "--traces", str(folder)]
    assert compare(pair, *lanes, *places, "--order-seed", "4", tokens=60) == 130
    assert signal.getsignal(signal.SIGINT) is before
    data = json.loads(out.read_text())
    assert data["complete"] is False
    came = {lane["name"]: lane for lane in data["lanes"]}
    assert came.keys() < {*data["order"]}
    assert came[data["order"][len(came) - 1]]["ended"] == "stopped"
    files = sorted(folder.glob("*.jsonl"))
    assert len(files) == len(came)
    assert list(storage.read(folder).traces) == data["order"][: len(came)]
    for file in files:
        assert main(["check", str(file)]) == 0
