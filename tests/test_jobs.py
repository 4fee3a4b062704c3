"""The routes of jobs: each line once, from a cursor; stops, missing and slow readers, memory."""

import asyncio
import json
from contextlib import contextmanager

import httpx
import pytest
from event_loop import in_event_loop
from starlette.applications import Starlette

from specviz.ui import jobs as module
from specviz.ui import stream as streams
from specviz.ui.jobs import Events, Jobs, events
from specviz.ui.live import parse_name, starting
from specviz.ui.routes import PREFIX

PAGE, OTHER = "0123456789abcdef" * 2, "f" * 32


def line(number):
    return json.dumps({"kind": "round", "number": number}) + "\n"


@contextmanager
def client(jobs):
    """Return a client of the routes, without a server."""
    transport = httpx.ASGITransport(Starlette(routes=jobs.routes()))
    yield httpx.AsyncClient(transport=transport, base_url=f"http://server{PREFIX}/jobs/")


def over(jobs, number=1, lines=3):
    """Return a job that has ended, with this many lines before its last."""
    stream = jobs.open(PAGE, number)
    stream.write("".join(map(line, range(lines))))
    stream.end("done")
    return stream


def numbers(text):
    """Return the round numbers in server-sent events, and the last event's id."""
    data = [each.removeprefix("data: ") for each in text.split("\n") if each.startswith("data: ")]
    ids = [int(each.removeprefix("id: ")) for each in text.split("\n") if each.startswith("id: ")]
    return [json.loads(each).get("number") for each in data], ids[-1]


async def get(http, path, **headers):
    return await http.get(path, headers=headers)


@in_event_loop
async def test_reader_gets_each_line_once_and_resumes_from_its_cursor():
    jobs = Jobs()
    over(jobs)
    with client(jobs) as http:
        whole = await get(http, f"{PAGE}/1/lines")
        assert whole.headers["content-type"].startswith("text/event-stream")
        assert whole.headers["cache-control"] == "no-store"
        assert numbers(whole.text) == ([0, 1, 2, None], 4)
        rest = await get(http, f"{PAGE}/1/lines?from=2")
        assert numbers(rest.text) == ([2, None], 4)
        again = await get(http, f"{PAGE}/1/lines?from=1", **{"Last-Event-ID": "3"})
        assert numbers(again.text) == ([None], 4)
        assert (await get(http, f"{PAGE}/1/lines?from=4")).status_code == 204


@in_event_loop
async def test_lines_are_sent_immediately_in_batches():
    stream = Jobs().open(PAGE, 1)
    sent = events(stream, 0)
    assert await anext(sent) == "retry: 1000\n\n"
    stream.write(line(0) + line(1))
    assert numbers(await anext(sent)) == ([0, 1], 2)
    waiting = asyncio.create_task(anext(sent))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    stream.write(line(2))
    assert numbers(await waiting) == ([2], 3)
    stream.end("done")
    assert [numbers(each) async for each in sent] == [([None], 4)]


@in_event_loop
async def test_job_without_output_sends_comments_to_keep_the_connection_open(monkeypatch):
    monkeypatch.setattr(streams, "BEAT", 0.01)
    sent = events(Jobs().open(PAGE, 1), 0)
    assert [await anext(sent) for _ in range(3)][1:] == [": the connection is open\n\n"] * 2


@in_event_loop
async def test_job_can_be_read_and_stopped_only_by_its_own_page(monkeypatch):
    monkeypatch.setattr(module, "UNBEGUN", 0.02)
    jobs = Jobs()
    stream = jobs.open(PAGE, 1)
    with client(jobs) as http:
        assert (await get(http, f"{OTHER}/1/lines")).status_code == 204
        assert (await get(http, f"{OTHER}/1/lines?from=0")).status_code == 204
        assert (await http.post(f"{OTHER}/1/stop")).status_code == 204
        assert not stream.stopped
        for name in ("a/1", f"{PAGE}/x", f"{PAGE}/-1", f"{PAGE}/{'9' * 17}", f"{'A' * 32}/1"):
            assert (await get(http, f"{name}/lines")).status_code == 404
            assert (await http.post(f"{name}/stop")).status_code == 404
        assert (await get(http, f"{PAGE}/1/stop")).status_code == 405
        await http.post(f"{PAGE}/1/stop")
    assert stream.stopped


@in_event_loop
async def test_reader_may_connect_before_the_job_is_started():
    jobs = Jobs()
    with client(jobs) as http:
        reading = asyncio.create_task(get(http, f"{PAGE}/7/lines"))
        await asyncio.sleep(0.02)
        over(jobs, 6)
        over(jobs, 7, lines=1)
        assert numbers((await reading).text) == ([0, None], 2)


