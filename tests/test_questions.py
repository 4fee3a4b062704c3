"""The route that answers requests of the page's sections: statuses, sentences and limits."""

import asyncio
import json
import threading

import pytest
from httpx import ASGITransport, AsyncClient
from starlette.applications import Starlette
from starlette.testclient import TestClient

from specviz.ui import questions as module
from specviz.ui.questions import PER_VISITOR, THREADS, VISITOR, BadRequest, Questions, parse
from specviz.ui.routes import PREFIX

JSON = {"Content-Type": "application/json"}


def app(**sections):
    questions = Questions()
    for name, answer in sections.items():
        questions.add(name, answer)
    return Starlette(routes=[questions.route()])


def post(answer, content="{}", name="part", headers=JSON):
    client = TestClient(app(part=answer))
    return client.post(f"{PREFIX}/ask/{name}", content=content, headers=headers)


def raising(problem):
    def answer(data):
        raise problem

    return answer


def test_response_to_a_section_request_is_json_and_never_cached():
    came = post(lambda data: {"twice": 2 * data["n"]}, '{"n": 4}')
    assert (came.status_code, came.json()) == (200, {"twice": 8})
    assert came.headers["cache-control"] == "no-store"


def test_request_rejected_by_a_section_has_status_200_and_readable_error():
    """Browsers report any other status in their console, as if the page had failed."""
    for problem, told in (
        (ValueError("So not."), {"problem": "So not.", "field": ""}),
        (BadRequest("Nor so.", "alpha"), {"problem": "Nor so.", "field": "alpha"}),
        (BadRequest("Which?", models=["a"]), {"problem": "Which?", "field": "", "models": ["a"]}),
    ):
        came = post(raising(problem))
        assert (came.status_code, came.json()) == (200, told)


@pytest.mark.parametrize("answer", [raising(KeyError("x")), lambda data: {"n": float("nan")}])
def test_exception_in_a_section_has_status_500_and_is_logged(answer, caplog):
    came = post(answer)
    assert (came.status_code, came.json()["problem"]) == (500, module.FAILED)
    assert "a question to part failed" in caplog.text


def test_malformed_request_or_one_that_other_sites_can_send_is_refused():
    assert post(dict, name="other").status_code == 404
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert post(dict, headers={"Content-Type": kind}).status_code == 415, kind
    for text in ("", "{", "[]", "null", b"\xff\xfe", "[" * 3000, '"{}"'):
        came = post(dict, text)
        assert came.status_code == 400, text[:9]
        assert came.json()["problem"].endswith(".")


def test_length_of_a_request_is_limited_by_its_section():
    assert parse('{"a":"é"}', 9) == {"a": "é"}
    with pytest.raises(BadRequest, match="at most 8 characters"):
        parse('{"a":"é"}'.encode(), 8)


def test_answer_function_given_by_name_is_imported_at_the_first_request():
    came = post("specviz.ui.lossless.sandbox.answer", '{"p": [2, 0], "q": [0, 1]}')
    assert "a number from 0 to 1" in came.json()["problem"]


def test_requests_run_in_parallel_up_to_a_limit_per_visitor_and_per_address(monkeypatch):
    """The limit of one visitor does not affect others, and a finished request no longer counts.

    Invented names of visitors do not lift the limit of their address.
    """
    monkeypatch.setattr(module, "PER_ADDRESS", PER_VISITOR + 1)
    leave, most, now = threading.Event(), 0, 0
    lock = threading.Lock()

    def answer(data):
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        leave.wait(60)
        with lock:
            now -= 1
        return {}

    async def main():
        transport = ASGITransport(app=app(part=answer))
        async with AsyncClient(transport=transport, base_url="http://localhost") as client:

            def ask(who):
                head = JSON | {VISITOR: who}
                return client.post(f"{PREFIX}/ask/part", content="{}", headers=head)

            asked = [asyncio.create_task(ask("a")) for _ in range(PER_VISITOR)]
            while most < THREADS:
                await asyncio.sleep(0.01)
            refused = await ask("a")
            other = asyncio.create_task(ask("b"))
            await asyncio.sleep(0.05)
            assert (await ask("c")).status_code == 429
            leave.set()
            statuses = {(await each).status_code for each in [*asked, other]}
            return refused, statuses, (await ask("a")).status_code

    refused, statuses, after = asyncio.run(main())
    assert refused.status_code == 429
    assert json.loads(refused.text)["problem"].startswith("You already have")
    assert (statuses, after, most) == ({200}, 200, THREADS)
