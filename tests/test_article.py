"""The article, and the iframes that show excerpts of recorded runs."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from test_lessons import NUMBER

from specviz.ui.learn.article import FILE, article, article_policy
from specviz.ui.learn.lessons import read
from specviz.ui.server import app_kwargs
from specviz.ui.step import recorded
from specviz.ui.step.replay import SHOWABLE, replay

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide.md"
ADDRESS = "/gradio_api/sv"
HOSTILE = "</b><script>alert(1)</script>"


@pytest.fixture(scope="module")
def client():
    with TestClient(Starlette(routes=app_kwargs()["routes"])) as made:
        yield made


@pytest.mark.slow
def test_article_has_two_to_three_thousand_words():
    text = unescape(re.sub(r"<(style|script)>.*?</\1>|<[^>]*>", " ", article(), flags=re.DOTALL))
    assert 2000 <= len(text.split()) <= 3000


def test_article_takes_every_number_of_a_run_from_its_trace():
    text = re.sub(r"\{\{.*?\}\}|\(https://\S+\)|holds = .*", "", FILE.read_text())
    assert NUMBER.findall(text) == []


@pytest.mark.slow
def test_server_can_show_the_step_of_each_article_figure(client):
    frames = [unescape(found) for found in re.findall(r'<iframe src="([^"]*)"', article())]
    assert len(frames) == len(read(FILE)["steps"])
    for frame in frames:
        answer = client.get(f"{ADDRESS}/{frame}")
        assert answer.status_code == 200
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]


@pytest.mark.slow
def test_server_can_show_the_iframe_documented_in_the_guide(client):
    frames = re.findall(
        r"<iframe src=\"https://[^/]*(/[^\"]*)\"", GUIDE.read_text(encoding="utf-8")
    )
    assert len(frames) == 1
    assert client.get(unescape(frames[0])).status_code == 200


@pytest.mark.slow
def test_content_security_policy_of_the_article_allows_only_its_own_script(client):
    answer = client.get(f"{ADDRESS}/article")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert article_policy()["frame-src"] == ["'self'"]


def test_html_in_the_text_of_a_run_is_escaped_in_the_article():
    from specviz.ui.learn import article as module

    said = module._inline([HOSTILE, {"w": [HOSTILE]}, {"n": HOSTILE, "as": "p"}, {"b": HOSTILE}])
    assert "<script>" not in said


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("trace=none", "No recorded run has this name."),
        ("trace=../01-chain", "No recorded run has this name."),
        ("trace=01-chain&round=x", "A round is given by its number."),
        (f"trace=01-chain&round={'9' * 5000}", "A round is given by its number."),
        ("trace=01-chain&round=99", "This run has no round 99."),
        ("trace=01-chain&round=1&step=judge-9", "Round 1 has no step 'judge-9', only "),
        ("trace=01-chain&show=tree,<b>", "'<b>' is none of the parts: text, sentence, "),
    ],
)
def test_iframe_of_an_unknown_run_or_step_returns_readable_error(client, query, sentence):
    answer = client.get(f"{ADDRESS}/embed?{query}")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith(sentence)


@pytest.mark.slow
def test_embedded_excerpt_contains_its_parts_and_step():
    page = replay(recorded.trace("01-chain"), 1, "judge-5", ("tree", "coin"))
    data = page.split('id="sv-recording">')[1].split("</script>")[0]
    assert json.loads(data)["show"] == ["tree", "coin"]
    assert json.loads(data)["at"] == {"round": 1, "step": "judge-5"}
    assert set(SHOWABLE) >= {"tree", "coin"}