@in_event_loop
async def test_early_stop_requests_take_effect_and_are_limited_in_number(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    jobs = Jobs()
    with client(jobs) as http:
        for number in range(1, 9):
            await http.post(f"{PAGE}/{number}/stop")
    assert len(jobs._stopped) == 3
    calls = []
    for number in (8, 9):
        jobs.open(PAGE, number).on_stop(lambda number=number: calls.append(number))
    assert calls == [8], "it ends at once, and no other"


@in_event_loop
async def test_job_cannot_be_started_twice():
    jobs = Jobs()
    jobs.open(PAGE, 1)
    with pytest.raises(ValueError, match="started before"):
        jobs.open(PAGE, 1)
    for page, number in (("short", 1), (PAGE, 0)):
        with pytest.raises(ValueError, match="key of a page"):
            jobs.open(page, number)


@in_event_loop
async def test_job_without_a_reader_is_stopped_unless_its_page_reloads(monkeypatch):
    monkeypatch.setattr(streams, "ABSENT", 0.05)
    jobs = Jobs()
    nobodys, left, reloaded = (jobs.open(PAGE, number) for number in (1, 2, 3))
    with left.reading():
        with reloaded.reading():
            await asyncio.sleep(0.08)
        assert nobodys.stopped
        assert not left.stopped
    await asyncio.sleep(0.03)
    with reloaded.reading():
        await asyncio.sleep(0.08)
        assert left.stopped
        assert not reloaded.stopped
    over(jobs, 4)
    await asyncio.sleep(0.08)
    assert not jobs.open(PAGE, 5).stopped


@in_event_loop
async def test_stalled_reader_is_disconnected_and_its_job_is_stopped(monkeypatch):
    monkeypatch.setattr(module, "STALLED", 0.05)
    monkeypatch.setattr(streams, "ABSENT", 0.05)
    stream, accepted = Jobs().open(PAGE, 1), []

    async def send(message):
        accepted.append(len(message.get("body", b"")))
        if len(accepted) > 3:
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    slow = asyncio.create_task(Events(stream, 0)({"type": "http"}, receive, send))
    for number in range(1000):
        stream.write(line(number))
    await asyncio.wait_for(slow, 2)
    assert len(accepted) == 4
    assert max(accepted) < streams.BATCH * 60, "it is sent a bounded batch at a time"
    await asyncio.sleep(0.08)
    assert (stream.readers, stream.stopped) == (0, True)


@in_event_loop
async def test_number_of_readers_of_a_job_is_limited():
    jobs = Jobs()
    stream = over(jobs)
    with client(jobs) as http:
        stream.readers = module.READERS
        assert (await get(http, f"{PAGE}/1/lines")).status_code == 429
        stream.readers -= 1
        assert (await get(http, f"{PAGE}/1/lines")).status_code == 200


@pytest.mark.parametrize(("limit", "value"), [("KEPT", -1.0), ("BYTES", 500), ("MOST", 5)])
@in_event_loop
async def test_output_of_ended_jobs_is_kept_within_time_and_size_limits(monkeypatch, limit, value):
    monkeypatch.setattr(module, limit, value)
    jobs = Jobs()
    running = jobs.open(PAGE, 1)
    running.write(line(0) * 100)
    for number in range(2, 30):
        over(jobs, number)
    jobs._forget()
    kept = [number for _, number in jobs._streams]
    assert kept[0] == 1, "one that is under way stays"
    assert len(kept) - 1 == {"KEPT": 0, "BYTES": 3, "MOST": 5}[limit]
    assert kept[1:] == list(range(30 - len(kept[1:]), 30)), "the newest"


@in_event_loop
async def test_error_before_a_job_starts_is_the_only_line_of_its_stream():
    for problem, words in (
        (ValueError("It cannot be."), "It cannot be."),
        (KeyError("x"), "An error on the server"),
    ):

        def broken(stream, problem=problem):
            raise problem

        jobs = Jobs()
        await starting(jobs, None, broken)(json.dumps([PAGE, 1]))
        (only,) = [each async for batch in jobs._streams[PAGE, 1].read() for each in batch]
        assert json.loads(only)["kind"] == "error"
        assert words in only


def test_invalid_job_name_is_refused():
    texts = ["", "{", "[]", '["a"]', '["a", "b"]', "[1, 1]", '["a", 1, 2, 3]']
    for name in [None, 3, *texts, "[" * 10**5, " " * 10**6]:
        with pytest.raises(ValueError, match="does not name a job"):
            parse_name(name)
    assert parse_name('["a", 1, "x"]') == ("a", 1, "x")
