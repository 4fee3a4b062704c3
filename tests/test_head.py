"""The content inserted into the head of Gradio's page."""

import re

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.ui.component import script
from specviz.ui.head import head
from specviz.ui.routes import script_address, script_text
from specviz.ui.server import app_kwargs

PAGE = '<html><head><base href="./" /><title>é</title></head><body><base></body></html>'


async def parts():
    """A page that arrives in two parts, cut within a character."""
    whole = PAGE.encode()
    cut = whole.index(b"\xc3") + 1
    yield whole[:cut]
    yield whole[cut:]


ANSWERS = {
    "/": lambda _: HTMLResponse(PAGE),
    "/parts": lambda _: StreamingResponse(parts(), media_type="text/html"),
    "/bare": lambda _: HTMLResponse("<html><head></head></html>"),
    "/data": lambda _: JSONResponse({"page": PAGE}),
}


@pytest.fixture(scope="module")
def client():
    given = app_kwargs()
    given["routes"] = [Route(path, answer) for path, answer in ANSWERS.items()] + given["routes"]
    with TestClient(Starlette(**given), "http://localhost") as client:
        yield client


def test_only_pages_with_a_base_element_contain_the_early_script_once_after_it(client):
    first = '<base href="./" />'
    whole = PAGE.replace(first, first + head().decode(), 1)
    assert client.get("/parts").text == whole
    answer = client.get("/", headers={"Accept-Encoding": "identity"})
    assert answer.text == whole
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert client.get("/bare").text == "<html><head></head></html>"
    assert client.get("/data").json() == {"page": PAGE}


def test_page_preloads_its_one_script(client):
    links = re.findall(r'<link rel="modulepreload" href="([^"]+)">', head().decode())
    assert links == [script_address("page")]
    sent = client.get("/" + links[0])
    assert sent.status_code == 200
    assert sent.text == script_text("page")
    assert "immutable" in sent.headers["cache-control"]


def test_config_is_escaped_in_the_script():
    sent = script("part", "step/intro", {"words": "</script>"})
    assert '{"name":"part","words":"\\u003c/script>"}' in sent
