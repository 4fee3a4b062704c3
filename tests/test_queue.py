"""The queue and the routes of jobs: turns, stops and limits; each line once, from a cursor."""

import asyncio
import json

import httpx
import pytest
from event_loop import in_event_loop
from reader import stop_jobs
from starlette.applications import Starlette

from specviz.ui import event_stream
from specviz.ui import jobs as module
from specviz.ui import stream as streams
from specviz.ui.jobs import Jobs, events
from specviz.ui.live import parse_name, starting
from specviz.ui.queue import FEWEST, PASSED_OVER, PER_VISITOR, Phase, Queue, QueueFull, Ticket
from specviz.ui.routes import PREFIX


async def follow(line, ticket, seen):
    """Record each queue position until it is the ticket's turn or the ticket is stopped."""
    async for position in line.wait(ticket):
        seen.append(position.place)
    seen.append("stopped" if ticket.stopped else "turn")


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


class Waiting:
    """Visitors a, b, c, ... in the queue, each with the positions that it received."""

    def __init__(self, names):
        self.line = Queue()
        self.tickets = {name: self.line.join(name) for name in names}
        self.seen = {name: [] for name in names}
        self.tasks = [
            asyncio.create_task(follow(self.line, ticket, self.seen[name]))
            for name, ticket in self.tickets.items()
        ]

    async def leave(self, name):
        self.line.leave(self.tickets[name])
        await settle()


@in_event_loop
async def test_jobs_run_in_order_and_move_up_when_others_end_or_are_stopped():
    waiting = Waiting("abcd")
    await settle()
    assert waiting.seen == {"a": ["turn"], "b": [1], "c": [2], "d": [3]}
    stop_jobs(waiting.line, "b")
    await settle()
    assert waiting.seen["b"] == [1, "stopped"]
    await waiting.leave("b")
    assert waiting.seen == {"a": ["turn"], "b": [1, "stopped"], "c": [2, 1], "d": [3, 2]}
    await waiting.leave("a")
    await waiting.leave("c")
    assert waiting.seen == waiting.seen | {"c": [2, 1, "turn"], "d": [3, 2, 1, "turn"]}
    await waiting.leave("d")
    assert len(waiting.line) == 0


def test_full_queue_rejects_new_jobs_with_a_message():
    line = Queue(longest=2)
    line.join("a"), line.join("b")
    with pytest.raises(QueueFull, match=r"2 runs are already waiting\. Try again"):
        line.join("c")
    assert len(line) == 2


def test_jobs_end_alone_with_their_visitor_or_with_the_server():
    line = Queue()
    mine = [line.join("me"), line.join("me")]
    others = [line.join("you"), line.join("metoo")]
    mine[1].stop()
    assert (mine[0].stop_flag(), mine[1].stop_flag()) == (False, True)
    stop_jobs(line, "me")
    assert [ticket.stopped for ticket in (*mine, *others)] == [True, True, False, False]
    assert [ticket.stop_flag() for ticket in (*mine, *others)] == [True, True, False, False]
    later = line.join("me")
    assert not later.stop_flag()
    line.close()
    assert all(ticket.stopped and ticket.stop_flag() for ticket in (later, *others))


def begun(queue, *visitors, phase=Phase.DRAFTING):
    """Return a started job for each visitor, all in this phase."""
    tickets = [queue.join(visitor) for visitor in visitors]
    for _ in tickets:
        queue.give_way(queue._running, phase)
    return tickets


def turns(queue, number, phase=None):
    """Return who has the next turns if every job goes on, in its own phase unless one is given."""
    served = []
    for _ in range(number):
        ticket = queue._running
        served.append(ticket.visitor)
        queue.give_way(ticket, ticket.phase if phase is None else phase)
    return served


def test_new_job_gets_its_first_round_before_other_jobs_continue():
    queue = Queue()
    begun(queue, "a", "b")
    assert queue._running.visitor == "a"
    queue.join("c"), queue.join("d")
    queue.give_way(queue._running, Phase.DRAFTING)
    assert turns(queue, 2, Phase.DRAFTING) == ["c", "d"]
    assert turns(queue, 5) == ["b", "a", "c", "d", "b"]


def test_started_jobs_take_turns_by_visitor():
    queue = Queue()
    begun(queue, "a", "a", "b", "c")
    assert turns(queue, 12) == ["a", "b", "c"] * 4
    new = Queue()
    new.join("a"), new.join("a"), new.join("b"), new.join("c")
    assert turns(new, 4, Phase.DRAFTING) == ["a", "b", "c", "a"]


