"""Limits of API calls: by network address, and only while somebody reads the result."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from types import SimpleNamespace

import gradio as gr
import pytest
import uvicorn
from event_loop import in_event_loop

from specviz.adapters.gradio import EVENT_RESULTS, RESULTS
from specviz.ui import access, api_calls
from specviz.ui.api_calls import GONE, MOST, PER_ADDRESS, ApiCalls, ResultReaders
from specviz.ui.queue import QueueFull

EVENTS = {"one": SimpleNamespace(session_hash="mine")}
PAGE = SimpleNamespace(_queue=SimpleNamespace(event_ids_to_events=EVENTS))


@pytest.fixture
def calls(monkeypatch):
    monkeypatch.setattr(api_calls, "UNREAD", 0.2)
    monkeypatch.setattr(api_calls, "ABSENT", 0.05)
    made = ApiCalls()
    made.readers_known = True
    return made


def test_calls_are_limited_per_address_and_in_total(calls):
    with ExitStack() as open_calls:
        for _ in range(PER_ADDRESS - 1):
            open_calls.enter_context(calls.counted("one"))
        with calls.counted("one"), pytest.raises(QueueFull, match="of your network address"):
            open_calls.enter_context(calls.counted("one"))
        open_calls.enter_context(calls.counted("one"))
        for number in range(MOST - PER_ADDRESS):
            open_calls.enter_context(calls.counted(f"other {number}"))
        with pytest.raises(QueueFull, match="16 API calls are already"):
            open_calls.enter_context(calls.counted("new"))
    assert not calls._addresses


@in_event_loop
async def test_call_ends_when_nobody_reads_its_result(calls):
    ended = []

    async def call():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)
        return "never"

    async def run():
        with pytest.raises(gr.Error, match="nobody reads"):
            await calls.run_while_read("one", call())

    with calls.reading("another session"):
        await asyncio.wait_for(run(), 5)
    running = asyncio.create_task(run())
    with calls.reading("one"):
        await asyncio.sleep(0.4)
        assert not running.done()
    with calls.reading("one"):  # it connects again at once
        await asyncio.sleep(0.2)
        assert not running.done()
    await asyncio.wait_for(running, 5)
    assert ended == [1, 1]
    assert GONE.endswith(".")


@in_event_loop
async def test_read_call_returns_its_result_or_error_and_so_does_one_with_unknown_readers(calls):
    async def call(error=None):
        await asyncio.sleep(0.4)
        if error:
            raise error
        return "a trace"

    with calls.reading("one"):
        assert await calls.run_while_read("one", call()) == "a trace"
        with pytest.raises(QueueFull):
            await calls.run_while_read("one", call(QueueFull()))
    calls.readers_known = False
    assert await calls.run_while_read("unread", call()) == "a trace"


@in_event_loop
async def test_streams_of_a_session_and_of_its_event_count_as_its_readers(calls):
    seen = []

    async def app(scope, receive, send):
        seen.append(dict(calls._readers))

    async def get(path, query=b"", method="GET"):
        app_of_page = SimpleNamespace(get_blocks=lambda: PAGE)
        scope = {"type": "http", "method": method, "path": path, "query_string": query}
        scope |= {"headers": [], "app": app_of_page}
        await ResultReaders(app, calls)(scope, None, None)

    await get(RESULTS, b"session_hash=a")
    await get(f"{EVENT_RESULTS}run/one")
    await get(f"{EVENT_RESULTS}v2/run/two")  # without a session, it is named by its event
    await get(f"{EVENT_RESULTS}run", method="POST")
    await get("/config")
    assert seen == [{"a": 1}, {"mine": 1}, {"two": 1}, {}, {}]
    assert not calls._readers


@pytest.mark.parametrize(
    ("trusted", "address"),
    [(None, "127.0.0.1"), ("10.0.0.1", "127.0.0.1"), ("127.0.0.1", "7.7.7.7")],
)
def test_address_that_a_proxy_states_counts_only_if_the_proxy_is_named(
    monkeypatch, trusted, address
):
    """The client itself sends an address, too; the proxy appends the true one."""
    environment = {} if trusted is None else {access.TRUSTED_PROXIES: trusted}
    monkeypatch.setattr(access.os, "environ", os.environ | environment)
    access.trust_no_unnamed_proxy()
    seen = []

    async def app(scope, receive, send):
        seen.append(access.client_address(scope))

    config = uvicorn.Config(app, log_config=None)
    config.load()
    headers = [(b"x-forwarded-for", b"1.2.3.4, 7.7.7.7")]
    scope = {"type": "http", "client": ("127.0.0.1", 5), "headers": headers}
    asyncio.run(config.loaded_app(scope, None, None))
    assert seen == [address]
