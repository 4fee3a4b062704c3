"""The content inserted into the head of Gradio's page."""

import re

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.ui.component import LONGEST, script
from specviz.ui.head import head
from specviz.ui.routes import modules
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


@pytest.fixture
def client():
    given = app_kwargs()
    given["routes"] = [Route(path, answer) for path, answer in ANSWERS.items()] + given["routes"]
    with TestClient(Starlette(**given), "http://localhost") as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/parts"])
def test_page_contains_the_early_script_once_after_the_base_element(client, path):
    answer = client.get(path)
    first = '<base href="./" />'
    assert answer.text == PAGE.replace(first, first + head().decode(), 1)


def test_content_length_is_sent_to_clients_without_compression(client):
    answer = client.get("/", headers={"Accept-Encoding": "identity"})
    assert int(answer.headers["content-length"]) == len(answer.content) > len(PAGE.encode())


def test_responses_without_a_base_element_are_unchanged(client):
    assert client.get("/bare").text == "<html><head></head></html>"
    assert client.get("/data").json() == {"page": PAGE}


def test_page_preloads_exactly_the_modules_that_the_first_tab_imports(client):
    links = re.findall(r'<link rel="modulepreload" href="([^"]+)">', head().decode())
    folder = f"gradio_api/sv/{modules()[0]}/"
    names = {link.removeprefix(folder) for link in links}
    assert len(links) == len(names) > 10
    assert {"vendor/preact.js", "shared/given.js", "step/dock.js"} <= names
    assert not [name for name in names if name.startswith(("compare/", "cost/", "trees/"))]
    assert "shared/ask.js" not in names  # no section of the first tab asks questions
    for link in links:
        assert client.get("/" + link).status_code == 200


def test_early_script_is_not_a_javascript_module():
    assert "shared/early.js" not in modules()[1]
    assert b"requestAnimationFrame" in head()


def test_long_config_is_fetched_and_short_config_is_inline(client):
    long = {"words": "<b>" * LONGEST}
    assert '"a":1}' in script("part", "step/intro", {"a": 1})
    (address,) = re.findall(r'fetch\(new URL\("([^"]+)"', script("part", "step/intro", long))
    assert client.get("/" + address).json() == {"name": "part"} | long
    assert client.get("/" + address.replace("part", "other")).status_code == 404
