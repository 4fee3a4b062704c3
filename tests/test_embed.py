"""Steps of recorded runs in frames: of other pages, by oEmbed, and of the article."""

import re
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from threading import current_thread
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from test_lessons import NUMBER, flat

from specviz.ui.access import Access
from specviz.ui.learn.article import FILE, _inline, article, article_policy
from specviz.ui.learn.lessons import read
from specviz.ui.server import app_kwargs
from specviz.ui.step import embed
from specviz.ui.step.embed import OEMBED, WIDTH
from specviz.ui.step.replay import SHOWABLE, frame_height

pytestmark = pytest.mark.slow
GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide.md"
ADDRESS = "/gradio_api/sv"
HOSTILE = "</b><script>alert(1)</script>"
HOST = "http://127.0.0.1:7860"
STEP = "trace=01-chain&round=1&step=judge-5"


@pytest.fixture(scope="module")
def client():
    given = app_kwargs(Access(frames=("'self'", "https://course.example.edu")))
    routes = [*given["routes"], Route("/", lambda request: PlainTextResponse("the page"))]
    app = Starlette(routes=routes, middleware=given["middleware"])
    with TestClient(app, base_url=HOST) as made:
        yield made


def ask(client, url, more=""):
    return client.get(f"{OEMBED}?url={quote(url, safe='')}{more}")


class Frame(HTMLParser):
    """The attributes of the one frame in a text."""

    def __init__(self, text):
        super().__init__()
        self.frames = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        assert tag == "iframe"
        self.frames.append(dict(attrs))


def test_main_address_with_embed_shows_only_the_step(client):
    answer = client.get(f"/?embed=1&{STEP}&show=tree,coin")
    assert answer.status_code == 200
    assert '"show": ["tree", "coin"]' in answer.text
    assert '"at": {"round": 1, "step": "judge-5"}' in answer.text
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'self' https://course.example.edu" in policy
    assert frame_height(SHOWABLE) > 800
    assert all(frame_height((part,)) > 50 for part in SHOWABLE)
    assert policy == client.get(f"/gradio_api/sv/embed?{STEP}").headers["content-security-policy"]


def test_main_address_shows_the_whole_page_without_embed_and_an_error_for_an_unknown_step(client):
    for query in ("", "?embed=0", "?embed=", f"?{STEP}"):
        assert client.get(f"/{query}").text == "the page", query
    for query, sentence in (
        ("trace=none", "No recorded run has this name."),
        ("trace=../01-chain", "No recorded run has this name."),
        ("trace=01-chain&round=x", "A round is given by its number."),
        (f"trace=01-chain&round={'9' * 5000}", "A round is given by its number."),
        ("trace=01-chain&round=99", "This run has no round 99."),
        ("trace=01-chain&round=1&step=judge-9", "Round 1 has no step 'judge-9', only "),
        ("trace=01-chain&show=tree,<b>", "'<b>' is none of the parts: text, sentence, "),
    ):
        for address in ("/?embed=1&", f"{ADDRESS}/embed?"):
            answer = client.get(address + query)
            assert answer.status_code == 404, query
            assert answer.headers["content-type"].startswith("text/plain")
            assert answer.text.startswith(sentence)


def test_embedded_pages_are_built_outside_the_event_loop_and_prepare_each_run_once(
    client, monkeypatch
):
    """However a visitor spells the address of a step, the run's lines are computed once."""
    prepared, threads = [], []
    prepare, build = embed.Recording.of, embed.excerpt
    monkeypatch.setattr(embed, "_recording", cache(embed._recording.__wrapped__))
    monkeypatch.setattr(embed.Recording, "of", lambda run: prepared.append(run) or prepare(run))

    def note_thread(*asked):
        threads.append(current_thread().name)
        return build(*asked)

    monkeypatch.setattr(embed, "excerpt", note_thread)
    spellings = ["round=1&show=text", "round=01&show=text,text", "round=001&show=,text"]
    for address in ("/?embed=1&", f"{ADDRESS}/embed?"):
        pages = [client.get(f"{address}trace=01-chain&{each}").text for each in spellings]
        assert [page.count('"show": ["text"]') for page in pages] == [1, 1, 1]
    assert ask(client, f"{HOST}/?embed=1&{STEP}&show=coin,coin").json()["height"] == frame_height(
        ["coin"]
    )
    assert len(prepared) == 1
    assert len(threads) == 7
    assert all(name.startswith("excerpts") for name in threads)


def test_embedded_page_links_to_its_oembed_response(client):
    page = client.get(f"/?embed=1&{STEP}&show=coin").text
    link = page.split('<link rel="alternate" type="application/json+oembed" href="')[1]
    address = unescape(link.split('"')[0])
    assert address.startswith(f"{HOST}{OEMBED}?url=")
    found = client.get(address).json()
    (frame,) = Frame(found["html"]).frames
    assert parse_qs(urlsplit(frame["src"]).query) == {
        "embed": ["1"], "trace": ["01-chain"], "round": ["1"], "step": ["judge-5"],
        "show": ["coin"],
    }  # fmt: skip
    assert client.get(frame["src"]).status_code == 200


