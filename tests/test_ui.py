"""The server side of the page: blocked routes, recorded runs and the built page; no browser."""

import json
import re
import subprocess
import sys
from html import unescape
from itertools import groupby
from pathlib import Path

import pytest
from made import Recipe, made
from plotly.offline import get_plotlyjs_version
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.catalog.entry import group_of, groups
from specviz.commands.cli import build_parser
from specviz.commands.serve import page_options
from specviz.trace.events import Finished
from specviz.ui import guard, head, server
from specviz.ui.page import Options, launch_arguments
from specviz.ui.queue import MAX_JOBS
from specviz.ui.routes import UI_FOLDER, scripts
from specviz.ui.step import drawer, player, recorded
from specviz.ui.step.lines import lines

ROOT = Path(__file__).resolve().parent.parent


def told(text):
    return [json.loads(line) for line in text.splitlines()]


async def answer(request):
    return PlainTextResponse("open")


def test_server_blocks_uploads_remote_files_and_usage_statistics_only():
    """FastAPI gives its middleware the root path in the scope, and routes without it."""
    routes = [Route("/{path:path}", answer, methods=["GET", "POST"])]
    app = guard.Guard(Starlette(routes=routes))
    with TestClient(app, "http://localhost") as client:
        for path in BLOCKED:
            assert client.get(path).status_code == client.post(path).status_code == 403, path
        for path in ("/", "/config", "/gradio_api/queue/join", "/gradio_api/sv/x"):
            assert client.get(path).text == "open", path
    for root in ("/viz", "/viz/"):
        with TestClient(app, "http://localhost", root_path=root) as client:
            for path in ("/gradio_api/upload", "/viz/gradio_api/upload", "/viz//gradio_api/upload"):
                assert client.post(path).status_code == 403, path
            assert client.get("/viz/config").status_code == 200


BLOCKED = (
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
)


@pytest.fixture
def routes(tmp_path, monkeypatch):
    made(Recipe(rounds=2)).write(tmp_path / "01-a-run.jsonl")
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    recorded.names.cache_clear()
    recorded.body.cache_clear()
    with TestClient(Starlette(**server.app_kwargs()), "http://localhost") as client:
        yield client
    recorded.names.cache_clear()
    recorded.body.cache_clear()


def test_broken_recorded_run_is_reported_with_its_line_number(routes, tmp_path):
    path = tmp_path / "01-a-run.jsonl"
    path.write_text(path.read_text()[:-40])
    answer = routes.get(f"{server.PREFIX}/traces/01-a-run")
    assert answer.status_code == 422
    assert answer.text.startswith("The recorded run '01-a-run' cannot be read: Line ")
    assert "Line 17" in answer.text


def test_only_recorded_runs_are_sent_and_then_revalidated(routes):
    first = routes.get(f"{server.PREFIX}/traces/01-a-run")
    kinds = [line["kind"] for line in told(first.text)]
    assert kinds == ["run", "round", "round", "round", "finished", "baseline"]
    again = {"If-None-Match": first.headers["etag"]}
    assert routes.get(f"{server.PREFIX}/traces/01-a-run", headers=again).status_code == 304
    for name in ("none", "..%2f..%2fapp.py", "01-a-run.jsonl", "%2fetc%2fpasswd"):
        assert routes.get(f"{server.PREFIX}/traces/{name}").status_code == 404, name
    answered = routes.get(f"{server.PREFIX}/health")
    assert (answered.status_code, answered.text) == (200, "ok")
    assert answered.headers["cache-control"] == "no-store"
    answered = routes.get(f"{server.PREFIX}/{scripts()[0]}/plotly.js")
    assert answered.headers["content-encoding"] == "gzip"
    assert "immutable" in answered.headers["cache-control"]
    version = f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}"
    assert version in answered.text[:100], "the version that Python's figures are made for"


def test_recorded_runs_have_short_unique_titles_in_groups_of_the_catalogue():
    titles = [recorded.title(name) for name in recorded.names()]
    assert len(set(titles)) == len(titles)
    assert max(map(len, titles)) <= 27, "longer ones are cut in the row on top"
    assert recorded.title("12-some-other-run") == "some other run"
    assert recorded.group("12-some-other-run") == ""
    seen = [recorded.group(name) for name in recorded.names()]
    others = ["A chat model: SmolLM2", "A target on a server"]
    once = [title for title, _ in groupby(seen)]
    assert once == [recorded.START, *groups().values(), *others]
    assert seen.count(recorded.START) == 5
    of_theirs = [group_of(entry.name) for entry in drawer.drafters()]
    assert [title for title, _ in groupby(of_theirs)] == list(groups().values())


