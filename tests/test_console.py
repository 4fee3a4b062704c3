"""The command line: output, files and errors; help, tables, colour and progress on a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import runpy
import signal
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
import tiny
import torch
from test_bad_input import refused

from specviz import __version__, engine
from specviz.catalog import NotAvailable, load_drafter, load_target
from specviz.catalog.loading import training_family
from specviz.commands import progress
from specviz.commands.cli import COMMANDS, GROUPS, build_parser, main
from specviz.commands.output import Column, print_table, printable
from specviz.commands.pipes import allow_closed_pipes, is_reader_gone
from specviz.commands.progress import CallProgress, DownloadProgress
from specviz.compare.domains import Plan
from specviz.compare.lanes import parse_lane, shared_options
from specviz.cost.roofline import bytes_per_number
from specviz.models.errors import MismatchedVocabulary
from specviz.settings.settings import Settings
from specviz.settings.suggestion import did_you_mean
from specviz.shipped import FOLDER
from specviz.trace import metrics
from specviz.trace.events import Committed, Finished
from specviz.trace.file import Trace
from specviz.trees.shapes import published_tree
from specviz.ui.request import RunRequest, require_listed
from specviz.ui.step import recorded
from specviz.ui.step.embed import excerpt
from specviz.ui.step.replay import replay
from specviz.verification import make_rule
from specviz.verification.distributions import BadScores

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "specviz"]
WIDE = [Column("Name"), Column("Number", right=True), Column("About", wrap=True)]
ABOUT = "a sentence that is much longer than eighty columns " * 4


def printed(capsys, *words):
    """Return what a command prints to a pipe."""
    try:
        status = main(list(words))
    except SystemExit as ended:
        status = ended.code
    said = capsys.readouterr()
    assert (status, said.err) == (0, "")
    return said.out


def without_style(text):
    """Return a text without the escape codes of colours and bold type."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def on_terminal(*command):
    """Return what a command prints on a terminal."""
    leader, follower = pty.openpty()
    ours = ("NO_COLOR", "COLUMNS", "LINES")  # of the terminal that the tests run in
    plain = {name: value for name, value in os.environ.items() if name not in ours}
    environment = plain | {"TERM": "xterm-256color"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), follower)
    with subprocess.Popen(command, cwd=ROOT, env=environment, **streams) as process:
        os.close(follower)
        text = b""
        while chunk := _read(leader):
            text += chunk
        process.wait(180)
    os.close(leader)
    return text.decode().replace("\r\n", "\n")


def _read(leader):
    try:
        return os.read(leader, 1 << 16)
    except OSError:  # the other end is closed
        return b""


# A reader that has closed the pipe


CLOSED = [  # the closed stream, the command and its status
    ("stdout", ["models"], 0),
    ("stdout", ["models", "--json"], 0),  # more than a buffer holds
    ("stdout", ["check", str(FOLDER / "recipes.json")], 1),
    ("stderr", ["check", str(FOLDER / "recipes.json")], 1),
    ("stderr", ["run", "--nothing"], 2),
]


@pytest.mark.parametrize(("stream", "words", "status"), CLOSED)
def test_a_closed_pipe_changes_neither_status_nor_errors(stream, words, status):
    reader, writer = os.pipe()
    os.close(reader)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: writer}
    done = subprocess.run([*PROGRAM, *words], cwd=ROOT, text=True, check=False, **streams)
    os.close(writer)
    assert done.returncode == status
    if stream == "stdout":
        assert (status == 0) == (not done.stderr), done.stderr


@pytest.mark.slow
def test_a_command_writes_its_files_after_its_reader_has_gone(models, tmp_path, monkeypatch):
    files = [tmp_path / name for name in ("run.jsonl", "run.json", "counts.json")]
    names = ("--trace", "--json", "--metrics")
    options = [str(part) for option in zip(names, files, strict=True) for part in option]
    reader, writer = os.pipe()
    os.close(reader)
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # restored too
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        allow_closed_pipes()
        assert run(models, *options, tokens=6) == 0
        sys.stdout.flush()
        assert is_reader_gone()
    assert all(path.stat().st_size for path in files)


