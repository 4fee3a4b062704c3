"""The content inserted into the head of Gradio's page."""

import json
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.catalog.entry import entries
from specviz.glossary import GLOSSARY, LINKS
from specviz.settings.specs import RULES
from specviz.trees.recorded_position import recipes
from specviz.ui.component import script
from specviz.ui.head import head
from specviz.ui.routes import given, script_address, script_text
from specviz.ui.server import app_kwargs
from specviz.ui.step import recorded
from specviz.ui.trees import judging
from specviz.verification.published_rules import GALLERY

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


def test_help_explains_every_rule_and_drafter_of_the_menus_by_its_name():
    values = json.loads(given()[len("const GIVEN=") : -2])
    explained = {values["TITLES"].get(term, term) for term in values["GLOSSARY"]}
    begun = tuple(title.casefold() for title in explained)
    for _, title in RULES:
        name = title.removeprefix("Lossy: ").removesuffix(" (chains)").removesuffix(" (trees)")
        assert any(each.startswith(name.casefold()) for each in begun), title
    assert {each.title for each in entries() if each.kind == "drafter"} <= explained


def test_links_of_the_glossary_lead_to_what_exists():
    assert LINKS.keys() <= GLOSSARY.keys()
    for address in [each for links in LINKS.values() for each in links.values()]:
        ((key, value),) = parse_qsl(urlsplit(address).query)
        if key == "judged":
            place, shape, drawn, _, average = value.split(",")
            assert place in {each.name for each in recipes()}
            assert int(shape) < len(judging.WIDTHS)
            assert drawn in judging.DRAWN
            assert average == "1"
        else:
            known = {"trace": recorded.names(), "case": [each.key for each in GALLERY]}
            assert value in known[key]


def test_config_is_escaped_in_the_script():
    sent = script("part", "step/intro", {"words": "</script>"})
    assert '{"name":"part","words":"\\u003c/script>"}' in sent