def test_oembed_returns_an_iframe_large_enough_for_its_parts_up_to_the_maximum_size(client):
    height = frame_height(("sentence", "coin"))
    for path in ("/?embed=1&", "/gradio_api/sv/embed?"):
        answer = ask(client, f"{HOST}{path}{STEP}&show=sentence,coin")
        found = answer.json()
        assert answer.headers["content-type"] == "application/json"
        assert (found["version"], found["type"]) == ("1.0", "rich")
        assert (found["width"], found["height"]) == (WIDTH, height)
        (frame,) = Frame(found["html"]).frames
        assert (frame["width"], frame["height"]) == (str(WIDTH), str(height))
        assert frame["title"] == found["title"] != ""
    found = ask(client, f"{HOST}/?embed=1&{STEP}", "&maxwidth=400&maxheight=300").json()
    assert (found["width"], found["height"]) == (400, 300)
    assert 'width="400" height="300"' in found["html"]
    larger = ask(client, f"{HOST}/?embed=1&{STEP}", "&maxwidth=4000").json()
    assert larger["width"] == WIDTH


def test_oembed_answers_for_the_link_that_step_copies(client):
    found = [
        ask(client, f"{HOST}/?{query}{STEP}").json() for query in ("", "tab=step&", "embed=1&")
    ]
    assert found[0] == found[1] == found[2]
    (frame,) = Frame(found[0]["html"]).frames
    assert client.get(frame["src"]).status_code == 200


def test_oembed_uses_the_public_address_behind_a_proxy(client):
    public = {"x-forwarded-proto": "https", "x-forwarded-host": "specviz.example.edu"}
    url = quote(f"https://specviz.example.edu/?embed=1&{STEP}", safe="")
    found = client.get(f"{OEMBED}?url={url}", headers=public).json()
    (frame,) = Frame(found["html"]).frames
    assert frame["src"].startswith("https://specviz.example.edu/?embed=1&trace=01-chain")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "This is not an address of this server."),
        ("https://elsewhere.example.org/?embed=1", "This is not an address of this server."),
        ("javascript:alert(1)", "This is not an address of this server."),
        ("http://[", "This is not an address."),
        (f"{HOST}/?round=1", "This is not the address of a step that can be embedded."),
        (f"{HOST}/?tab=cost&{STEP}", "This is not the address of a step that can be embedded."),
        (f"{HOST}/gradio_api/sv/article", "This is not the address of a step that"),
        (f"{HOST}/?embed=1&trace=none", "No recorded run has this name."),
        (f"{HOST}/?embed=1&show=<b>", "'<b>' is none of the parts: "),
        (f"{HOST}/?embed=1&trace={'x' * 2000}", "An address may have 2000 characters."),
    ],
)
def test_oembed_refuses_addresses_that_cannot_be_embedded(client, url, sentence):
    answer = ask(client, url)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith(sentence)


def test_oembed_refuses_an_invalid_size_or_format(client):
    for size in ("0", "-1", "x", "1e3", "9" * 5000, "²²²"):
        answer = ask(client, f"{HOST}/?embed=1&{STEP}", f"&maxwidth={quote(size)}")
        assert answer.status_code == 404, size[:9]
        assert answer.text.startswith("A width or height is a whole number of pixels")
    assert ask(client, f"{HOST}/?embed=1&{STEP}", "&format=xml").status_code == 501


# The article.


def test_article_takes_every_number_of_a_run_from_its_trace():
    published = r"\[[^]]*\]\(https://\S+\)"  # a number of others is a link to its source
    text = re.sub(rf"\{{\{{.*?\}}\}}|{published}|holds = .*", "", FILE.read_text())
    assert NUMBER.findall(text) == []


def test_article_says_above_and_below_of_a_figure_where_it_is():
    """A section's figure is after its first paragraph."""
    for step in read(FILE)["steps"]:
        first, *rest = (flat(paragraph) for paragraph in step["text"])
        before = r"(run|figure|drafter|text|one|tree)s? {}\b"
        assert "figure" not in step or not re.search(before.format("above"), first), first
        assert not any(re.search(before.format("below"), later) for later in rest), rest


def test_server_shows_the_frames_of_the_article_and_the_guide(client):
    frames = re.findall(r'<iframe src="([^"]*)"', article())
    assert len(frames) == sum("figure" in step for step in read(FILE)["steps"])
    for frame in frames:
        answer = client.get(f"{ADDRESS}/{unescape(frame)}")
        assert answer.status_code == 200, frame
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    documented = r"<iframe src=\"https://[^/]*(/[^\"]*)\""
    (frame,) = re.findall(documented, GUIDE.read_text(encoding="utf-8"))
    assert client.get(unescape(frame)).status_code == 200


def test_content_security_policy_of_the_article_allows_only_its_own_script(client):
    answer = client.get(f"{ADDRESS}/article")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert article_policy()["frame-src"] == ["'self'"]
    hostile = _inline([HOSTILE, {"w": [HOSTILE]}, {"n": HOSTILE, "as": "p"}, {"b": HOSTILE}])
    assert "<script>" not in hostile
