"""Security headers on pages, scripts, streams and errors, and what a page's policy permits."""

from base64 import b64encode
from hashlib import sha256

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.ui.access import Access
from specviz.ui.policy import page_policy
from specviz.ui.routes import PREFIX, script_address
from specviz.ui.server import app_kwargs

PAGE = """<html><head><base href="./"><script>first()</script>
<script type="module" src="a.js"></script><SCRIPT data-a>
  second("<b>")
</SCRIPT></head></html>"""


async def stream(request):
    return StreamingResponse(iter([b"data: 1\n\n"]), media_type="text/event-stream")


async def broken(request):
    raise RuntimeError("broken")


def hashed(script):
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def sources(policy):
    """Return the directives of a policy."""
    parts = [each.split() for each in policy.split("; ")]
    return {name: values for name, *values in parts}


@pytest.fixture(scope="module")
def client():
    given = app_kwargs()
    own = {"/": lambda _: HTMLResponse(PAGE), "/stream": stream, "/broken": broken}
    given["routes"] = [Route(path, each) for path, each in own.items()] + given["routes"]
    with TestClient(Starlette(**given), "http://localhost") as client:
        yield client


def test_every_response_has_the_security_headers(client):
    for path, headers, status in (
        ("/", {}, 200),
        (f"/{script_address('page')}", {}, 200),
        (f"{PREFIX}/health", {}, 200),
        ("/stream", {}, 200),
        ("/broken", {}, 400),
        ("/nothing", {}, 404),
        ("/gradio_api/upload", {}, 403),
        ("/", {"Origin": "http://evil.example"}, 403),
        ("/", {"Host": "evil.example"}, 421),
        ("/", {"Content-Length": "100000000"}, 413),
    ):
        answered = client.get(path, headers=headers)
        assert answered.status_code == status, path
        assert answered.headers["x-content-type-options"] == "nosniff", path
        assert answered.headers["referrer-policy"] == "same-origin", path
        policy = sources(answered.headers["content-security-policy"])
        assert policy["default-src"] == ["'none'"], path
        assert policy["frame-ancestors"] == ["'self'"], path
        assert ("script-src" in policy) == (answered.text.startswith("<html>")), path


def test_policy_of_a_page_permits_only_its_own_inline_scripts():
    policy = sources(page_policy(PAGE.encode(), Access()))
    expected = {hashed("first()"), hashed('\n  second("<b>")\n')}
    assert set(policy["script-src"]) == {"'self'", "'unsafe-eval'"} | expected
    assert policy["connect-src"] == ["'self'"]
    assert hashed("a\nb") in page_policy(b"<script>a\r\nb</script>", Access()), "as in browsers"


def test_policy_of_the_served_page_has_the_hash_of_the_early_script(client):
    answered = client.get("/")
    early = answered.text.split("<script>")[1].split("</script>")[0]
    assert "requestAnimationFrame" in early
    assert hashed(early) in answered.headers["content-security-policy"]


def test_page_on_a_hugging_face_space_may_connect_to_the_hub():
    policy = sources(page_policy(b"", Access.of(environment={"SPACE_ID": "owner/name"})))
    assert "https://huggingface.co" in policy["connect-src"]
    assert "https://*.huggingface.co" in policy["img-src"]
    assert policy["script-src"] == ["'self'", "'unsafe-eval'"]