def test_baseline_yields_to_jobs_still_drafting_but_never_starves():
    queue = Queue()
    begun(queue, "late", phase=Phase.BASELINE)
    queue.give_way(queue._running, Phase.BASELINE)
    begun_before = [queue.join("a"), queue.join("b")]
    queue.give_way(queue._running, Phase.BASELINE)
    assert queue._running is begun_before[0]
    for _ in begun_before:
        queue.give_way(queue._running, Phase.DRAFTING)
    served = turns(queue, 3 * (PASSED_OVER + 1))
    assert served.count("late") == 3
    assert set(served[: PASSED_OVER - 2]) == {"a", "b"}


def test_endless_new_jobs_do_not_starve_started_jobs():
    queue = Queue()
    begun(queue, "old")
    served = []
    for number in range(3 * (PASSED_OVER + 1)):
        queue.join(f"new{number}")
        ticket = queue._running
        served.append(ticket.visitor)
        if ticket.visitor == "old":
            queue.give_way(ticket, Phase.DRAFTING)
        else:
            queue.leave(ticket)
    assert served.count("old") >= 3


def test_number_of_jobs_per_visitor_is_limited_with_a_message():
    queue = Queue()
    mine = [queue.join("me") for _ in range(PER_VISITOR)]
    for _ in range(2000):
        with pytest.raises(QueueFull, match=r"^You already have 2 runs waiting or running\. Stop"):
            queue.join("me")
    queue.join("metoo"), queue.join("you")
    assert turns(queue, 3, Phase.DRAFTING) == ["me", "metoo", "you"]
    mine[1].stop()
    queue.join("me"), "one that is about to end does not count"
    with pytest.raises(QueueFull):
        queue.join("me")


def test_wait_is_estimated_once_enough_turns_were_measured():
    queue = Queue()
    for _ in range(FEWEST):
        queue.join("early")
        queue.leave(queue._running, 2.0)
    queue.join("a"), queue.join("b")
    assert queue.position(queue.join("c")) == (2, 4.0)
    queue.give_way(queue._running, Phase.DRAFTING, 2.0)
    queue.give_way(queue._running, Phase.DRAFTING, 2.0)
    assert queue._running.visitor == "c"
    queue.give_way(queue._running, Phase.DRAFTING, 2.0)
    assert queue.position(queue.join("d")).seconds is None, "no turn of drafting was measured"
    for _ in range(FEWEST):
        queue.give_way(queue._running, queue._running.phase, 0.5)
    assert queue.position(queue.join("e")).seconds is not None


@in_event_loop
async def test_wait_between_turns_is_reported_at_once_and_then_rarely(monkeypatch):
    queue = Queue()
    first, second = begun(queue, "a", "b")
    seen = []
    task = asyncio.create_task(follow(queue, second, seen))
    await settle()
    assert seen == [1]
    queue.join("c")
    await settle()
    assert seen == [1], "REPEAT seconds have not passed"
    monkeypatch.setattr("specviz.ui.queue.REPEAT", 0.0)
    queue.give_way(first, Phase.DRAFTING)
    await settle()
    assert seen[-1] == 2
    second.stop()
    await asyncio.wait_for(task, 5)
    assert seen[-1] == "stopped", "it ends without waiting for a turn"


def test_paused_job_gets_no_turn_and_does_not_block_other_jobs():
    queue = Queue()
    first = queue.join("a")
    queue.give_way(first, Phase.DRAFTING, drawing=True)
    assert queue._running is None
    queue.join("b")
    assert queue._running.visitor == "b"
    assert not queue.someone_waits
    queue.drawn(first)
    assert queue.someone_waits
    queue.give_way(queue._running, Phase.BASELINE)
    assert queue._running is first


def test_job_stopped_between_turns_ends_before_the_next_job_starts():
    line = Queue()
    first = line.join("a")
    line.give_way(first, Phase.DRAFTING, drawing=True)
    first.stop()
    following = line.join("b")
    assert line._running is None
    line.leave(first)
    assert line._running is following