def test_each_group_has_a_text_heading_above_its_first_entry():
    style = head.headings([".a", "#b"], ["", 'One "<two>', 'One "<two>', "Three"])
    assert re.findall(r'data-index="(\d)"\]::before', style) == ["1", "1", "3", "3"]
    assert r'content: "One \"\3c two>"' in style
    assert head.headings([".a"], []) == ""
    page = launch_arguments(Options())["css"]
    for group in (recorded.START, *groups().values(), "Stories", "Repetition"):
        assert f'content: "{group}"' in page


def test_drafter_cards_name_their_papers():
    for entry in drawer.drafters():
        card = unescape(drawer.card(entry))
        assert entry.papers or entry.bound
        for paper in entry.papers:
            assert paper["authors"] in card
            assert f"{paper['year']}, <cite>{paper['title']}</cite>" in card
            if "arxiv" in paper:
                assert f'href="https://arxiv.org/abs/{paper["arxiv"]}"' in card
                assert paper["arxiv"].startswith(str(paper["year"])[2:]), "an id begins so"
        cited = re.findall(r"paper \((\d{4}\.\d{5})\)", entry.differences)
        assert set(cited) <= {paper.get("arxiv") for paper in entry.papers}, entry.name


def test_interrupted_run_shows_its_partial_last_round():
    trace = made(Recipe(rounds=3))
    cut = next(i for i, e in enumerate(trace.events) if getattr(e, "round", 0) == 3) + 2
    shown = [json.loads(x) for x in lines([trace.header, *trace.events[:cut]], "recorded")]
    assert [line["kind"] for line in shown] == ["run", "round", "round", "round", "round"]
    assert shown[-1]["brings"] == []


@pytest.mark.slow
def test_summary_has_no_speedup_before_plain_decoding_is_measured():
    trace = made(Recipe(rounds=3))
    shown = [json.loads(x) for x in lines([trace.header, *trace.events], "recorded")]
    by_kind = {line["kind"]: line for line in shown}
    assert "× plain" not in by_kind["finished"]["summary"]
    assert "× plain" in by_kind["baseline"]["summary"]
    stopped = [e for e in trace.events if not isinstance(e, Finished)][:-1]
    events = [trace.header, *stopped, Finished("stopped", 0.0)]
    shown = [json.loads(x) for x in lines(events, "recorded")]
    assert "next" not in shown[-1]["summary"]


FACTS = """
import asyncio, json, sys
opened = []
sys.addaudithook(lambda what, of: what == "open" and opened.append(str(of[0])))
from specviz.ui.page import Options, build
stubs = [name for name in opened if name.endswith(".pyi")]
import gradio as gr
from gradio.routes import App
from specviz.ui.request import RunRequest
from specviz.ui.sessions import Sessions
from specviz.ui.step.drawer import drawer
from specviz.ui.task import Machine
from specviz.ui.worker import Worker
with gr.Blocks():
    fields = list(drawer(RunRequest("Once"), False))
def labels(page):
    return [str(getattr(block, "label", "")) for block in page.blocks.values()]
demo = build(Options(), Worker(Machine()), Worker(Machine()))
called = list(demo.fns.values())
App.create_app(demo)
queue, holder = demo._queue, demo.state_holder
for visitor in ("gone", "here"):
    holder[visitor]
    queue.pending_messages_per_session[visitor] = asyncio.Queue()
    queue.pending_event_ids_session[visitor] = set()
async def leave():
    Sessions(demo).part("gone")
asyncio.run(leave())
tables = (holder.session_data, holder.time_last_used,
          queue.pending_messages_per_session, queue.pending_event_ids_session)
facts = {
    "visible": sorted(fn.api_name for fn in called if str(fn.api_visibility) != "private"),
    "limited": [fn.concurrency_limit for fn in called if fn.fn and fn.queue is not False],
    "loud": [fn.api_name for fn in called if fn.fn and fn.targets and fn.show_progress_on != []],
    "queue": demo._queue.max_size,
    "kept": [list(table) for table in tables],
    "labels": [labels(demo)],
    "torch": "torch" in sys.modules,
    "drawer": fields,
    "stubs": stubs,
}
"""
# The same process goes on with a Gradio that has changed: without private parts.
FACTS += """
import logging, urllib.request
messages = []
log = logging.getLogger("specviz.adapters")
log.addHandler(logging.Handler())
log.handlers[0].emit = lambda record: messages.append(record.getMessage())
from specviz.adapters import gradio as adapter
from specviz.ui import page
HIDDEN = {"_queue", "state_holder", "preprocess_data", "call_function"}
plain = gr.Blocks.__getattribute__
def hiding(self, name):
    if name in HIDDEN and sys._getframe(1).f_globals["__name__"] == "specviz.adapters.gradio":
        raise AttributeError(name)
    return plain(self, name)
gr.Blocks.__getattribute__ = hiding
demo = page.build(Options(allow_any_model=True), Worker(Machine()), Worker(Machine()))
facts["labels"].append(labels(demo))
wanted = page.launch_arguments(Options()) | {"a_new_argument": True}
demo.launch(**adapter.launch_arguments(demo.launch, wanted), prevent_thread_lock=True, quiet=True)
statuses = [urllib.request.urlopen(demo.local_url + path).status
            for path in ("", "config", "gradio_api/sv/health")]
asyncio.run(leave())
demo.close()
print(json.dumps(facts | {"statuses": statuses, "messages": messages}))
"""


