"""The line of runs: first come, first served, and whoever goes makes room at once."""

import asyncio
from math import inf

import pytest

from specviz.ui.queue import Queue, QueueFull, Ticket


async def follow(line, ticket, seen):
    """Note each place until it is the ticket's turn, or it was stopped."""
    async for ahead in line.wait(ticket):
        seen.append(ahead)
    seen.append("stopped" if ticket.stopped else "turn")


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


class Waiting:
    """Visitors a, b, c, ... in line, each with what it was told."""

    def __init__(self, names):
        self.line = Queue()
        self.tickets = {name: self.line.join(name, 1) for name in names}
        self.seen = {name: [] for name in names}
        self.tasks = [
            asyncio.create_task(follow(self.line, ticket, self.seen[name]))
            for name, ticket in self.tickets.items()
        ]

    async def leave(self, name):
        self.line.leave(self.tickets[name])
        await settle()


def test_they_take_turns_in_order_and_are_told_each_place():
    async def story():
        waiting = Waiting("abc")
        await settle()
        assert waiting.seen == {"a": ["turn"], "b": [1], "c": [2]}
        await waiting.leave("a")
        assert waiting.seen == {"a": ["turn"], "b": [1, "turn"], "c": [2, 1]}
        await waiting.leave("b")
        assert waiting.seen["c"] == [2, 1, "turn"]
        await waiting.leave("c")
        assert len(waiting.line) == 0

    asyncio.run(story())


def test_one_who_stops_while_waiting_goes_at_once_and_those_behind_move_up():
    async def story():
        waiting = Waiting("abc")
        await settle()
        waiting.line.stop("b", 1)
        await settle()
        assert waiting.seen["b"] == [1, "stopped"]
        await waiting.leave("b")
        assert waiting.seen["c"] == [2, 1]
        assert waiting.seen["a"] == ["turn"], "nobody else was stopped"

    asyncio.run(story())


def test_a_place_is_told_once_even_where_it_changes_before_anyone_listens():
    async def story():
        line = Queue()
        first, _, third = (line.join(name) for name in "abc")
        line.leave(first)
        seen = []
        task = asyncio.create_task(follow(line, third, seen))
        await settle()
        assert seen == [1]
        task.cancel()

    asyncio.run(story())


def test_a_stop_is_about_one_run_and_counts_even_before_it_came():
    line = Queue()
    line.stop("me", 3)
    assert line.join("me", 3).stopped
    assert not line.join("me", 4).stopped
    assert not line.join("you", 3).stopped
    fresh, later = line.join("me", 5), line.join("me", 6)
    line.stop("me", 5)
    assert (fresh.stopped, later.stopped) == (True, False)


def test_stops_of_made_up_visitors_do_not_pile_up(monkeypatch):
    monkeypatch.setattr("specviz.ui.queue.MOST_ASKED", 3)
    line = Queue()
    for number in range(9):
        line.stop(f"nobody {number}", 1)
    line.stop("me", 1)
    assert len(line._asked) == 3
    assert line.join("me", 1).stopped, "the newest are kept"


def test_one_who_goes_takes_every_run_along_and_leaves_nothing_behind():
    line = Queue()
    line.stop("me", 1)
    mine, api, yours = line.join("me", 2), line.join("me"), line.join("you", 2)
    race, other = line.join("me race", 2), line.join("metoo", 2)
    line.stop("me race", 1)
    assert api.number == inf
    line.part("me")
    assert (mine.stopped, api.stopped, race.stopped) == (True, True, True)
    assert (yours.stopped, other.stopped) == (False, False)
    assert not line.join("me race", 1).stopped, "what they asked before is forgotten"
    assert not line.join("me", 1).stopped, "what they asked before is forgotten"


def test_a_line_has_an_end_and_says_so():
    line = Queue(longest=2)
    line.join("a"), line.join("b")
    with pytest.raises(QueueFull, match=r"2 runs are waiting already\. Try again"):
        line.join("c")
    assert len(line) == 2


def test_all_end_when_the_server_does():
    line = Queue()
    tickets = [line.join(name) for name in "ab"]
    line.close()
    assert all(ticket.stopped for ticket in tickets)


def test_one_who_is_stopped_is_asked_to_end_wherever_it_is_and_no_other():
    line = Queue()
    first, second = line.join("a", 1), line.join("b", 1)
    second.stop()
    assert (first.halt(), second.halt()) == (False, True)
    line.stop("a", 1)
    assert first.halt()
    assert line.join("a", 1).halt(), "stopped before it came"
    third = line.join("c", 1)
    assert not third.halt()
    line.close()
    assert third.halt()


def test_a_byte_that_is_used_again_asks_for_nothing(monkeypatch):
    monkeypatch.setattr("specviz.ui.halt.NUMBERS", iter([7, 7]))
    Ticket("a", 1).stop()
    assert not Ticket("b", 1).halt()


def test_one_who_gives_way_waits_behind_all_others_and_is_told_how_many():
    async def story():
        waiting = Waiting("abc")
        await settle()
        again = []
        assert waiting.line.someone_waits
        waiting.line.give_way(waiting.tickets["a"])
        waiting.tasks.append(asyncio.create_task(follow(waiting.line, waiting.tickets["a"], again)))
        await settle()
        assert waiting.seen["b"] == [1, "turn"]
        assert waiting.seen["c"] == [2, 1]
        await waiting.leave("b")
        await waiting.leave("c")
        assert again == [2, 1, "turn"]
        assert not waiting.line.someone_waits

    asyncio.run(story())


def test_one_who_was_stopped_before_is_not_overdue():
    overdue, stopped = Ticket("a", 1), Ticket("b", 1)
    stopped.stop()
    for ticket in (overdue, stopped):
        ticket.run_out()
    assert (overdue.overdue, stopped.overdue) == (True, False)
    assert overdue.halt()
