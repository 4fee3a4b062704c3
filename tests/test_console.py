"""The command line on a terminal and in a pipe: help, suggestions, tables, colour, progress."""

from __future__ import annotations

import os
import pty
import re
import runpy
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from test_bad_input import refused

from specviz import __version__
from specviz.catalog import NotAvailable, load_drafter, load_target
from specviz.commands import progress
from specviz.commands.cli import COMMANDS, GROUPS, build_parser, main
from specviz.commands.output import Column, print_table
from specviz.commands.progress import CallProgress, DownloadProgress
from specviz.settings.settings import did_you_mean

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


def on_terminal(*command, columns=100, **environment):
    """Return what a command prints on a terminal with this many columns."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, columns))
    environment = {"TERM": "xterm-256color", **environment}
    ours = ("NO_COLOR", "COLUMNS", "LINES")  # of the terminal that the tests run in
    plain = {name: value for name, value in os.environ.items() if name not in ours}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), follower)
    with subprocess.Popen(command, cwd=ROOT, env=plain | environment, **streams) as process:
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


# The help


def test_help_is_printed_without_a_command_and_with_the_option(capsys):
    for words in ([], ["--help"], ["-h"]):
        assert printed(capsys, *words).startswith("usage: specviz COMMAND [OPTIONS]\n")
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
    texts = [capsys.readouterr().out, printed(capsys, "serve", "--help")]
    assert texts[0].startswith("usage: python app.py [OPTIONS]")
    assert texts[1].startswith("usage: specviz serve [OPTIONS]")
    assert texts[0].split("\n")[1:] == texts[1].split("\n")[1:]
    for option in ("host", "port", "device", "dtype", "allow-any-model", "longest-run"):
        assert f"  --{option}" in texts[0]


# Suggestions


@pytest.mark.parametrize(
    ("words", "phrase"),
    [
        (["rnu"], "No command is called 'rnu'. Did you mean 'run'?"),
        (["Models"], "Did you mean 'models'?"),
        (["run", "--promt", "a"], "unrecognized arguments: --promt. Did you mean '--prompt'?"),
        (["run", "--prompt", "a", "--gama=3"], "Did you mean '--gamma'?"),
        (["trees", "rank"], "No part is called 'rank'. Did you mean 'ranks'?"),
        (["train", "haeds"], "No stage is called 'haeds'. Did you mean 'heads'?"),
        (["train", "heads", "--names", "eagel"], "Did you mean 'eagle'?"),
        (["shapes", "qwen3-4"], "Did you mean 'qwen3-4b'?"),
        (["server", "-", "--hardware", "h100"], "Did you mean 'h100-sxm'?"),
        (["fetch", "smolm2"], "Did you mean 'smollm2'?"),
        (["run", "--prompt", "a", "--target", "hosue"], "Did you mean 'house'?"),
        (["run", "--prompt", "a", "--drafter", "eagel"], "Did you mean 'eagle'?"),
    ],
)
def test_a_misspelled_name_is_rejected_with_a_suggestion(words, phrase, capsys):
    refused(capsys, words, phrase)


def test_an_unfamiliar_name_gets_no_suggestion():
    assert did_you_mean("xyzzy", ["eagle", "medusa"]) == ""
    assert did_you_mean("EAGLE2", ["eagle", "eagle2"]) == " Did you mean 'eagle2'?"
    for name in ("xyzzy", "eagle4"):  # like the name of a drafter, but of no target
        with pytest.raises(NotAvailable) as found:
            load_target(name)
        assert "Did you mean" not in str(found.value)
        assert str(found.value).startswith(f"No model is called '{name}'. Use a name that `python")


def test_folder_with_a_name_similar_to_a_drafter_is_loaded(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("eagel").symlink_to(pair[1])
    assert load_drafter("eagel", load_target(str(pair[0]), "cpu")).card.family == "draft-model"


# Tables and colour


def test_a_table_in_a_pipe_is_plain_with_one_line_per_row(capsys):
    print_table(WIDE, [["a", "1.5", ABOUT], ["longer", "22.25", "[red]x[/red] :smile:"]])
    assert capsys.readouterr().out == (
        f"Name    Number  About\na          1.5  {ABOUT.strip()}\n"
        "longer   22.25  [red]x[/red] :smile:\n"
    )


def test_a_table_cell_cannot_contain_control_characters_or_line_breaks(capsys):
    print_table(WIDE, [["a\x1b[2Jb", "1", "two\nlines"]])
    assert capsys.readouterr().out.split("\n")[1] == "a\ufffd[2Jb       1  two lines"


def test_models_command_in_a_pipe_prints_plain_complete_text(capsys, monkeypatch):
    plain = printed(capsys, "models")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    assert printed(capsys, "models") == plain
    assert "\x1b" not in plain
    assert "…" not in plain
    (row,) = [line for line in plain.split("\n") if line.startswith("lookahead ")]
    assert row.endswith("fills a pool of n-grams. Fits any target.")
    assert not [line for line in plain.split("\n") if line.endswith(" ")]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 200])
def test_models_command_on_a_terminal_fits_the_width_without_omissions(columns):
    said = on_terminal(*PROGRAM, "models", columns=columns)
    plain = without_style(said)
    assert "\x1b[1m" in said
    assert max(map(len, plain.split("\n"))) <= columns
    assert "…" not in plain
    for word in ("lookahead", "n-grams.", "deepseek-ai/dspark_qwen3_8b_block7"):
        assert word in plain


@pytest.mark.slow
def test_no_color_turns_off_all_styles():
    assert "\x1b[" not in on_terminal(*PROGRAM, "models", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(*PROGRAM, "run", "--help", NO_COLOR="1")


@pytest.mark.slow
def test_help_on_a_terminal_is_coloured_but_has_the_same_text(capsys, monkeypatch):
    said = on_terminal(*PROGRAM, "run", "--help", columns=80)
    assert "\x1b[36m--prompt\x1b[0m" in said
    monkeypatch.setenv("COLUMNS", "80")
    assert without_style(said) == printed(capsys, "run", "--help")


@pytest.mark.slow
def test_prompt_is_not_interpreted_as_terminal_markup(pair, capsys):
    prompt = "[red]x[/red] :smile: [/]"
    options = ["--target", str(pair[0]), "--max-new-tokens", "4", "--temperature", "0"]
    assert main(["run", *options, "--drafter", "ngram", "--prompt", prompt]) == 0
    assert capsys.readouterr().out.startswith(prompt)
    assert main(["compare", *options, "--drafters", "ngram,suffix", "--prompt", prompt]) == 0
    assert capsys.readouterr().out.startswith(prompt)


TERMINAL = """
from specviz.commands.output import *
from specviz.commands.progress import *
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
def test_terminal_shows_text_without_markup_and_progress_below_it():
    said = on_terminal(sys.executable, "-c", TERMINAL)
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


def test_download_of_unknown_size_prints_no_progress_line(capsys):
    DownloadProgress().update(5, 0)
    assert capsys.readouterr().err == ""


# The end of `serve`


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_serve_with_one_sentence_even_inside_a_library(number, status):
    code = (
        "import os, sys\n"
        "from specviz.ui.ending import exit_on_signals\n"
        "with exit_on_signals():\n"
        "    try:\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "        sys.stdin.read()\n"
        "    except BaseException as error:\n"
        "        raise RuntimeError('a library failed') from error\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, "specviz: Stopped.\n")
