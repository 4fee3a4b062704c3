"""The page's server side: guard, recorded runs, forms, live runs. No browser needed."""

import gzip
import itertools
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from made import Recipe, made
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz import engine
from specviz.settings import BadSettings
from specviz.trace import Finished
from specviz.ui import recorded, server
from specviz.ui.choices import DRAFTERS, Choices
from specviz.ui.page import Options, launch_arguments
from specviz.ui.reel import lines
from specviz.ui.runs import Machine, Runs, Stops

ROOT = Path(__file__).resolve().parent.parent
PROMPT = "The cat sat on the mat. The cat"


def choices(pair, **changes):
    usual = {
        "prompt": PROMPT,
        "method": "Draft model, sampled",
        "gamma": 4,
        "schedule": "fixed",
        "temperature": 0.8,
        "top_k": 0,
        "top_p": 1,
        "seed": 1,
        "new_tokens": 12,
        "target": str(pair[0]),
        "drafter": str(pair[1]),
    }
    return Choices(**(usual | changes))


@pytest.fixture
def runs(monkeypatch):
    """Runs that send every line at once."""
    monkeypatch.setattr("specviz.ui.runs.PAUSE", -1.0)
    return Runs(Machine("cpu"))


def told(text):
    return [json.loads(line) for line in text.splitlines()]


def last(texts):
    return told(list(texts)[-1])


async def answer(request):
    return PlainTextResponse("open")


@pytest.fixture(scope="module")
def guarded():
    routes = [Route("/{path:path}", answer, methods=["GET", "POST"])]
    with TestClient(server.Guard(Starlette(routes=routes))) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/upload",
        "/gradio_api/upload/",
        "/gradio_api/UPLOAD",
        "/gradio_api//upload",
        "/gradio_api/%75pload",
        "/gradio_api/process_recording",
        "/gradio_api/file=https://example.com/x",
        "/gradio_api/file=http://example.com/x",
        "/gradio_api/file/https://example.com",
        "/gradio_api/proxy=https://example.com",
        "/monitoring/summary",
        "/monitoring",
    ],
)
def test_the_guard_closes_uploads_remote_files_and_usage_counts(guarded, path):
    assert guarded.get(path).status_code == 403
    assert guarded.post(path).status_code == 403


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/queue/join", "/gradio_api/sv/x"])
def test_the_guard_lets_the_page_through(guarded, path):
    assert guarded.get(path).text == "open"


@pytest.fixture
def routes(tmp_path, monkeypatch):
    made(Recipe(rounds=2)).write(tmp_path / "01-a-run.jsonl")
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    recorded.names.cache_clear()
    recorded.body.cache_clear()
    with TestClient(Starlette(**server.app_kwargs())) as client:
        yield client
    recorded.names.cache_clear()
    recorded.body.cache_clear()


def test_a_broken_recorded_run_is_one_sentence_with_its_line(routes, tmp_path):
    path = tmp_path / "01-a-run.jsonl"
    path.write_text(path.read_text()[:-40])
    answer = routes.get(f"{server.PREFIX}/traces/01-a-run")
    assert answer.status_code == 422
    assert answer.text.startswith("Line ")
    assert "not whole JSON" in answer.text


def test_a_recorded_run_is_sent_once_and_then_only_asked_after(routes):
    first = routes.get(f"{server.PREFIX}/traces/01-a-run")
    kinds = [line["kind"] for line in told(first.text)]
    assert kinds == ["run", "round", "round", "round", "finished", "baseline"]
    again = {"If-None-Match": first.headers["etag"]}
    assert routes.get(f"{server.PREFIX}/traces/01-a-run", headers=again).status_code == 304


@pytest.mark.parametrize("name", ["none", "..%2f..%2fapp.py", "01-a-run.jsonl", "%2fetc%2fpasswd"])
def test_only_recorded_runs_can_be_fetched(routes, name):
    assert routes.get(f"{server.PREFIX}/traces/{name}").status_code == 404


