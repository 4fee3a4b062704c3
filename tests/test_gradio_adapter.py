"""The adapter of Gradio's private parts, and the end of sessions.

A whole page without these parts is in test_ui.
"""

import asyncio
import functools
import importlib.util
import sys
from threading import Lock
from types import ModuleType, SimpleNamespace

import gradio as gr
import httpx
import pytest
from event_loop import in_event_loop
from gradio import state_holder

from specviz.adapters import gradio as adapter
from specviz.adapters import warn_once
from specviz.ui import sessions
from specviz.ui.page import PROGRESS_POLL, QUEUE_POLL, Options, build, launch_arguments
from specviz.ui.sessions import Heartbeats, Sessions
from specviz.ui.task import Machine
from specviz.ui.worker import Worker


@pytest.fixture
def warned(caplog):
    """Return what the adapters have logged in this test."""
    warn_once.cache_clear()
    yield lambda: [each.message for each in caplog.records if each.name == "specviz.adapters"]
    warn_once.cache_clear()


def in_a_loop(test):
    """Run a test inside an event loop; otherwise Gradio creates one and leaves it open."""

    @functools.wraps(test)
    def run(**fixtures):
        async def within():
            test(**fixtures)

        asyncio.run(within())

    return run


# With the installed Gradio.


@pytest.mark.slow
def test_idle_queue_polls_less_often(monkeypatch, warned):
    slept = []

    async def waited():
        queue = build(Options(), Worker(Machine()), Worker(Machine()))._queue

        async def sleep(seconds):
            slept.append(seconds)
            queue.stopped = len(slept) % 6 == 0

        monkeypatch.setattr("gradio.queueing.asyncio.sleep", sleep)
        for loop in (queue.start_processing, queue.start_progress_updates):
            queue.stopped = False
            await loop()

    asyncio.run(waited())
    assert slept == [QUEUE_POLL] * 6 + [PROGRESS_POLL] * 6
    assert min(QUEUE_POLL, PROGRESS_POLL) >= 0.02
    assert warned() == []


@pytest.mark.slow
def test_installed_gradio_has_what_the_adapter_needs(warned):
    """If an upgrade of Gradio removes something, this test fails instead of a user's server."""
    from gradio.routes import App

    async def used():
        with gr.Blocks() as demo:
            remove = adapter.removal_point()
            gr.HTML("gone")
            remove()
        assert demo.children == []
        demo.queue()
        adapter.poll_less_often(demo, 1, 1)
        adapter.explain_errors(demo, str)
        app = App.create_app(demo)
        assert adapter.busy_sessions(demo) == set()
        assert adapter.knows_readers(app)
        adapter.check_heartbeats(app)
        adapter.drop_session(demo, "nobody")
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            for route in ("upload", "process_recording"):
                answer = await client.post(f"{adapter.API_PREFIX}/{route}")
                assert answer.status_code not in (404, 405), route

    asyncio.run(used())
    wanted = launch_arguments(Options())
    assert adapter.launch_arguments(gr.Blocks.launch, wanted) == wanted
    assert warned() == []


@pytest.mark.slow
@in_event_loop  # Gradio opens a loop that it does not close if there is none
async def test_state_of_a_session_is_built_without_the_config_of_the_page(warned, monkeypatch):
    monkeypatch.setattr(state_holder, "SessionState", state_holder.SessionState)
    with gr.Blocks() as demo:
        box = gr.Textbox("old")
    adapter.skip_session_configs()
    adapter.skip_session_configs()
    state = state_holder.SessionState(demo)
    assert state.config_values == {}
    assert state[box._id] is box
    state._update_value_in_config(box._id, "new")
    assert state.config_values[box._id]["props"]["value"] == "new"
    assert warned() == []
    changed = SimpleNamespace(default_config=demo.default_config, blocks=demo.blocks, more=1)
    monkeypatch.setattr(state_holder, "SessionState", NeedsMore)
    adapter.skip_session_configs()
    assert state_holder.SessionState(changed).more == 1
    assert warned() == [adapter.SLOW_SESSIONS]


def test_empty_number_of_a_slider_is_none_and_others_are_checked(monkeypatch):
    monkeypatch.setattr(gr.Slider, "preprocess", gr.Slider.preprocess)
    adapter.pass_empty_sliders()
    slider = gr.Slider(0, 1)
    assert slider.preprocess(None) is None
    assert slider.preprocess(0.5) == 0.5
    with pytest.raises(gr.Error, match="greater than maximum"):
        slider.preprocess(2)


class NeedsMore:
    """A state that needs more of the page than today's."""

    def __init__(self, blocks):
        self.more = blocks.more


# With a Gradio that has changed.


def test_only_status_404_counts_as_a_lost_session():
    class HttpError(Exception):
        """Like Starlette's HTTPException."""

        def __init__(self, status_code):
            self.status_code = status_code

    lost = RuntimeError("response already started")
    lost.__cause__ = HttpError(404)
    assert adapter.is_lost_session(lost)
    assert not adapter.is_lost_session(HttpError(500))
    assert not adapter.is_lost_session(KeyError("a"))


def test_middleware_can_be_moved_outside_all_others(warned):
    class Own:
        """A middleware of the app."""

    stack = [SimpleNamespace(cls=kind) for kind in (int, str, Own, float)]
    app = SimpleNamespace(user_middleware=stack, build_middleware_stack=lambda: "built")
    adapter.put_first(app, Own)
    assert [each.cls for each in app.user_middleware] == [Own, int, str, float]
    assert app.middleware_stack == "built"
    assert warned() == []
    del app.build_middleware_stack
    adapter.put_first(app, Own)
    assert warned() == [adapter.NOT_FIRST]


