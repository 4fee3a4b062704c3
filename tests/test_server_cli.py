"""`specviz server` with a small local server, files and standard input."""

import io
import json
import re
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from test_server_texts import INFO, LLAMA, TIMINGS, TRT, vllm

from specviz.commands import server as command
from specviz.commands.cli import main
from specviz.cost.server import loading
from specviz.cost.server.loading import example

SITE = ["--hardware", "h100-sxm", "--model", "llama-3.1-8b"]


@contextmanager
def serving(**pages):
    """Start a server with pages by path, "_" for "/": a text, texts in turn, or (status, text).

    Every page also names a place where it would have moved.
    """
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            found = pages.get(self.path.strip("/").replace("/", "_"))
            found = (
                found.pop(0) if isinstance(found, list) else found or (404, "<h1>Not Found</h1>")
            )
            status, text = found if isinstance(found, tuple) else (200, found)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


def said(capsys, *words):
    """Return what the command prints."""
    assert main(["server", *words]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    return found.out


def refused(capsys, *words):
    """Return the one sentence on standard error."""
    status = main(["server", *words])
    found = capsys.readouterr()
    assert (status, found.out, found.err.count("\n")) == (2, "", 1)
    return found.err


PROGRAMS = [
    ({"metrics": vllm()}, "vLLM, /metrics", 2),
    ({"metrics": LLAMA}, "llama.cpp, /metrics", 2),
    ({"server_info": json.dumps(INFO)}, "SGLang, /server_info", 3),
    ({"prometheus_metrics": TRT, "metrics": "[]"}, "TensorRT-LLM, /prometheus/metrics", 1),
]


def test_statistics_are_requested_at_the_paths_of_each_server_program(capsys):
    for pages, program, paths in PROGRAMS:
        with serving(**pages) as (url, asked):
            assert program in said(capsys, url)
        assert len(asked) == paths
    with serving(behind_metrics=vllm(), metrics=LLAMA) as (url, asked):
        assert "vLLM, /metrics" in said(capsys, f"{url}/behind/metrics")
    assert asked == ["/behind/metrics"], "only the path in the address"


def test_again_option_counts_only_changes_between_two_snapshots(monkeypatch, capsys):
    waits = []
    monkeypatch.setattr(command.time, "sleep", waits.append)
    later = vllm(160, 640, 250, (120, 80, 50, 0))
    with serving(metrics=[vllm(), later, vllm()]) as (url, _):
        out = said(capsys, url, "--again", "30")
    assert waits == [30]
    assert re.search(r"Drafts +60\n", out)
    assert re.search(r"Tokens per pass +2\.17, 95%", out)


def test_only_the_predictions_are_marked_simulated(tmp_path, capsys):
    path = tmp_path / "metrics.txt"
    path.write_text(example().text, encoding="utf-8")
    plain = said(capsys, str(path))
    assert "Name --hardware and --model" in plain
    assert "Tokens/pass" not in plain
    counted, simulated = said(capsys, str(path), *SITE, "--batch", "256").split("Simulated, ")
    assert re.search("1  80.5%, 76.9 to 83.6", counted)
    assert re.search("γ = 1 is best: 1.70 × .* 1.23 × .* γ = 4", simulated)
    assert simulated.count("(tokens assumed)") == 12


def test_statistics_are_read_from_files_and_standard_input(tmp_path, monkeypatch, capsys):
    early, late = tmp_path / "early", tmp_path / "late"
    early.write_text(vllm(), encoding="utf-8")
    late.write_text(vllm(160, 640, 250, (120, 80, 50, 0)), encoding="utf-8")
    assert re.search(r"Drafts +60\n", said(capsys, str(late), "--before", str(early)))
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(TIMINGS)))
    assert "llama.cpp, answer to one request" in said(capsys, "-", "--gamma", "4")