def test_plotly_comes_from_the_installed_wheel_compressed_and_for_ever(routes):
    name, packed = server.plotly_js()
    answered = routes.get(f"{server.PREFIX}/{name}")
    assert answered.headers["content-encoding"] == "gzip"
    assert "immutable" in answered.headers["cache-control"]
    assert answered.content == gzip.decompress(packed)


def test_a_title_leaves_the_number_out():
    assert recorded.title("01-story-draft-model") == "story draft model"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"temperature": None}, "Temperature"),
        ({"temperature": "warm"}, "Temperature"),
        ({"temperature": float("nan")}, "finite"),
        ({"temperature": -1}, "Temperature"),
        ({"seed": 1.5}, "whole number"),
        ({"seed": 2**80}, "64 bits"),
        ({"top_k": -3}, "Top-k"),
        ({"top_p": 0}, "Top-p"),
        ({"gamma": 0}, "γ"),
        ({"new_tokens": 10**9}, "New tokens"),
        ({"schedule": "odd"}, "schedule"),
        ({"method": "oracle"}, "drafter"),
    ],
)
def test_a_bad_form_is_refused_with_a_sentence(changes, word):
    form = choices(("big", "small"), **changes)
    with pytest.raises(BadSettings, match=word) as refused:
        form.settings()
    assert str(refused.value).endswith(".")


def test_every_method_names_its_drafter():
    assert choices(("t", "d"), target="", drafter="").models() == ("house", "draft-model")
    assert choices(("t", "d"), target="", drafter="", method="N-gram").models() == (
        "house",
        "ngram",
    )
    assert choices(("t", "d")).models() == ("t", "d")
    assert choices(("t", "d"), method="N-gram").models() == ("t", "ngram")
    for method, (_, candidates) in DRAFTERS.items():
        assert choices(("t", "d"), method=method).settings().candidates == candidates


@pytest.mark.parametrize("method", list(DRAFTERS))
def test_a_live_run_streams_a_round_at_a_time_and_its_text_only_grows(runs, pair, method):
    texts = list(runs.texts(choices(pair, method=method), "me", 1))
    assert all(b.startswith(a) and b != a for a, b in itertools.pairwise(texts))
    kinds = [line["kind"] for line in told(texts[-1])]
    assert kinds[0] == "run"
    assert kinds[-2:] == ["finished", "baseline"]
    assert set(kinds[1:-2]) == {"round"}
    assert len(texts) == len(kinds)
    told_run = told(texts[0])[0]
    assert (told_run["source"], told_run["id"], told_run["prompt"]) == ("live", "1", PROMPT)


def test_the_first_round_is_sent_at_once_and_later_ones_together(runs, pair, monkeypatch):
    monkeypatch.setattr("specviz.ui.runs.PAUSE", 1000.0)
    first, second, third, whole = runs.texts(choices(pair), "me", 1)
    kinds = [[line["kind"] for line in told(text)] for text in (first, second, third)]
    assert kinds == [["run"], ["run", "round"], ["run", "round", "round"]]
    assert whole.startswith(third)
    assert told(whole)[-1]["kind"] == "baseline"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"prompt": ""}, "empty"),
        ({"prompt": "cat " * 900}, "tokens"),
        ({"prompt": "cat " * 4000}, "4,000 characters"),
        ({"seed": None}, "seed"),
        ({"target": "/no/such/folder"}, "no/such/folder"),
        ({"gamma": 99}, "γ"),
    ],
)
def test_a_run_that_cannot_be_made_says_why_and_the_next_one_works(runs, pair, changes, word):
    (line,) = last(runs.texts(choices(pair, **changes), "me", 1))
    assert (line["kind"], line["id"]) == ("error", "1")
    assert word in line["sentence"]
    assert line["sentence"].endswith(".")
    assert last(runs.texts(choices(pair), "me", 2))[-1]["kind"] == "baseline"


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (RuntimeError("secret detail"), "Something broke"),
        (MemoryError("secret detail"), "ran out of memory"),
        (RuntimeError("DefaultCPUAllocator: not enough memory, secret detail"), "Fewer new tokens"),
    ],
)
def test_a_fault_in_the_middle_of_a_run_keeps_what_was_made(
    runs, pair, monkeypatch, caplog, fault, word
):
    whole = engine.run

    def breaking(*args, **kwargs):
        for number, event in enumerate(whole(*args, **kwargs)):
            if number == 12:
                raise fault
            yield event

    monkeypatch.setattr(engine, "run", breaking)
    shown = last(runs.texts(choices(pair), "me", 1))
    assert [line["kind"] for line in shown[:2]] == ["run", "round"]
    assert shown[-1]["kind"] == "error"
    assert "secret" not in shown[-1]["sentence"]
    assert word in shown[-1]["sentence"]
    assert "secret detail" in caplog.text