@in_a_loop
def test_components_stay_if_gradio_has_no_context_to_remove_them_from(monkeypatch, warned):
    with gr.Blocks() as demo:
        with monkeypatch.context() as changed:
            changed.delattr("gradio.context.Context")
            remove = adapter.removal_point()
        gr.HTML("half a part")
        remove()
    assert len(demo.children) == 1
    (sentence,) = warned()
    assert "remains half visible" in sentence


def test_page_or_calls_without_what_is_expected_are_left_unchanged(warned):
    async def preprocess(event, **values):
        return [event, values]

    wrapped = adapter._checking(preprocess)
    assert asyncio.run(wrapped("event", values=[1])) == ["event", {"values": [1]}]
    page = b"<html><head></head></html>"
    for _ in range(2):
        assert adapter.insert_head(page, b"x") == page
    assert len(warned()) == 2


@pytest.fixture
def gradio_of(tmp_path, monkeypatch):
    """Import a module from source in place of the one that writes stubs."""
    before = list(sys.meta_path)
    monkeypatch.setattr(adapter, "STUB_MODULE", "made_up_meta")
    monkeypatch.syspath_prepend(str(tmp_path))

    def imported(source: str) -> ModuleType:
        (tmp_path / "made_up_meta.py").write_text(source)
        monkeypatch.delitem(sys.modules, "made_up_meta", raising=False)
        sys.meta_path.insert(0, adapter.StubSkipper())
        return importlib.import_module("made_up_meta")

    yield imported
    sys.meta_path[:] = before
    sys.modules.pop("made_up_meta", None)


def test_importing_gradio_writes_no_stub_files(gradio_of, warned):
    module = gradio_of("def create_or_modify_pyi(*_): raise OSError('a folder of root')")
    assert module.create_or_modify_pyi(1, 2, 3) is None
    assert not any(isinstance(each, adapter.StubSkipper) for each in sys.meta_path)
    adapter.check_stub_files()
    assert warned() == []
    assert gradio_of("writes_stubs = 1").writes_stubs == 1, "an import without it is unchanged"
    assert warned() == [adapter.STUBS_WRITTEN]


def test_missing_stub_module_logs_one_warning(warned, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [adapter.StubSkipper(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "gradio")
    adapter.check_stub_files()
    assert warned() == [adapter.STUBS_WRITTEN]
    assert not any(isinstance(each, adapter.StubSkipper) for each in sys.meta_path)
    adapter.skip_stub_files()
    assert isinstance(sys.meta_path[0], adapter.StubSkipper)


@in_event_loop
async def test_data_of_closed_sessions_is_dropped_after_their_last_job(monkeypatch):
    def visit(name):
        for table in tables:
            table[name] = "what it was shown"

    tables = [{}, {}, {}, {}]
    events = {"1": SimpleNamespace(session_hash="busy")}
    holder = SimpleNamespace(lock=Lock(), session_data=tables[0], time_last_used=tables[1])
    queue = SimpleNamespace(event_ids_to_events=events, pending_messages_per_session=tables[2])
    queue.pending_event_ids_session = tables[3]
    gone = Sessions(SimpleNamespace(state_holder=holder, _queue=queue))
    returned = []
    monkeypatch.setattr(sessions, "TRIM", 0.0)
    monkeypatch.setattr(sessions, "give_back", lambda: returned.append(1))
    for name in ("busy", *map(str, range(20))):
        visit(name)
    for name in ("busy", *map(str, range(20))):
        gone.part(name)
    assert [list(table) for table in tables] == [["busy"]] * 4
    del events["1"]
    gone.part("another, who never asked anything")
    assert tables == [{}] * 4
    assert not gone._gone
    while not returned:
        await asyncio.sleep(0.01)
    assert returned == [1], "memory is returned once after many pages were closed"


@in_event_loop
async def test_end_of_a_heartbeat_ends_its_session_and_no_other_request_does():
    parted = []
    begun, closed = asyncio.Event(), asyncio.Event()

    async def beat(scope, receive, send):
        begun.set()
        await closed.wait()
        raise ConnectionError

    heartbeats = Heartbeats(beat, SimpleNamespace(part=parted.append))

    def request(path, root="", kind="http"):
        scope = {"type": kind, "path": root + path, "root_path": root}
        return asyncio.create_task(heartbeats(scope, None, None))

    open_one = request(f"{adapter.HEARTBEATS}one", "/viz")
    await begun.wait()
    assert parted == []
    closed.set()
    others = [request(path) for path in ("/", f"{adapter.API_PREFIX}/queue/data", "/lifespan")]
    await asyncio.gather(open_one, *others, request("", kind="lifespan"), return_exceptions=True)
    assert parted == ["one"]


def test_free_memory_is_returned_to_the_system_where_supported(monkeypatch):
    called = []
    library = SimpleNamespace(malloc_trim=called.append)
    monkeypatch.setattr(sessions.ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(sessions.sys, "platform", "linux")
    sessions.give_back()
    assert called == [0]
    del library.malloc_trim  # a C library without malloc_trim
    sessions.give_back()
    monkeypatch.setattr(sessions.sys, "platform", "win32")
    monkeypatch.setattr(sessions.ctypes, "CDLL", lambda _: pytest.fail("there is no such library"))
    sessions.give_back()
