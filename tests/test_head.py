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


def test_page_preloads_exactly_the_modules_that_the_first_tab_imports(client):
    links = re.findall(r'<link rel="modulepreload" href="([^"]+)">', head().decode())
    folder = f"gradio_api/sv/{modules()[0]}/"
    names = {link.removeprefix(folder) for link in links}
    assert len(links) == len(names) > 10
    assert {"vendor/preact.js", "shared/given.js", "step/dock.js"} <= names
    assert not [name for name in names if name.startswith(("compare/", "cost/", "trees/"))]
    assert "shared/ask.js" not in names  # no section of the first tab asks questions
    assert "shared/early.js" not in modules()[1]  # the script itself is no module
    for link in links:
        assert client.get("/" + link).status_code == 200


def test_long_config_is_fetched_and_short_config_is_inline(client):
    long = {"words": "<b>" * LONGEST}
    assert '"a":1}' in script("part", "step/intro", {"a": 1})
    (address,) = re.findall(r'fetch\(new URL\("([^"]+)"', script("part", "step/intro", long))
    assert client.get("/" + address).json() == {"name": "part"} | long
    assert client.get("/" + address.replace("part", "other")).status_code == 404