def test_a_stopped_run_ends_after_its_round_and_says_so(runs, pair):
    texts = runs.texts(choices(pair, new_tokens=200), "me", 7)
    made_so_far = [next(texts) for _ in range(3)]
    runs.stops.ask("me", 7)
    shown = last(texts)
    assert shown[: len(told(made_so_far[-1]))] == told(made_so_far[-1])
    assert (shown[-1]["kind"], shown[-1]["reason"]) == ("finished", "stopped")
    assert len(shown) < 8
    assert last(runs.texts(choices(pair), "me", 8))[-1]["kind"] == "baseline"


def test_closing_the_page_s_stream_closes_the_engine(runs, pair, monkeypatch):
    closed = threading.Event()
    whole = engine.run

    def watched(*args, **kwargs):
        try:
            yield from whole(*args, **kwargs)
        finally:
            closed.set()

    monkeypatch.setattr(engine, "run", watched)
    texts = runs.texts(choices(pair), "me", 1)
    next(texts)
    texts.close()
    assert closed.is_set()
    assert not runs.stops.running


def test_two_visitors_at_once_never_see_each_other_s_run(runs, pair):
    mine = runs.texts(choices(pair, prompt="The cat"), "me", 1)
    yours = runs.texts(choices(pair, prompt="The dog saw", seed=2), "you", 1)
    ended = object()
    mixed = list(itertools.zip_longest(mine, yours, fillvalue=ended))
    alone = {
        "The cat": last(runs.texts(choices(pair, prompt="The cat"), "me", 1)),
        "The dog saw": last(runs.texts(choices(pair, prompt="The dog saw", seed=2), "you", 1)),
    }
    for column, prompt in enumerate(alone):
        texts = [pair_[column] for pair_ in mixed if pair_[column] is not ended]
        shown = told(texts[-1])
        assert shown[0]["prompt"] == prompt
        rounds = [line["brings"] for line in shown if line["kind"] == "round"]
        assert rounds == [line["brings"] for line in alone[prompt] if line["kind"] == "round"]


def test_stopping_one_visitor_s_run_does_not_stop_another_s(runs, pair):
    mine = runs.texts(choices(pair), "me", 5)
    yours = runs.texts(choices(pair), "you", 5)
    next(mine), next(yours)
    runs.stops.ask("me", 5)
    assert last(mine)[-1]["reason"] == "stopped"
    assert last(yours)[-1]["kind"] == "baseline"


def test_a_stop_is_about_one_run_begun_or_waiting():
    stops = Stops()
    stops.ask("me", 3)
    assert stops.stopped("me", 3)
    assert not stops.stopped("me", 4)
    assert not stops.stopped("you", 3)
    stops.end("me", 3)
    assert not stops.asked
    stops.begin("me")
    stops.leave("me")
    assert stops.stopped("me", 99)
    stops.end("me", 99)
    stops.leave("you")
    assert stops == Stops()