@pytest.mark.slow
def test_page_of_a_new_process_has_one_public_event_and_loads_no_torch():
    """Build it in another process, since Gradio leaves loops and sockets open.

    Its tasks are runs, repeated runs, branches, races, maps, sweeps, repeats, inspections and API
    calls, all of which wait in our own queue.
    """
    command = [sys.executable, "-c", FACTS]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    facts = json.loads(done.stdout.splitlines()[-1])
    assert facts["stubs"] == [], "Gradio is imported without writing stubs"
    assert facts["visible"] == ["run"]
    assert facts["limited"] == [None] * 9
    assert facts["loud"] == [], "Gradio updates no component's status, which nobody sees"
    assert facts["queue"] == 64
    assert launch_arguments(Options())["max_threads"] > MAX_JOBS
    assert facts["kept"] == [["here"]] * 4, "nothing is kept of a visitor who left"
    assert facts["torch"] is False
    assert ["prompt", *facts["drawer"]] == [field["name"] for field in player.config()["form"]]
    usual, anything = facts["labels"]
    assert not any("Hub id" in label for label in usual)
    assert any("Hub id" in label for label in anything)
    assert facts["statuses"] == [200] * 3, "it works without Gradio's private parts"
    assert len(facts["messages"]) == len(set(facts["messages"])) == 5, facts["messages"]


def test_launch_options_disable_history_monitoring_and_mcp():
    arguments = launch_arguments(Options())
    assert arguments["run_history"] is False
    assert arguments["ssr_mode"] is False
    assert arguments["enable_monitoring"] is False
    assert arguments["mcp_server"] is False
    assert arguments["state_session_capacity"] == 64
    assert "allowed_paths" not in arguments


def test_command_line_options_set_model_permission_and_device(capsys):
    def options(words):
        return page_options(build_parser("serve").parse_args(["serve", *words]))

    assert options([]) == Options()
    told_options = options(["--allow-any-model", "--device", "cpu", "--host", "0.0.0.0"])
    assert told_options == Options(True, "cpu", None, "0.0.0.0", None)
    assert options(["--longest-run", "60"]) == Options(longest_run=60)
    with pytest.raises(SystemExit):
        options(["--longest-run", "0"])
    assert "The longest run" in capsys.readouterr().err


LOOKUP = re.compile(r"(?:[(&|!?:=]\s*|=> |\breturn )(?!const\b|let\b)[\w.\[\]]+ in [\w(]")


def test_modules_look_up_variable_names_only_among_a_tables_own():
    """`name in table` is also true of the names of its prototype, such as "constructor"."""
    assert LOOKUP.search("if (code in LANGUAGES) return")
    assert LOOKUP.search("const inside = (id) => id in places;")
    assert not LOOKUP.search("for (const name in table) <h2>Next in the lesson</h2>")
    found = {}
    for path in UI_FOLDER.rglob("*.ts*"):
        text = re.sub(r"^[ \t]*(//.*|/\*\*((?!\*/)[\s\S])*\*/)\n", "", path.read_text(), flags=re.M)
        lines = [re.sub(r"//.*|\"[^\"]*\"|`[^`]*`", "''", line) for line in text.split("\n")]
        found[path.name] = [line for line in lines if LOOKUP.search(line)]
    assert {name: lines for name, lines in found.items() if lines} == {}
