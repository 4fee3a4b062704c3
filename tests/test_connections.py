"""Connections to a server of uvicorn: how long a request's headers may take."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace

import pytest
import uvicorn
from event_loop import in_event_loop

from specviz import adapters
from specviz.adapters import uvicorn as adapter

LIMIT = 0.3  # seconds
HEADERS = b"GET / HTTP/1.1\r\nHost: a\r\n"


async def app(scope, receive, send):
    """Answer slowly: the response takes longer than headers may take."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
    await asyncio.sleep(2 * LIMIT)
    await send({"type": "http.response.body", "body": b"ended"})


@pytest.fixture
def protocols(monkeypatch):
    """The classes by which uvicorn handles connections; they and the limit are restored."""
    monkeypatch.setattr(adapter.HeaderLimit, "seconds", 1.0, raising=False)
    found = dict(uvicorn.config.HTTP_PROTOCOLS)
    monkeypatch.setattr(uvicorn.config, "HTTP_PROTOCOLS", found)
    return found


@asynccontextmanager
async def connections():
    """Serve `app`; yield a function that opens a connection."""
    config = uvicorn.Config(app, port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    writers = []

    async def connect():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writers.append(writer)
        return reader, writer

    try:
        yield connect
    finally:
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
        server.should_exit = True
        await serving


@pytest.mark.parametrize("earlier", [LIMIT, 60.0], ids=["first call", "after another limit"])
@in_event_loop
async def test_connection_with_incomplete_headers_is_closed_and_a_slow_response_is_not(
    protocols, earlier
):
    adapter.limit_header_time(earlier)
    adapter.limit_header_time(LIMIT)
    async with connections() as connect:
        for sent in (b"", HEADERS):
            reader, writer = await connect()
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), 5) == b""
        reader, writer = await connect()
        for part in (HEADERS, b"A: b\r\n", b"\r\n"):
            writer.write(part)
            await asyncio.sleep(LIMIT / 10)
        assert b"200 OK" in await reader.readuntil(b"begun ")
        await asyncio.wait_for(reader.readuntil(b"ended"), 5)
        writer.write(HEADERS)  # a second request, on the same connection
        drip = asyncio.create_task(drip_headers(writer))
        rest = await asyncio.wait_for(reader.read(), 5)
        drip.cancel()
        assert b"200 OK" not in rest


async def drip_headers(writer):
    while True:
        writer.write(b"A: b\r\n")
        await asyncio.sleep(LIMIT / 5)


def test_changed_uvicorn_is_reported_and_serves_without_the_limit(protocols, monkeypatch):
    reported = []
    monkeypatch.setattr(adapter, "warn_once", reported.append)
    monkeypatch.setattr(adapters, "warn_once", reported.append)
    assert not adapter.awaits_headers(SimpleNamespace())
    del protocols[adapter.CHOICE]
    adapter.limit_header_time(1.0)
    assert reported == [adapter.ENDLESS] * 2
    assert adapter.CHOICE not in protocols
