"""Runs that visitors open from files: a trace becomes the player's lines, or a line of error."""

import gzip
import json

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from specviz.shipped import FOLDER
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.ui.bodies import limit_of
from specviz.ui.limits import LARGEST_TRACE
from specviz.ui.routes import OPEN
from specviz.ui.step import opened as module
from specviz.ui.step import recorded
from specviz.ui.step.lines import lines
from specviz.ui.step.opened import BUSY, OpenedRuns, opened


def parsed(text: str) -> list:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", ["01-chain", "13-eagle2", "23-lookahead", "31-served"])
def test_opened_trace_gives_the_lines_of_the_recorded_run_which_contain_the_trace(name):
    text = (FOLDER / f"{name}.jsonl").read_text("utf-8")
    found = parsed(opened(text.encode()))
    shipped = parsed(gzip.decompress(recorded.body(name)).decode())
    assert [{**line, "id": ""} for line in found] == [{**line, "id": ""} for line in shipped]
    kept = "".join(f"{row}\n" for line in found for row in line["trace"])
    assert Trace.parse(kept.splitlines()) == Trace.parse(text.splitlines()), "it opens again"


def test_incomplete_run_keeps_the_lines_of_its_last_round():
    run = Trace.read(FOLDER / "01-chain.jsonl")
    cut = Trace(run.header, run.events[:-6])
    found = [json.loads(text) for text in lines([cut.header, *cut.events], "recorded")]
    assert [row for line in found for row in line["trace"]] == list(cut.lines())


def changed(kind: str, **values) -> str:
    """The opening run's trace, of which the first event of a kind is changed."""
    rows = (FOLDER / "01-chain.jsonl").read_text("utf-8").splitlines()
    at = next(at for at, row in enumerate(rows) if f'"event":"{kind}"' in row.replace(" ", ""))
    rows[at] = json.dumps(json.loads(rows[at]) | values)
    return "\n".join(rows)


RUN = (FOLDER / "01-chain.jsonl").read_text("utf-8")
UNREAD, WRONG = "It is no trace that can be read. Line ", "Its numbers contradict each other"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f"{UNREAD}1: The file is empty."),
        ("Dear diary,\n", f"{UNREAD}1: This is not complete JSON"),
        ('{"format": "other"}\n', f"{UNREAD}1: This is not a specviz-trace file."),
        (changed("judged", threshold=0.123), f"{WRONG}, or are cut off. Round 1, node "),
        (changed("judged", threshold="0.1"), UNREAD),
        (RUN[:-200], UNREAD),
        (RUN.splitlines()[0], f"{WRONG}, or are cut off. Line 1: the file ends"),
    ],
)
def test_what_is_no_honest_trace_is_refused_in_one_sentence(text, sentence):
    (line,) = parsed(opened(text.encode()))
    assert line["kind"] == "error"
    assert line["sentence"].startswith(sentence), line
    assert parsed(opened(bytes(range(128, 256))))[0]["sentence"] == "It is not text."


def test_route_answers_limits_an_address_and_has_a_larger_limit_of_its_body(monkeypatch):
    runs = OpenedRuns()
    client = TestClient(Starlette(routes=[runs.route()]))
    text = (FOLDER / "01-chain.jsonl").read_bytes()
    answer = client.post(OPEN, content=text)
    assert (answer.status_code, answer.text) == (200, opened(text))
    assert not runs._waiting
    monkeypatch.setattr(module, "PER_ADDRESS", 0)
    assert parsed(client.post(OPEN, content=text).text)[0]["sentence"] == BUSY
    assert limit_of(OPEN) == LARGEST_TRACE > limit_of("/gradio_api/sv/health")


def test_an_unexpected_error_is_a_sentence(monkeypatch):
    monkeypatch.setattr(module, "check", lambda trace: 1 / 0)
    text = (FOLDER / "01-chain.jsonl").read_bytes()
    assert parsed(opened(text))[0]["sentence"] == module.FAILED


def test_opening_run_is_faster_than_plain_decoding_and_soon_rejects_what_another_u_would_keep():
    opening = recorded.trace(recorded.names()[0])
    assert metrics.summary(opening)["speedup"] >= 1.6
    assert metrics.explain_noise(opening, opening.baseline) is None
    early = [played for played in opening.rounds if played.number in (1, 2)]
    rejected = [event for played in early for event in played.judged if not event.accepted]
    assert any(
        min(event.inputs["p"], event.inputs["q"]) >= 0.05 and 0.2 <= event.threshold <= 0.8
        for event in rejected
    )
