"""The queue: order of turns, reports to waiting jobs, stops, and limits."""

import asyncio

import pytest
from event_loop import in_event_loop

from specviz.ui.queue import FEWEST, PASSED_OVER, PER_VISITOR, Phase, Queue, QueueFull, Ticket


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
async def test_jobs_run_in_order_and_report_each_queue_position():
    waiting = Waiting("abc")
    await settle()
    assert waiting.seen == {"a": ["turn"], "b": [1], "c": [2]}
    await waiting.leave("a")
    assert waiting.seen == {"a": ["turn"], "b": [1, "turn"], "c": [2, 1]}
    await waiting.leave("b")
    assert waiting.seen["c"] == [2, 1, "turn"]
    await waiting.leave("c")
    assert len(waiting.line) == 0


@in_event_loop
async def test_waiting_job_that_is_stopped_leaves_at_once_and_later_jobs_move_up():
    waiting = Waiting("abc")
    await settle()
    waiting.line.stop("b")
    await settle()
    assert waiting.seen["b"] == [1, "stopped"]
    await waiting.leave("b")
    assert waiting.seen["c"] == [2, 1]
    assert waiting.seen["a"] == ["turn"], "nobody else was stopped"


@in_event_loop
async def test_only_the_newest_queue_position_is_reported():
    line = Queue()
    first, _, third = (line.join(name) for name in "abc")
    line.leave(first)
    seen = []
    task = asyncio.create_task(follow(line, third, seen))
    await settle()
    assert seen == [1]
    task.cancel()


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
    line.stop("me")
    assert [ticket.stopped for ticket in (*mine, *others)] == [True, True, False, False]
    assert [ticket.stop_flag() for ticket in (*mine, *others)] == [True, True, False, False]
    later = line.join("me")
    assert not later.stop_flag()
    line.close()
    assert all(ticket.stopped and ticket.stop_flag() for ticket in (later, *others))


def test_reused_stop_flag_is_cleared(monkeypatch):
    monkeypatch.setattr("specviz.ui.task.NUMBERS", iter([7, 7]))
    Ticket("a").stop()
    assert not Ticket("b").stop_flag()


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


def test_job_that_was_stopped_does_not_count_as_overdue():
    overdue, stopped = Ticket("a"), Ticket("b")
    stopped.stop()
    for ticket in (overdue, stopped):
        ticket.run_out()
    assert (overdue.overdue, stopped.overdue) == (True, False)
    assert overdue.stop_flag()