def test_json_output_keeps_simulated_numbers_separate(tmp_path, capsys):
    source, out = tmp_path / "metrics.txt", tmp_path / "numbers.json"
    source.write_text(example().text, encoding="utf-8")
    said(capsys, str(source), *SITE, "--json", str(out))
    made = json.loads(out.read_text(encoding="utf-8"))
    assert made["told"]["rounds"] == 527
    assert made["positions"][1]["given"]["kept"] == 343
    assert made["simulated"]["best"]["gamma"] == 6
    assert "best" not in made["tokens_per_pass"]
    assert json.loads(said(capsys, str(source), "--json", "-"))["simulated"] is None


def test_name_option_selects_one_of_several_models(tmp_path, capsys):
    path = tmp_path / "metrics.txt"
    path.write_text(vllm() + "\n" + vllm(model="n\x1b[2Jx", drafts=200), encoding="utf-8")
    problem = refused(capsys, str(path))
    assert re.search("several models: m, n.*x. Choose one. Use --name.", problem)
    shown = said(capsys, str(path), "--name", "n\x1b[2Jx")
    assert re.search(r"Drafts +200\n", shown)
    assert "\x1b" not in problem + shown, "a control character of a model's name"
    with serving(metrics=path.read_text(encoding="utf-8")) as (url, _):
        assert "Use --name" in refused(capsys, url)


FAULTS = [  # the file's own faults are in test_server_texts.py
    ({"metrics": "node_load1 0.5"}, "reports no draft tokens at /prometheus/metrics"),
    ({"metrics": "<html></html>"}, "reports no draft tokens at"),
    ({}, "reports no draft tokens at"),
    ({"metrics": "vllm:num_requests_running 3.0"}, "start it with --speculative"),
    ({"metrics": "sglang:num_running_reqs 1"}, "start it with --speculative-algorithm"),
    ({"metrics": vllm().replace(" 80.0", " -80.0")}, "which is impossible"),
]


def test_each_server_error_is_reported_in_one_sentence(capsys):
    for pages, sentence in FAULTS:
        with serving(**pages) as (url, _):
            assert sentence in refused(capsys, url)


@pytest.mark.slow
def test_server_that_is_unreachable_slow_or_sends_too_much_is_abandoned(monkeypatch, capsys):
    with serving() as (url, _):
        pass
    assert "cannot be reached" in refused(capsys, url)
    monkeypatch.setattr(loading, "MAX_BYTES", 1 << 20)
    with serving(prometheus_metrics="a 1\n" * (1 << 19)) as (url, _):
        assert "sent more than 1 MiB" in refused(capsys, url)
    monkeypatch.setattr(loading.HttpClient.__init__, "__defaults__", (0.05, 0.05))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "did not answer within 0.05 seconds" in refused(capsys, url)


WRONG_USE = [
    (["nowhere.txt"], "'nowhere.txt' cannot be read: No such file"),
    (["http://"], "'http://' is not a server's address: write http://HOST:PORT"),
    (["http://me:secret@host"], "without user name, password"),
    (["-", "--model", "house"], "needs both --hardware and --model"),
    (["-", *SITE, "--dtype", "int4"], "'int4' is not a known number format"),
    (["-", *SITE, "--drafter", "eagle9"], "'eagle9' is not a known drafter for"),
    (["x.txt", "--again", "5"], "--again needs a server"),
    (["-", "--json", "/nowhere/at/all.json"], "cannot be written"),
]


def test_each_wrong_use_of_the_command_prints_one_sentence(tmp_path, capsys):
    for words, sentence in WRONG_USE:
        assert sentence in refused(capsys, *words)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    assert "is not a text file" in refused(capsys, str(tmp_path / "picture.png"))


def test_invalid_option_is_rejected_before_statistics_are_read(capsys):
    for words in (["--again", "0"], ["--batch", "0"], ["--gamma", "x"], ["--hardware", "y"]):
        with pytest.raises(SystemExit) as left:
            main(["server", "http://127.0.0.1:9", *words])
        assert left.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
