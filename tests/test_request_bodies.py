"""Request bodies: how long they may be, and that no more is ever read."""

import asyncio
import json

import pytest
from event_loop import in_event_loop
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from specviz.cost.measured_costs import MAX_CHARACTERS as MAX_COST_FILE
from specviz.cost.server.loading import MAX_CHARACTERS as MAX_STATS
from specviz.ui import bodies
from specviz.ui.bodies import EVENT_LIMIT, LIMIT, limit_of
from specviz.ui.guard import Guard
from specviz.ui.request import LONGEST_TEXT

CHUNK = 100_000
OTHER, EVENT = "/gradio_api/sv/health", "/gradio_api/run/predict"


async def count(request):
    """Return how many bytes arrived; a second read must find the client still connected."""
    return PlainTextResponse(str(len(await request.body())))


def post(path, size, root_path="", **headers):
    """Send a body in chunks; return the status, the text, and how many bytes were read."""
    read = 0
    sent = []
    app = Guard(Starlette(routes=[Route("/{path:path}", count, methods=["POST"])]))

    async def receive():
        nonlocal read
        part = min(CHUNK, size - read)
        read += part
        return {"type": "http.request", "body": b"x" * part, "more_body": read < size}

    async def send(message):
        sent.append(message)

    pairs = {"host": "localhost"} | {name.replace("_", "-"): v for name, v in headers.items()}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "root_path": root_path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
    }
    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    return sent[0]["status"], text, read


@pytest.mark.parametrize(("path", "limit"), [(OTHER, LIMIT), (EVENT, EVENT_LIMIT)])
def test_request_body_is_accepted_up_to_the_limit_and_not_beyond(path, limit):
    assert post(path, limit, content_length=str(limit)) == (200, str(limit), limit)
    status, text, read = post(path, limit + 1, content_length=str(limit + 1))
    assert (status, read) == (413, 0)
    assert text == (f"This request is too large: this address accepts at most {limit // 10**6} MB.")
    # Chunked, it is counted while it arrives
    assert post(path, limit, transfer_encoding="chunked") == (200, str(limit), limit)
    status, _, read = post(path, 10**8, transfer_encoding="chunked")
    assert status == 413
    assert limit < read <= limit + CHUNK


def test_events_below_a_root_path_have_the_same_size_limit():
    status, _, _ = post(f"/viz{EVENT}", LIMIT + 1, root_path="/viz", content_length=str(LIMIT + 1))
    assert status == 200


def test_wrong_content_length_does_not_bypass_the_limit():
    for stated in ("10", "0", "-1", "many", "1" * 5000):
        status, _, read = post(OTHER, 10**8, content_length=stated)
        assert status == 413
        assert read <= LIMIT + CHUNK


class Upload:
    """A request whose body arrives when `send` is called."""

    def __init__(self, app, address="1.1.1.1"):
        self.parts, self.sent = asyncio.Queue(), []
        headers = [(b"host", b"localhost"), (b"content-length", str(EVENT_LIMIT).encode())]
        scope = {"type": "http", "method": "POST", "path": EVENT, "headers": headers}
        scope |= {"query_string": b"", "client": (address, 1)}
        self.task = asyncio.create_task(app(scope, self.parts.get, self.collect))

    async def collect(self, message):
        self.sent.append(message)

    async def send(self, size, more=True):
        self.parts.put_nowait({"type": "http.request", "body": b"x" * size, "more_body": more})
        for _ in range(3):
            await asyncio.sleep(0)

    async def status(self):
        await asyncio.wait_for(self.task, 5)
        assert (b"connection", b"close") in self.sent[0]["headers"] or self.sent[0]["status"] == 200
        return self.sent[0]["status"]


def counting_app():
    return Guard(Starlette(routes=[Route("/{path:path}", count, methods=["POST"])]))


@in_event_loop
async def test_bodies_in_memory_are_limited_in_total_and_per_address(monkeypatch):
    monkeypatch.setattr(bodies, "TOTAL", 1_000_000)
    monkeypatch.setattr(bodies, "PER_ADDRESS", 600_000)
    app = counting_app()
    first = Upload(app)
    await first.send(600_000)
    same, small, other = Upload(app), Upload(app), Upload(app, "2.2.2.2")
    await same.send(bodies.SMALL + 1)
    assert await same.status() == 503
    await small.send(bodies.SMALL, more=False)
    assert await small.status() == 200
    await other.send(400_000)
    third = Upload(app, "3.3.3.3")
    await third.send(100_000)
    assert await third.status() == 503
    await other.send(0, more=False)
    assert await other.status() == 200
    again = Upload(app, "3.3.3.3")
    await again.send(100_000, more=False)
    assert await again.status() == 200
    first.parts.put_nowait({"type": "http.disconnect"})
    await asyncio.wait_for(first.task, 5)
    assert first.sent == []
    assert not app.bodies._held


@in_event_loop
async def test_body_that_does_not_become_complete_is_refused(monkeypatch):
    monkeypatch.setattr(bodies, "SECONDS", 0.05)
    app = counting_app()
    upload = Upload(app)
    await upload.send(100_000)
    assert await upload.status() == 408
    assert not app.bodies._held


def test_disconnected_client_gets_no_response():
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def app(*_):
        raise AssertionError("called")

    headers = [(b"host", b"localhost"), (b"content-length", b"5")]
    scope = {"type": "http", "path": EVENT, "headers": headers}
    asyncio.run(Guard(app)(scope, receive, send))
    assert sent == []


def test_largest_requests_of_the_page_are_within_the_limit():
    """As a browser does, encode a request as JSON and an event as JSON within JSON, in UTF-8."""
    for question in (
        {"now": "字" * MAX_STATS, "before": "字" * MAX_STATS},  # two texts of a server
        {"now": '"' * MAX_STATS, "before": '"' * MAX_STATS},
        {"text": '"' * MAX_COST_FILE},
        {"prompt": '"' * (LONGEST_TEXT // 2)},
    ):
        text = json.dumps(question, ensure_ascii=False)
        body = json.dumps({"data": [text], "fn_index": 100}, ensure_ascii=False)
        for path in ("run/predict", "queue/join"):
            assert len(body.encode()) + 1000 < limit_of(f"/gradio_api/{path}")