# The help


def test_help_is_printed_without_a_command_and_with_the_option(capsys):
    for words in ([], ["--help"], ["-h"]):
        assert printed(capsys, *words).startswith("usage: specviz COMMAND [OPTIONS]\n")
    for command in COMMANDS:
        assert f"specviz {command}" in printed(capsys, command, "--help")
    assert printed(capsys, "--version") == f"specviz {__version__}\n"


def test_help_lists_every_command_once_under_its_heading(capsys):
    said = printed(capsys)
    for heading, commands in GROUPS.items():
        below = said.split(f"\n{heading}:\n")[1].split("\n\n")[0]
        names = re.findall(r"^  (\S+)  ", below, re.MULTILINE)
        assert names == [command.name for command in commands]
    modules = {path.stem for path in (ROOT / "specviz" / "commands").glob("*.py")}
    assert {*COMMANDS} < modules


@pytest.mark.parametrize("command", ["run", "compare", "bench"])
def test_help_lists_common_options_and_help_all_lists_every_option(command, capsys):
    texts = [printed(capsys, command, word) for word in ("--help", "--help-all")]
    shown = re.compile(r"^  (?:-h, )?(--[\w-]+)", re.MULTILINE)
    short, whole = (set(shown.findall(text)) for text in texts)
    parser = build_parser(command)._subparsers._group_actions[0].choices[command]
    every = {text for action in parser._actions for text in action.option_strings} - {"-h"}
    assert whole == every
    assert short < whole
    assert len(short) <= 14
    assert {"--help-all", "--temperature", "--json", "--target"} <= short
    assert f"`specviz {command} --help-all` lists all options" in texts[0]
    assert f"show all {len(every)} options" in texts[0]