def test_a_run_that_broke_off_shows_its_last_round_as_far_as_it_came():
    trace = made(Recipe(rounds=3))
    cut = next(i for i, e in enumerate(trace.events) if getattr(e, "round", 0) == 3) + 2
    shown = [json.loads(x) for x in lines([trace.header, *trace.events[:cut]], "recorded")]
    assert [line["kind"] for line in shown] == ["run", "round", "round", "round", "round"]
    assert shown[-1]["brings"] == []


def test_a_summary_claims_no_speedup_before_plain_decoding_was_measured():
    trace = made(Recipe(rounds=3))
    shown = [json.loads(x) for x in lines([trace.header, *trace.events], "recorded")]
    by_kind = {line["kind"]: line for line in shown}
    assert "× plain" not in by_kind["finished"]["summary"]
    assert "× plain" in by_kind["baseline"]["summary"]
    stopped = [e for e in trace.events if not isinstance(e, Finished)][:-1]
    shown = [
        json.loads(x) for x in lines([trace.header, *stopped, Finished("stopped", 0.0)], "recorded")
    ]
    assert "next" not in shown[-1]["summary"]


FACTS = """
import json, sys
from specviz.ui.page import Options, build
from specviz.ui.runs import Machine, Runs
demo = build(Options(allow_any_model=sys.argv[1] == "any"), Runs(Machine()))
functions = list(demo.fns.values())
print(json.dumps({
    "visible": sorted({str(fn.api_visibility) for fn in functions if fn.targets[0][1] != "unload"}),
    "runs": [fn.concurrency_limit for fn in functions if fn.concurrency_id == "run"],
    "queue": demo._queue.max_size,
    "unload": [fn.targets[0][1] for fn in functions].count("unload"),
    "labels": [str(getattr(block, "label", "")) for block in demo.blocks.values()],
    "torch": "torch" in sys.modules,
}))
"""


def page_facts(models):
    """Facts of a page built in a process of its own: Gradio leaves loops and sockets open."""
    command = [sys.executable, "-c", FACTS, models]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def facts():
    return page_facts("house")


def test_every_event_of_the_page_is_private(facts):
    assert facts["visible"] == ["private"]


def test_runs_go_one_at_a_time_through_a_queue_of_64(facts):
    assert facts["runs"] == [1]
    assert facts["queue"] == 64


def test_the_page_is_told_when_a_visitor_leaves(facts):
    assert facts["unload"] == 1


def test_the_page_is_built_without_torch(facts):
    assert facts["torch"] is False


def test_boxes_for_models_appear_only_where_any_model_is_allowed(facts):
    assert not any("Hub id" in label for label in facts["labels"])
    assert any("Hub id" in label for label in page_facts("any")["labels"])


def test_it_is_launched_with_nothing_kept_uploaded_or_counted():
    arguments = launch_arguments(Options())
    assert arguments["run_history"] is False
    assert arguments["ssr_mode"] is False
    assert arguments["enable_monitoring"] is False
    assert arguments["mcp_server"] is False
    assert arguments["state_session_capacity"] == 200
    assert "allowed_paths" not in arguments


def test_the_entry_point_serves_the_page():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "app.py", "--port", str(port), "--device", "cpu"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as server:
        try:
            assert "specviz" in wait_for(f"http://127.0.0.1:{port}/")
        finally:
            server.terminate()


def wait_for(address):
    """The text at an address that is soon there."""
    for _ in range(240):
        try:
            with urllib.request.urlopen(address) as answered:
                return answered.read().decode()
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(address)


def test_the_command_line_says_who_may_name_models_and_where_they_run():
    sys.path.insert(0, str(ROOT))
    try:
        from app import options
    finally:
        sys.path.remove(str(ROOT))
    assert options([]) == Options()
    told_options = options(["--allow-any-model", "--device", "cpu", "--host", "0.0.0.0"])
    assert told_options == Options(True, "cpu", None, "0.0.0.0", None)
