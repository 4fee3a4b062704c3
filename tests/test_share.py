"""Nobody holds the models for long: a job gives way to those who wait, and has a limit of time."""

import asyncio
import itertools
import json
import time

import pytest
from test_runs import heard, kinds, runs, told, wish  # noqa: F401

from specviz.ui import limits, share
from specviz.ui.step.live import shown
from specviz.ui.task import Task


def counted(log, name, steps, desk):
    """A job of so many steps."""
    for step in range(steps):
        if desk.unwanted():
            yield f"{name} asked to end\n"
            return
        log.append(name)
        time.sleep(0.002)
        yield f"{name} {step}\n"


@pytest.fixture
def log():
    return []


@pytest.fixture
def job(runs, log):  # noqa: F811
    """Makes a visitor's job of so many steps, and gives all that is told of it."""

    async def made(name, steps):
        def tell(desk):
            return counted(log, name, steps, desk)

        return [text async for text in runs.texts(Task(tell, 1.0), name, 1)][-1]

    return made


def test_a_long_job_gives_way_to_those_who_wait_and_goes_on_after_them(job, log, monkeypatch):
    monkeypatch.setattr(share, "SHARE", 0.01)

    async def story():
        long = asyncio.create_task(job("long", 60))
        await asyncio.sleep(0.01)
        short = [asyncio.create_task(job(name, 2)) for name in ("b", "c")]
        return await asyncio.gather(long, *short)

    text, *_ = asyncio.run(story())
    assert 0 < log.index("b") < log.index("c") < 60
    assert (log.count("long"), log[-1]) == (60, "long")
    first, *_, resumed, done = [json.loads(x) for x in text.splitlines() if x.startswith("{")]
    assert (first["state"], first["place"]) == ("queued", 2)
    assert (resumed["state"], done["state"]) == ("resumed", "done")


def test_two_long_jobs_take_turns(job, log, monkeypatch):
    monkeypatch.setattr(share, "SHARE", 0.01)

    async def story():
        await asyncio.gather(job("a", 40), job("b", 40))

    asyncio.run(story())
    changes = sum(one != other for one, other in itertools.pairwise(log))
    assert changes >= 4
    assert (log.count("a"), log.count("b")) == (40, 40)


def test_alone_a_job_is_never_interrupted(job, log, monkeypatch):
    monkeypatch.setattr(share, "SHARE", 0.0)
    text = asyncio.run(job("alone", 20))
    assert "resumed" not in text
    assert log == ["alone"] * 20


def test_where_a_gpu_is_lent_no_job_gives_way(monkeypatch):
    monkeypatch.setattr(share, "SHARE", 0.0)
    monkeypatch.setattr(share, "ZEROGPU", True)
    assert share.Steps(iter([None] * 3)).go_on(lambda: True)
    assert "turns" not in share.said(60)


def test_one_who_gave_way_and_is_stopped_ends_without_waiting(job, runs, log, monkeypatch):  # noqa: F811
    monkeypatch.setattr(share, "SHARE", 0.01)

    async def story():
        long = asyncio.create_task(job("long", 10_000))
        await asyncio.sleep(0.02)
        other = asyncio.create_task(job("other", 10_000))
        while "other" not in log:
            await asyncio.sleep(0.002)
        runs.line.stop("long", 1)
        told = await asyncio.wait_for(long, 5)
        runs.line.stop("other", 1)
        await other
        return told

    said = asyncio.run(story())
    assert "long asked to end\n" in said
    assert kinds(said.splitlines()[-1]) == ["stopped"]
    assert len(runs.line) == 0


def test_a_resumed_job_computes_with_as_many_threads_as_before(monkeypatch):
    import torch

    monkeypatch.setattr(share, "SHARE", 0.0)
    many, seen = torch.get_num_threads(), []

    def work():
        for _ in range(2):
            seen.append(torch.get_num_threads())
            yield

    try:
        torch.set_num_threads(2)
        steps = share.Steps(work())
        assert not steps.go_on(lambda: True)
        torch.set_num_threads(1)
        assert steps.go_on(lambda: False)
        assert seen == [2, 2]
    finally:
        torch.set_num_threads(many)


def test_a_run_that_reaches_the_limit_says_so_and_keeps_what_it_has(runs, wish):  # noqa: F811
    async def story():
        async for text in runs.texts(shown(wish(max_new_tokens=200)), "me", 1):
            if "round" in kinds(text) and runs.line._tickets:
                runs.line._tickets[0].run_out()
            last = text
        return last

    text = asyncio.run(story())
    assert kinds(text)[-2:] == ["finished", "overdue"]
    assert 0 < kinds(text).count("round") < 20
    assert told(text)[-1]["seconds"] == limits.LIMIT
    assert kinds(asyncio.run(heard(runs, wish(), "me", 2))[-1])[-1] == "done"


def test_the_limit_is_reached_by_the_clock(job, runs, log):  # noqa: F811
    runs.limit = 0.1
    text = asyncio.run(job("long", 10_000))
    assert "asked to end" in text
    assert kinds(text.splitlines()[-1]) == ["overdue"]
    assert 0 < len(log) < 1000


def test_time_in_which_others_compute_is_not_counted(job, runs, monkeypatch):  # noqa: F811
    begun = time.monotonic()
    asyncio.run(job("alone", 20))
    alone = time.monotonic() - begun
    monkeypatch.setattr(share, "SHARE", alone / 5)
    runs.limit = 5 * alone

    async def story():
        return await asyncio.gather(*(job(f"one of {number}", 20) for number in range(15)))

    for text in asyncio.run(story()):
        assert '"done"' in text


def test_a_client_gets_what_was_made_until_then(runs, log):  # noqa: F811
    runs.limit = 0.1
    task = Task(lambda desk: counted(log, "long", 10_000, desk), 1.0)
    text = asyncio.run(runs.whole(task, "me"))
    assert text.startswith("long 0\nlong 1\n")
    assert text.endswith("asked to end\n")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(300, "5 minutes"), (60, "1 minute"), (90, "90 seconds"), (86_400, "1,440 minutes")],
)
def test_the_limit_is_said_in_words(seconds, words):
    assert words in share.said(seconds)
    assert share.said(seconds).endswith("stays.")