def test_app_py_accepts_the_options_of_serve(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["app.py", "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
    said, served = capsys.readouterr().out, printed(capsys, "serve", "--help")
    assert said.startswith("usage: python app.py [OPTIONS]")
    assert served == said.replace("python app.py", "specviz serve", 1)


# Suggestions


MISSPELLED = {
    "rnu": "No command is called 'rnu'. Did you mean 'run'?",
    "Models": "Did you mean 'models'?",
    "run --promt a": "unrecognized arguments: --promt. Did you mean '--prompt'?",
    "run --prompt a --gama=3": "Did you mean '--gamma'?",
    "trees rank": "No part is called 'rank'. Did you mean 'ranks'?",
    "train haeds": "No stage is called 'haeds'. Did you mean 'heads'?",
    "train heads --names eagel": "Did you mean 'eagle'?",
    "shapes qwen3-4": "Did you mean 'qwen3-4b'?",
    "server - --hardware h100": "Did you mean 'h100-sxm'?",
    "fetch smolm2": "Did you mean 'smollm2'?",
    "run --prompt a --target hosue": "Did you mean 'house'?",
    "run --prompt a --rule specualtive": "Did you mean 'speculative'?",
    "run --prompt a --rule typcal:0.1": "Did you mean 'typical'?",
    "run --prompt a --candidates gredy": "Did you mean 'greedy'?",
    "run --prompt a --dtype flaot32": "Did you mean 'float32'?",
    "run --prompt a --device cdua:0": "Did you mean 'cuda'?",
}


@pytest.mark.parametrize(("words", "phrase"), MISSPELLED.items())
def test_a_misspelled_name_is_rejected_with_a_suggestion(words, phrase, capsys):
    refused(capsys, words.split(), phrase)


RUN = recorded.names()[0]
MISSPELLED_IN_PYTHON = {
    "setting": (lambda: Settings.from_json({"gama": 3}), "gamma"),
    "rule": (lambda: make_rule("pointmass"), "point-mass"),
    "shape of a tree": (lambda: published_tree("eagel-25"), "eagle-25"),
    "setting of a lane": (lambda: parse_lane("ngram gama=3", Namespace()), "gamma"),
    "choice of a lane": (
        lambda: parse_lane("ngram schedule=leraning", Namespace()).lane("a"),
        "learning",
    ),
    "setting of a race": (lambda: shared_options({"temprature": 0}), "temperature"),
    "head": (lambda: training_family("medusae"), "medusa"),
    "field of a request": (lambda: RunRequest.from_json({"prompt": "a", "seting": 1}), "settings"),
    "model of a request": (lambda: require_listed("housee", "target"), "house"),
    "drafter of a map": (lambda: Plan(("draft-modle",)), "draft-model"),
    "part of the player": (lambda: replay(recorded.trace(RUN), show=("txet",)), "text"),
    "run to embed": (lambda: excerpt(RUN + "x", "", "", ""), RUN),
    "number format": (lambda: bytes_per_number("bf61"), "bf16"),
}


@pytest.mark.parametrize("case", MISSPELLED_IN_PYTHON.values(), ids=MISSPELLED_IN_PYTHON)
def test_a_misspelled_name_in_python_and_on_the_page_gets_a_suggestion(case):
    call, name = case
    with pytest.raises(ValueError, match=f"Did you mean '{name}"):
        call()


def test_an_unfamiliar_name_gets_no_suggestion(tiny_target):
    assert did_you_mean("xyzzy", ["eagle", "medusa"]) == ""
    assert did_you_mean("EAGLE2", ["eagle", "eagle2"]) == " Did you mean 'eagle2'?"
    for name in ("xyzzy", "eagle4"):  # like the name of a drafter, but of no target
        with pytest.raises(NotAvailable) as found:
            load_target(name)
        assert "Did you mean" not in str(found.value)
        assert str(found.value).startswith(f"No model is called '{name}'. Use a name that `python")
    with pytest.raises(NotAvailable, match="Did you mean 'eagle'"):
        load_drafter("eagel", tiny_target)


def test_folder_with_a_name_similar_to_a_drafter_is_loaded(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("eagel").symlink_to(pair[1])
    assert load_drafter("eagel", load_target(str(pair[0]), "cpu")).card.family == "draft-model"


# Tables and colour


def test_a_table_in_a_pipe_is_plain_with_one_line_per_row(capsys):
    print_table(WIDE, [["a", "1.5", ABOUT], ["longer", "22.25", "[red]x[/red] :smile:"]])
    print_table(WIDE, [["a\x1b[2Jb", "1", "two\nlines"]])
    assert capsys.readouterr().out == (
        f"Name    Number  About\na          1.5  {ABOUT.strip()}\n"
        "longer   22.25  [red]x[/red] :smile:\n"
        "Name    Number  About\na\ufffd[2Jb       1  two lines\n"
    )
    assert printable("a\x1b[2Jb\n\tc\x00é") == "a\ufffd[2Jb\n\tc\ufffdé"


def test_models_command_in_a_pipe_prints_plain_complete_text(capsys, monkeypatch):
    plain = printed(capsys, "models")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert printed(capsys, "models") == plain
    assert not {"\x1b", "…"} & {*plain}
    assert re.search(r"^lookahead .* Fits any target\.$", plain, re.MULTILINE)
    assert " \n" not in plain


# One process does all that is tested on a terminal, of different widths; CUT is between its parts.
CUT = "-- cut here --"
TERMINAL = f"""
import os, termios
from specviz.commands.cli import main
from specviz.commands.output import *
from specviz.commands.progress import *
def printed(columns, *words):
    termios.tcsetwinsize(1, (40, columns))
    try:
        main(words)
    except SystemExit:
        pass
    print({CUT!r})
printed(60, 'models')
printed(200, 'models')
printed(80, 'run', '--help')
os.environ['NO_COLOR'] = '1'
printed(80, 'models')
printed(80, 'run', '--help')
del os.environ['NO_COLOR']
say('[red]x[/red] :smile:')
print_table([Column('[b]A[/b]')], [['[red]y[/red]']])
with CallProgress(2) as progress:
    progress.advance()
    progress.say('a sentence')
    progress.advance()
with DownloadProgress() as progress:
    progress.update(0, 0)
    progress.update(30_000_000, 100_000_000)
    progress.update(100_000_000, 100_000_000)
print('after')
"""


@pytest.mark.slow
def test_terminal_shows_complete_coloured_tables_and_help_and_progress(capsys, monkeypatch):
    *models, help_text, plain, plain_help, said = on_terminal(sys.executable, "-c", TERMINAL).split(
        f"{CUT}\n"
    )
    for columns, table in zip((60, 200), models, strict=True):
        text = without_style(table)
        assert "\x1b[1m" in table
        assert max(map(len, text.split("\n"))) <= columns
        assert "…" not in text
        for word in ("lookahead", "n-grams.", "deepseek-ai/dspark_qwen3_8b_block7"):
            assert word in text
    assert "\x1b[36m--prompt\x1b[0m" in help_text
    assert "\x1b[" not in plain + plain_help, "NO_COLOR is set"
    monkeypatch.setenv("COLUMNS", "80")
    assert without_style(help_text) == plain_help == printed(capsys, "run", "--help")
    lines = [line.rstrip() for line in without_style(said).split("\n")]
    assert lines[:3] == ["[red]x[/red] :smile:", "[b]A[/b]", "[red]y[/red]"]
    for shown in ("1/2", "2/2", "a sentence\n", "100.0/100.0 MB"):
        assert shown in said
    assert said.endswith("after\n")


# Progress


def test_progress_written_to_a_file_is_one_line_every_half_minute(monkeypatch, capsys):
    clock = iter(range(0, 10_000, 10))
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with CallProgress(9) as calls:
        for _ in range(9):
            calls.advance()
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) < 9
    assert re.fullmatch(r"\d of 9 calls, \d+%, about \d+ s left", lines[0])
    assert lines[-1] == "9 of 9 calls, 100%"
    DownloadProgress().update(5, 0)  # of unknown size
    assert capsys.readouterr().err == ""


# The end of `serve`


INTERRUPTED = """
import os, sys
from specviz.ui.ending import exit_on_signals
with exit_on_signals():
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        sys.stdin.read()
    except BaseException as error:
        raise RuntimeError('a library failed') from error
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_serve_with_one_sentence_even_inside_a_library(number, status):
    command = [sys.executable, "-c", INTERRUPTED, str(int(number))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "specviz: Stopped.\n")


# Runs, traces and their errors


@pytest.fixture(scope="module")
def models(pair):
    """Return the options that name the tiny target and drafter."""
    return ["--target", str(pair[0]), "--drafter", str(pair[1])]


def run(models, *options, tokens=12):
    """Return the exit status of a short run."""
    usual = ["--prompt", tiny.PROMPT, "--max-new-tokens", str(tokens)]
    return main(["run", *models, *usual, *options])


@pytest.fixture(scope="module")
def trace(models, tmp_path_factory):
    """Return a trace file of the tiny target and drafter."""
    path = tmp_path_factory.mktemp("trace") / "run.jsonl"
    assert run(models, "--trace", str(path), "--gamma", "3") == 0
    return path


def assert_one_sentence(capsys, status, pattern):
    """Assert status 2, nothing on standard output and one line on standard error."""
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert re.search(pattern, said.err), said.err


@pytest.mark.slow
def test_run_prints_a_summary_and_writes_the_documented_json_and_trace(models, tmp_path, capsys):
    out, trace = tmp_path / "run.json", tmp_path / "run.jsonl"
    assert run(models, "--json", str(out), "--trace", str(trace), "--temperature", "0") == 0
    said = capsys.readouterr().out
    assert said.startswith(tiny.PROMPT)
    assert "the text equals that of plain decoding, token for token" in said
    header = json.loads(trace.read_text().split("\n")[0])
    assert (header["format"], header["version"]) == ("specviz-trace", 1)
    data = json.loads(out.read_text())
    assert data["token_ids"] == metrics.token_ids(Trace.read(trace))
    assert list(data) == ["text", "prompt_ids", "token_ids", "rounds", "summary"]
    assert data["prompt_ids"] == tiny.tokenizer()(tiny.PROMPT).input_ids
    assert data["token_ids"] == [t for played in data["rounds"] for t in played["emitted"]]
    assert data["rounds"][0] == {"drafted": [], "accepted": [], "emitted": data["token_ids"][:1]}
    assert data["summary"].keys() == {
        "tokens", "target_passes", "tokens_per_pass", "accepted_length", "acceptance_rate",
        "alpha", "draft_seconds", "verify_seconds", "total_seconds", "baseline_seconds", "speedup",
    }  # fmt: skip
    assert data["summary"]["tokens"] == len(data["token_ids"]) <= 12
    assert run(models, "--json", "-", "--temperature", "0") == 0
    assert json.loads(capsys.readouterr().out)["token_ids"] == data["token_ids"]


def test_run_writes_counts_in_the_format_of_vllm(models, tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    options = ["--trace", str(path), "--gamma", "3", "--siblings", "2,1", "--metrics", "-"]
    assert run(models, *options) == 0
    counts = json.loads(capsys.readouterr().out)["metrics"]["speculative_decoding"]
    accepted, drafted = counts["per_step_accepted"], counts["per_step_drafted"]
    whole = metrics.report(Trace.read(path))["rounds"]
    assert accepted == [len(played["accepted"]) for played in whole if played["drafted"]]
    assert drafted == [len(played["drafted"]) for played in whole if played["drafted"]]
    assert len(accepted) == counts["num_spec_steps"] > 1
    assert counts["num_accepted_draft_tokens"] == sum(accepted)
    assert counts["num_draft_tokens"] == sum(drafted)
    assert counts["num_spec_tokens"] == 3
    assert counts["acceptance_histogram"] == [accepted.count(length) for length in range(4)]
    assert counts["mean_acceptance_length"] == 1 + sum(accepted) / len(accepted)
    assert counts["draft_acceptance_rate"] == sum(accepted) / sum(drafted)


@pytest.mark.slow
def test_trace_contains_the_value_of_every_option_of_run(models, tmp_path):
    path = tmp_path / "run.jsonl"
    sampling = {"temperature": 0.5, "top_k": 7, "top_p": 0.9}
    settings = {
        "seed": -3, "gamma": 4, "siblings": [3, 2], "schedule": "learning", "candidates": "greedy",
        "ngram_min": 2, "ngram_max": 4, "rule": "point-mass",
    }  # fmt: skip
    words = ["--dtype", "float32", "--device", "cpu", "--trace", str(path)]
    for name, value in (sampling | settings | {"siblings": "3, 2"}).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    assert run(models, *words) == 0
    found = Trace.read(path).header.settings
    assert found == found | settings | {"sampling": sampling, "max_new_tokens": 12}


@pytest.mark.slow
def test_equal_seeds_give_equal_runs(models, tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(paths, "778", strict=True):
        assert run(models, "--seed", seed, "--trace", str(path), tokens=30) == 0
    a, b, c = (metrics.token_ids(Trace.read(path)) for path in paths)
    assert a == b != c


@pytest.mark.parametrize(
    ("error", "pattern"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "ran out of memory"),
        (BadScores("The logits\nare not numbers"), "specviz: The logits are not numbers$"),
        (MismatchedVocabulary("No token in common"), "specviz: No token in common$"),
        (ValueError("a\n  b\x1b[1m\nc"), "specviz: a b\ufffd.1m c$"),
    ],
)
def test_error_of_a_run_is_printed_on_one_line(models, capsys, monkeypatch, error, pattern):
    monkeypatch.setattr(engine, "run", raising(error))
    assert_one_sentence(capsys, run(models), pattern)
    monkeypatch.setattr(engine, "run", raising(RuntimeError("shapes do not match")))
    with pytest.raises(RuntimeError, match="shapes"):  # an unexpected exception is not caught
        run(models)


def raising(error):
    """Return a function that raises the error."""

    def fail(*_args, **_options):
        raise error

    return fail


def test_output_paths_are_checked_before_the_run(models, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(engine, "run", raising(AssertionError("the run has begun")))
    for option in ("--trace", "--json"):
        for path in (tmp_path / "no" / "file", tmp_path):
            assert_one_sentence(capsys, run(models, option, str(path)), "cannot be written")


def test_failed_run_leaves_existing_files_unchanged(models, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("precious")
    assert run(models, "--prompt", " ", "--trace", str(old), "--json", str(new)) == 2
    assert old.read_text() == "precious"
    assert not new.exists()


def interrupt_after(monkeypatch, is_last):
    """Press Ctrl-C in the next run after the first event for which `is_last` is true."""
    whole = engine.run

    def interrupted(*args, **options):
        for event in whole(*args, **options):
            yield event
            if is_last(event):
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(engine, "run", interrupted)


def test_an_interrupted_run_writes_its_finished_rounds(models, tmp_path, monkeypatch, capsys):
    interrupt_after(monkeypatch, lambda e: isinstance(e, Committed) and e.round == 2)
    path = tmp_path / "run.jsonl"
    before = signal.getsignal(signal.SIGINT)
    assert run(models, "--trace", str(path), tokens=60) == 130
    assert signal.getsignal(signal.SIGINT) is before
    trace = Trace.read(path)
    assert trace.finished.reason == "stopped"
    assert [played.number for played in trace.rounds] == [0, 1, 2]
    assert trace.baseline is None
    assert main(["check", str(path)]) == 0
    assert "agree" in capsys.readouterr().out


@pytest.mark.slow
def test_interrupting_the_baseline_keeps_the_complete_run(models, tmp_path, monkeypatch):
    interrupt_after(monkeypatch, lambda event: isinstance(event, Finished))
    path = tmp_path / "run.jsonl"
    assert run(models, "--trace", str(path)) == 130
    assert Trace.read(path).finished.reason == "limit"
    assert main(["check", str(path)]) == 0


def test_a_second_ctrl_c_exits_at_once(models, monkeypatch, capsys):
    def deaf(*_args, **_options):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        yield

    monkeypatch.setattr(engine, "run", deaf)
    assert run(models) == 130
    assert capsys.readouterr().err == "specviz: Stopped.\n"


def test_check_reports_a_changed_threshold_and_exits_with_1(trace, tmp_path, capsys):
    lines = trace.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if '"event":"judged"' in line)
    event = json.loads(lines[at])
    event["threshold"] = 0.123456
    wrong = tmp_path / "wrong.jsonl"
    wrong.write_text("\n".join([*lines[:at], json.dumps(event), *lines[at + 1 :]]))
    assert main(["check", str(wrong)]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"Round {event['round']}, node {event['node']}" in said.err
    assert "0.123456" in said.err


def test_models_command_lists_the_documented_fields(tmp_path, capsys):
    path = tmp_path / "models.json"
    assert main(["models", "--json"]) == 0
    said = capsys.readouterr().out
    assert main(["models", "--json", "-"]) == 0
    assert capsys.readouterr().out == said
    assert main(["models", "--json", str(path)]) == 0
    assert capsys.readouterr().out == ""
    assert path.read_text(encoding="utf-8") == said
    assert_one_sentence(capsys, main(["models", "--json", str(tmp_path)]), "cannot be written")
    rows = json.loads(said)
    assert {"house", "draft-model", "ngram"} <= {row["name"] for row in rows}
    wanted = {"name", "kind", "family", "layout", "licence", "bytes", "on_this_machine"}
    assert all(wanted <= row.keys() for row in rows)
