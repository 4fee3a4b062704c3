"""Invalid input on the command line, in the page's events and in the API: one sentence each.

The page and the API are one server, started as by `app.py`. Whatever is sent to it, also by
fn_index, its log contains no traceback and it still responds.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import tiny
from app_server import ROOT
from huggingface_hub import get_session

from specviz.adapters import hub as adapter
from specviz.commands import cli
from specviz.commands.cli import main
from specviz.models import files
from specviz.ui import page

pytestmark = pytest.mark.slow

# The command line. Words that follow `run` with the tiny pair; or whole commands.

RUNS = [
    (["--temperature", "nan"], "Temperature must be a finite number"),
    (["--temperature", "warm"], "Temperature must be a number, not 'warm'"),
    (["--temperature", "1e-320"], "too small to divide"),
    (["--top-k", "1000"], "Top-k 1,000 is larger than the vocabulary of 280"),
    (["--siblings", "3,two"], "Siblings at each depth must be whole numbers like 3, 2"),
    (["--siblings", "8,8,8"], "a tree of 1,608 guesses; at most 128 are allowed"),
    (["--siblings", "2", "--rule", "speculative"], "without replacement"),
    (["--seed", str(2**63)], "64 bits"),
    (["--max-new-tokens", "250"], "more than the 256"),
    (["--rule", "hope"], "There is no rule 'hope'"),
    (["--rule", "greedy"], "greedy"),
    (["--device", "cuda:9"], "device 'cuda:9'"),
    (["--dtype", "int4"], "No dtype is called 'int4'"),
    (["--drafter", "nobody"], "No model is called 'nobody'"),
    (["--target", "n" * 300], "No model is called 'nnn"),
    (["--trace", "n" * 300], "cannot be written: File name too long"),
    (["--trace", "/proc/none"], "cannot be written"),
    (["--prompt", "caf\udce9"], "the prompt is not UTF-8"),
    (["--prompt", " \n"], "prompt is empty"),
    (["--prompt", "cat " * 300], "Shorten the prompt"),
    (["--colour", "red"], "unrecognized arguments"),
]
COMMANDS = [
    (["--"], "required: COMMAND"),
    (["dance"], "No command is called 'dance'."),
    (["run"], "--prompt"),
    (["check", "/proc/none"], "cannot be read: No such file"),
    (["check", "/"], "cannot be read: Is a directory"),
    (["fetch", "../etc/passwd"], "No model is called"),
    (["bench", "--prompts", "0"], "Prompts must be between 1 and 1,000, not 0"),
    (["bench", "--repeats", "1001"], "Repeats must be between 1 and 1,000, not 1001"),
    (["bench", "--repeats", "few"], "Repeats must be a number, not 'few'"),
    (["sweep", "--order-seed", str(2**63)], "The seed of the order must fit in 64 bits"),
    (["compare", "--prompt", "a", "--order-seed", "1.5"], "must be a whole number"),
    (["compare", "--prompt", "\udcff", "--drafters", "ngram,suffix"], "not UTF-8"),
    (["compare", "--prompt", "a", "--drafters", f"ngram,{'n' * 300}"], "A lane's name has 1 to"),
    (["train", "measure", "--prompts", "1001"], "Prompts must be"),
    (["train", "measure", "--repeats", "0"], "Repeats must be"),
    (["train", "measure", "--new-tokens", "4097"], "New tokens must be between 1 and 4,096"),
    (["train", "heads", "--tokens", "0"], "Training tokens must be"),
    (["train", "heads", "--own-text", "-1"], "Tokens that the target writes must be"),
    (["train", "heads", "--threads", "1000000"], "Threads must be"),
    (["train", "heads", "--nice", "20"], "Niceness must be between 0 and 19"),
    (["train", "heads", "--seed", str(2**63)], "The seed must fit in 64 bits"),
]


def test_bad_run_options_exit_with_status_2_and_one_sentence(pair, capsys):
    usual = ["--target", str(pair[0]), "--drafter", str(pair[1]), "--max-new-tokens", "12"]
    for words, phrase in RUNS:
        refused(capsys, ["run", *usual, "--prompt", tiny.PROMPT, *words], phrase)


def test_bad_commands_exit_with_status_2_and_one_sentence(capsys):
    for words, phrase in COMMANDS:
        refused(capsys, words, phrase)


def refused(capsys, words, phrase):
    """Assert status 2, nothing on standard output and one line on standard error."""
    try:
        status = main(words)
    except SystemExit as exit:
        status = exit.code
    said = capsys.readouterr()
    assert (status, said.out, said.err.count("\n")) == (2, "", 1), (words, said)
    assert phrase in said.err, words


# The page and the API: one server, called as any program could call it.

FILE = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
TOO_DEEP = "[" * 1500
PAGE = "a" * 32  # the key of a page
NAME = f'["{PAGE}", 1000]'  # of a job
# An event's number of values and name; the values to send (a list) or one for all; the message.
EVENTS = [
    (26, "start_job", [], "it has 0 and needs 26"),
    (26, "start_job", None, "does not name a job"),
    (26, "start_job", "x", "not in the list of choices"),
    (26, "start_job", float("nan"), "not in the list of choices"),
    (26, "start_job", [[[1]]], "it has 1 and needs 26"),
    (26, "start_job", "x" * 10**5, "xxx…"),
    (26, "start_job", "\ud800", "not in the list of choices"),
    (26, "start_job", FILE, "do not fit"),
    (1, "start_job", None, "does not name a job"),
    (1, "start_job", "{", "does not name a job"),
    (1, "start_job", TOO_DEEP, "does not name a job"),
    (1, "start_job", "x" * 10**5, "does not name a job"),
    (1, "start_job", '["a", "b"]', "does not name a job"),
    (1, "start_job", '["a", 1, "{}"]', "named by the key of a page"),
    (1, "start_job", f'["{PAGE}", -1, "{{}}"]', "named by the key of a page"),
    (6, "start_job", [["nobody"], 1, 24, 0, 1, NAME], "not in the list of choices"),
    (4, "run", [], "it has 0 and needs 4"),
    (4, "run", ["", "ngram", {}, "house"], "prompt is empty"),
    (4, "run", [None, "ngram", {}, "house"], "prompt must be text"),
    (4, "run", [[{"role": "user"}], "ngram", {}, "house"], "A turn must look like"),
    (4, "run", [FILE, "ngram", {}, "house"], "do not fit"),
    (4, "run", ["a" * 4001, "ngram", {}, "house"], "longer than 4,000 characters"),
    (4, "run", ["half \ud83e", "ngram", {}, "house"], "half a character"),
    (4, "run", ["a", "/etc", {}, "house"], "No drafter is called '/etc'"),
    (4, "run", ["a", ["ngram"], {}, "house"], "No drafter is called|must be text"),
    (4, "run", ["a", "ngram", [], "house"], "The settings must be a JSON object"),
    (4, "run", ["a", "ngram", {"gamma": "many"}, "house"], "gamma"),
    (4, "run", ["a", "ngram", {"seed": float("nan")}, "house"], "seed"),
    (4, "run", ["a", "ngram", {"coins": {"judge": 0.5}}, "house"], "No coin is called"),
    (4, "run", ["a", "ngram", {"max_new_tokens": 4096}, "house"], "more than the"),
    (4, "run", ["a", "ngram", {}, "owner/name"], "No target is called 'owner/name'"),
    (4, "run", ["a", "ngram", {}, "\ud800"], "No target is called"),
]
# A run asked for in the stream of its job.
WISHES = [
    ("{", "not valid JSON"),
    (TOO_DEEP, "not valid JSON"),
    ("[1]", "A run must be a JSON object"),
    (None, "A run must be JSON text"),
    ('{"prompt": "a", "target": "/etc"}', "No target is called"),
    ('{"prompt": "", "seed": 1}', "A run has no field seed"),
]
# An experiment of the sandbox.
EXPERIMENTS = [
    (None, "."),
    ({}, "must be a whole number"),
    ({"number": 1}, "p must have 2 to 6"),
    ({"number": 1, "p": [1e308, 1e308], "q": [0, 1]}, "a number from 0 to 1"),
]
# A request to the API.
CALLS = [
    ("queue/join", {"fn_index": 9999, "data": [], "session_hash": "a"}, "matches no event"),
    ("queue/join", {"fn_index": -1, "data": [], "session_hash": "a"}, "matches no event"),
    ("queue/join", {"fn_index": 1, "data": []}, "Session hash not found"),
    ("queue/join", {"fn_index": 1, "session_hash": "a"}, "Field required"),
    ("call/none", {"data": []}, "matches no event"),
    ("call/v2/none", {}, "matches no event"),
    ("run/run", {"data": []}, "does not accept direct HTTP POST requests"),
    ("run/js_fn", {"data": []}, "too few values|in the browser only"),
    ("run/start_job", {"data": [None]}, "does not accept direct HTTP POST requests"),
    (f"sv/jobs/{PAGE}/x/stop", {}, "named by the key of a page"),
    ("component_server", {"session_hash": "a", "component_id": 1, "fn_name": "x"}, "."),
    ("upload", {}, "This route is closed"),
    ("deep_link?session_hash=a", {}, "This route is closed"),
]


def test_event_called_by_fn_index_returns_readable_error(server):
    for inputs, name, values, phrase in EVENTS:
        number = server.event(inputs, name)["id"]
        given = values if isinstance(values, list) else [values] * inputs
        told = server.call(number, given)
        assert re.search(phrase, told), (name, str(values)[:80], told[:200])


def test_invalid_run_request_is_reported_in_the_stream_of_its_job(server):
    for wish, phrase in WISHES:
        server.calls += 1
        number = server.calls
        server.call(server.event(1, "start_job")["id"], [json.dumps([PAGE, number, wish])])
        lines = server.client.get(f"sv/jobs/{PAGE}/{number}/lines").text
        assert lines.count("data: ") == 1
        assert phrase in lines


def test_sandbox_rejects_invalid_experiments(server):
    number = server.event(1, "respond")["id"]
    for asked, phrase in EXPERIMENTS:
        told = server.call(number, [asked])
        assert re.search(phrase, told), (asked, told[:200])


def test_api_call_with_invalid_values_is_rejected(server):
    for path, body, phrase in CALLS:
        answered = server.post(path, **body)
        assert answered.status_code >= 400, path
        assert re.search(phrase, answered.text), path


def test_request_from_another_site_is_rejected(server):
    """This includes preflight requests, which a middleware of Gradio answers by itself."""
    simple = {"Content-Type": "text/plain"}
    assert server.client.post("sv/votes", content="{}", headers=simple).status_code == 415
    for headers, status in (
        ({"Host": "evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ):
        for method in ("GET", "OPTIONS"):
            asked = headers | {"Access-Control-Request-Method": "POST"}
            answered = server.client.request(method, "../config", headers=asked)
            assert answered.status_code == status
            allowed = [name for name in answered.headers if name.startswith("access-control")]
            assert not allowed
            assert answered.headers["x-content-type-options"] == "nosniff"


def test_running_server_rejects_a_large_request_body(server):
    part = b"x" * 10**6
    for path in ("queue/join", "run/predict", "sv/votes", "sv/health", "none"):
        for content in (part * 20, iter([part] * 20)):
            answered = server.client.post(path, content=content)
            assert answered.status_code == 413, path
            too_large = r"This request is too large: .* at most [14] MB\."
            assert re.fullmatch(too_large, answered.text), path
        assert server.client.get("sv/health").text == "ok"


def test_stream_of_unknown_session_ends_with_one_message(server):
    before = server.said.read_text()
    for path in ("queue/data?session_hash=nobody", "call/run/nobody"):
        answered = server.client.get(path)
        assert answered.status_code == 200
        assert answered.text.count("data:") == 1
        assert "404" in answered.text
        assert answered.headers["content-security-policy"].startswith("default-src 'none'")
    assert server.said.read_text() == before


def test_server_still_responds_after_all_invalid_input(server):
    values = ["Once upon a time", "ngram", {"max_new_tokens": 4}, "house"]
    assert "specviz-trace" in server.call(server.event(4, "run")["id"], values)


# Faults of the machine.


def failed_start(phrase, *options, **environment):
    """Assert that the app exits with status 2 and one sentence that starts like this."""
    told = subprocess.run(
        [sys.executable, "app.py", *options],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (2, "", 1)
    assert told.stderr.startswith(f"specviz: {phrase}")


def test_unwritable_disk_and_port_in_use_raise_readable_errors(monkeypatch):
    """Gradio creates a folder for files as soon as a page is built."""
    begun = Mock(side_effect=OSError(30, "Read-only file system", "/a/folder"))
    with monkeypatch.context() as patch:
        patch.setattr(page, "build", begun)
        with pytest.raises(page.ServeError, match=r"\(Read-only file system\).*GRADIO_TEMP_DIR"):
            page.launch(page.Options())
    monkeypatch.setattr(page, "build", lambda *_: SimpleNamespace(launch=None))
    monkeypatch.setattr(page.adapter, "launch_arguments", begun)
    with pytest.raises(page.ServeError, match=r"at 127\.0\.0\.1, port 7: the port is in use"):
        page.launch(page.Options(port=7))
    monkeypatch.setenv("GRADIO_SERVER_PORT", "8")
    with pytest.raises(page.ServeError, match="port 8: the port is in use"):
        page.launch(page.Options())
    assert page.launch_arguments(page.Options())["server_port"] == 8
    assert page.launch_arguments(page.Options(port=7))["server_port"] == 7
    monkeypatch.setenv("GRADIO_SERVER_PORT", "80 or so")
    with pytest.raises(page.ServeError, match="must be a port, not '80 or so'"):
        page.launch(page.Options())


def test_missing_writable_folder_raises_readable_error(tmp_path):
    nowhere = "import tempfile\ntempfile._candidate_tempdir_list = lambda: ['/proc/none']\n"
    (tmp_path / "sitecustomize.py").write_text(nowhere)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    failed_start("This user can write to no folder for temporary files", PYTHONPATH=path)


def test_message_about_a_missing_temporary_folder_omits_the_error_number(monkeypatch, capsys):
    error = FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")
    monkeypatch.setattr(cli, "build_parser", Mock(side_effect=error))
    refused(capsys, ["models"], "specviz: No usable temporary directory found in")


def test_hub_that_does_not_respond_times_out(monkeypatch):
    monkeypatch.setattr(adapter, "TIMEOUT", 0.2)
    monkeypatch.setattr(files, "TIMEOUT", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        adapter.limit_silence()
        with pytest.raises(adapter.timeout_errors()) as gone:
            get_session().get(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=None)
    assert files.hub_reason(gone.value) == "it did not respond for 0.2 seconds."


def test_error_for_unwritable_model_folder_omits_its_path():
    with pytest.raises(OSError, match="Not a directory") as full:
        Path("/dev/null/models").mkdir()
    said = files.hub_reason(full.value)
    assert said == "the files cannot be saved here (Not a directory)."
