"""Request bodies: how long they may be, and that no more is ever read."""

import asyncio
import json

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from specviz.cost.measured_costs import MAX_CHARACTERS as MAX_COST_FILE
from specviz.cost.server.loading import MAX_CHARACTERS as MAX_STATS
from specviz.ui.guard import EVENT_LIMIT, LIMIT, Guard, limit_of
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
        for path, sent in (("sv/ask/x", text), ("run/predict", body), ("queue/join", body)):
            assert len(sent.encode()) + 1000 < limit_of(f"/gradio_api/{path}")