def test_stopped_job_does_not_count_as_overdue_and_a_reused_stop_flag_is_cleared(monkeypatch):
    monkeypatch.setattr("specviz.ui.task.NUMBERS", iter([7, 8, 7]))
    stopped, overdue = Ticket("a"), Ticket("b")
    stopped.stop()
    assert not Ticket("c").stop_flag()
    for ticket in (overdue, stopped):
        ticket.run_out()
    assert (overdue.overdue, stopped.overdue) == (True, False)
    assert overdue.stop_flag()


# The routes of jobs: stops, missing and slow readers, memory


PAGE, OTHER = "0123456789abcdef" * 2, "f" * 32


def line(number):
    return json.dumps({"kind": "round", "number": number}) + "\n"


def client(jobs):
    """Return a client of the routes, without a server."""
    transport = httpx.ASGITransport(Starlette(routes=jobs.routes()))
    return httpx.AsyncClient(transport=transport, base_url=f"http://server{PREFIX}/jobs/")


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


@in_event_loop
async def test_reader_gets_each_line_once_and_resumes_from_its_cursor():
    jobs = Jobs()
    over(jobs)
    async with client(jobs) as http:
        whole = await http.get(f"{PAGE}/1/lines")
        assert whole.headers["content-type"].startswith("text/event-stream")
        assert whole.headers["cache-control"] == "no-store"
        assert numbers(whole.text) == ([0, 1, 2, None], 4)
        rest = await http.get(f"{PAGE}/1/lines?from=2")
        assert numbers(rest.text) == ([2, None], 4)
        again = await http.get(f"{PAGE}/1/lines?from=1", headers={"Last-Event-ID": "3"})
        assert numbers(again.text) == ([None], 4)
        assert (await http.get(f"{PAGE}/1/lines?from=4")).status_code == 204


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
    async with client(jobs) as http:
        assert (await http.get(f"{OTHER}/1/lines")).status_code == 204
        assert (await http.get(f"{OTHER}/1/lines?from=0")).status_code == 204
        assert (await http.post(f"{OTHER}/1/stop")).status_code == 204
        assert not stream.stopped
        for name in ("a/1", f"{PAGE}/x", f"{PAGE}/-1", f"{PAGE}/{'9' * 17}", f"{'A' * 32}/1"):
            assert (await http.get(f"{name}/lines")).status_code == 404
            assert (await http.post(f"{name}/stop")).status_code == 404
        assert (await http.get(f"{PAGE}/1/stop")).status_code == 405
        await http.post(f"{PAGE}/1/stop")
    assert stream.stopped


@in_event_loop
async def test_reader_may_connect_before_the_job_is_started():
    jobs = Jobs()
    async with client(jobs) as http:
        reading = asyncio.create_task(http.get(f"{PAGE}/7/lines"))
        await asyncio.sleep(0.02)
        over(jobs, 6)
        over(jobs, 7, lines=1)
        assert numbers((await reading).text) == ([0, None], 2)


@in_event_loop
async def test_early_stop_requests_take_effect_and_are_limited_in_number(monkeypatch):
    monkeypatch.setattr(module, "MOST", 3)
    jobs = Jobs()
    async with client(jobs) as http:
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
    monkeypatch.setattr(event_stream, "STALLED", 0.05)
    monkeypatch.setattr(streams, "ABSENT", 0.05)
    stream, accepted = Jobs().open(PAGE, 1), []

    async def send(message):
        accepted.append(len(message.get("body", b"")))
        if len(accepted) > 3:
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    reader = event_stream.EventStream(events(stream, 0), stream.reading)
    slow = asyncio.create_task(reader({"type": "http"}, receive, send))
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
    async with client(jobs) as http:
        stream.readers = module.READERS
        assert (await http.get(f"{PAGE}/1/lines")).status_code == 429
        stream.readers -= 1
        assert (await http.get(f"{PAGE}/1/lines")).status_code == 200


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


@in_event_loop
async def test_nothing_follows_the_last_line_of_a_job():
    stream = over(Jobs())
    stream.say("stopping")
    lines = [each async for batch in stream.read() for each in batch]
    assert stream.over
    assert "stopping" not in "".join(lines)


def test_invalid_job_name_is_refused():
    texts = ["", "{", "[]", '["a"]', '["a", "b"]', "[1, 1]", '["a", 1, 2, 3]']
    for name in [None, 3, *texts, "[" * 10**5, " " * 10**6]:
        with pytest.raises(ValueError, match="does not name a job"):
            parse_name(name)
    assert parse_name('["a", 1, "x"]') == ("a", 1, "x")
