"""Data of closed sessions is dropped. test_ui tests the page's part of this."""

from threading import Lock
from types import SimpleNamespace

import pytest

from specviz.ui import sessions
from specviz.ui.sessions import Sessions

TABLES = ("session_data", "time_last_used")
QUEUES = ("pending_messages_per_session", "pending_event_ids_session")


@pytest.fixture
def demo():
    """Return Gradio's session tables after some visits."""
    holder = SimpleNamespace(lock=Lock(), **{name: {} for name in TABLES})
    queue = SimpleNamespace(event_ids_to_events={}, **{name: {} for name in QUEUES})
    return SimpleNamespace(state_holder=holder, _queue=queue)


def tables(demo):
    yield from (getattr(demo.state_holder, name) for name in TABLES)
    yield from (getattr(demo._queue, name) for name in QUEUES)


def visit(demo, name):
    for table in tables(demo):
        table[name] = "what it was shown"


def kept(demo):
    return [sorted(table) for table in tables(demo)]


def test_data_of_closed_sessions_is_dropped(demo):
    gone = Sessions(demo)
    for number in range(20):
        visit(demo, f"visitor {number}")
    for number in range(1, 20):
        gone.part(f"visitor {number}")
    assert kept(demo) == [["visitor 0"]] * 4


def test_data_of_a_closed_session_is_dropped_after_its_last_job(demo):
    gone, events = Sessions(demo), demo._queue.event_ids_to_events
    visit(demo, "busy")
    events["1"] = SimpleNamespace(session_hash="busy")
    gone.part("busy")
    assert kept(demo) == [["busy"]] * 4
    del events["1"]
    gone.part("another, who never asked anything")
    assert kept(demo) == [[]] * 4
    assert not gone._gone


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
