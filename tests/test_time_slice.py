"""Jobs compute in short turns: first rounds come first, runs finish, waiting is not measured."""

import asyncio
import itertools
import json
import time
from collections import Counter

import pytest
from reader import stop_jobs
from reader import texts as texts_of
from test_runs import heard, kinds, runs, told, wish  # noqa: F401

from specviz.engine import decode, loop
from specviz.trace.file import Trace
from specviz.ui import job as job_module
from specviz.ui import limits, stream, task, worker
from specviz.ui.job import Job
from specviz.ui.queue import Phase, Ticket
from specviz.ui.step.live import recorded, shown
from specviz.ui.stream import BaselineNext, Paced, Stream, paced
from specviz.ui.task import JobContext, Machine, StopFlag, Task, performed


def counted(log, name, steps, desk):
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
    """Return a function that runs a visitor's job with this many steps and returns its output."""

    async def made(name, steps):
        def tell(desk):
            return counted(log, name, steps, desk)

        return [text async for text in texts_of(runs, Task(tell, 1.0), name, 1)][-1]

    return made


@pytest.fixture
def sliced(monkeypatch):
    """Let a turn end after every step if another job waits, and send nothing because of time."""
    monkeypatch.setattr(job_module, "SLICE", 0.0)
    monkeypatch.setattr(stream, "PAUSE", 1000.0)
    monkeypatch.setattr(stream, "DRAWING", 0.0)


def states(text):
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [line for line in lines if line["kind"] == "state"]


def test_jobs_compute_in_turn_after_the_first_output_of_every_job(runs, job, log, sliced):  # noqa: F811
    async def story():
        return await asyncio.gather(*(job(name, 20) for name in "abcde"))

    asyncio.run(story())
    assert log[:5] == list("abcde")
    assert Counter(log) == dict.fromkeys("abcde", 20)
    assert sum(one != other for one, other in itertools.pairwise(log)) >= 90


@pytest.mark.slow
def test_new_job_interrupts_a_long_running_job(job, log, sliced):
    async def story():
        long = asyncio.create_task(job("long", 200))
        while "long" not in log:
            await asyncio.sleep(0.001)
        await job("short", 2)
        return await long

    text = asyncio.run(story())
    assert 0 < log.index("short") < 200
    assert log[-1] == "long"
    said = [state["state"] for state in states(text)]
    assert said == ["queued", "resumed", "done"]
    assert states(text)[0]["place"] == 1
    alone = asyncio.run(job("alone", 20))
    assert [state["state"] for state in states(alone)] == ["done"], "it never waits"


class Silent:
    nonce = "1"
    begun = False

    def write(self, text):
        self.begun |= text == "round"

    def say(self, *_, **__):
        pass

    end = say


def steps(*texts):
    task = Task(lambda _: iter(texts), 1.0)
    return Job(task, Ticket("me"), Silent(), Machine(), 60.0)


def test_turn_ends_after_the_first_round_and_before_the_baseline(monkeypatch):
    monkeypatch.setattr(stream, "PAUSE", 1000.0)
    job = steps("", "round", "round", BaselineNext("end"), "last")
    ends = [(job.take_turn(lambda: False), job.phase) for _ in range(3)]
    assert ends == [(False, Phase.DRAFTING), (False, Phase.BASELINE), (True, Phase.BASELINE)]
    monkeypatch.setattr(job_module, "FIRST_TURN", 0.0)
    late = steps("", "")
    assert not late.take_turn(lambda: True)
    assert late.phase is Phase.DRAFTING, "without early output it loses the priority of new jobs"


def test_rounds_are_sent_and_not_interrupted_during_a_single_turn_on_zerogpu(monkeypatch):
    work = Task(lambda desk: iter(["a", "", Paced(""), "b"]), 1.0)
    desk = JobContext(Machine(), "1", StopFlag())
    assert list(performed(desk, work)) == ["a", "", "", "b"]
    for module in (stream, task):
        monkeypatch.setattr(module, "ZEROGPU", True)
    monkeypatch.setattr(stream, "PAUSE", 1000.0)
    assert list(performed(desk, work)) == ["a", "b"]
    texts = paced(["run\n", "first\n", "second\n", "third\n", BaselineNext("end\n")])

    async def story():
        output = Stream("me", "1")
        return [len(output.lines) for text in texts if output.write(text) is None]

    assert asyncio.run(story()) == [0, 0, 3, 3, 5]
    for name in ("SLICE", "FIRST_TURN"):
        monkeypatch.setattr(job_module, name, 0.0)
    monkeypatch.setattr(stream, "PAUSE", -1.0)
    monkeypatch.setattr(job_module, "ZEROGPU", True)
    assert steps("", "round", BaselineNext("end")).take_turn(lambda: True)
    assert "turns" not in task.limit_text(60)


def test_job_stopped_between_turns_ends_at_once(job, runs, log, sliced):  # noqa: F811
    async def story():
        long = asyncio.create_task(job("long", 10_000))
        other = asyncio.create_task(job("other", 10_000))
        while "other" not in log:
            await asyncio.sleep(0.002)
        stop_jobs(runs.line, "long")
        text = await asyncio.wait_for(long, 60)
        assert not other.done()
        stop_jobs(runs.line, "other")
        await other
        return text

    text = asyncio.run(story())
    assert "long asked to end\n" in text
    assert states(text)[-1]["state"] == "stopped"
    assert log.count("long") < 1000


def test_resumed_job_uses_as_many_threads_as_before(monkeypatch):
    import torch

    monkeypatch.setattr(job_module, "SLICE", 0.0)
    seen = []

    def work(_):
        for _ in range(4):
            seen.append(torch.get_num_threads())
            yield "round"

    torch.set_num_threads(2)
    job = Job(Task(work, 1.0), Ticket("me"), Silent(), Machine(), 60.0)
    for _ in range(3):
        assert not job.take_turn(lambda: True)
        torch.set_num_threads(1)
    assert seen == [2, 2, 2]


def measured(trace):
    found = []

    def look(name, value):
        if isinstance(value, dict):
            for key, each in value.items():
                look(f"{name}.{key}", each)
        elif "seconds" in name:
            found.extend(value if isinstance(value, list) else [value])

    for line in trace.lines():
        look("", json.loads(line))
    return found


def without_seconds(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return [{k: v for k, v in line.items() if "seconds" not in k} for line in lines]


def test_time_between_turns_is_excluded_from_measurements(runs, wish, sliced, monkeypatch):  # noqa: F811
    """Only another job moves the clock: by one hour at each of its steps."""
    now, steps = [0.0], []
    for module in (loop, decode):
        monkeypatch.setattr(module, "perf_counter", lambda: now[0])

    def tell(desk):
        yield "begun\n"
        while not desk.unwanted():
            steps.append(1)
            now[0] += 3600.0
            yield ""

    async def story():
        other = asyncio.create_task(runs.whole(Task(tell, 1.0), "other"))
        while not steps:
            await asyncio.sleep(0.001)
        before = len(steps)
        text = await runs.whole(recorded(wish(max_new_tokens=24)), "me")
        assert len(steps) >= before + 24, "it took turns between rounds and passes"
        stop_jobs(runs.line, "other")
        with pytest.raises(Exception, match="stopped"):
            await other
        return text

    trace = Trace.parse(asyncio.run(story()).split("\n"))
    assert trace.baseline is not None
    found = measured(trace)
    assert len(found) > 20
    assert set(found) == {0.0}


def test_time_slices_change_no_text_or_trace(runs, wish, sliced, monkeypatch):  # noqa: F811
    """Compare two runs that take turns on the same models with each of them alone."""
    requests = [wish(max_new_tokens=24), wish("The dog saw", seed=2, max_new_tokens=24)]
    alone = [asyncio.run(runs.whole(recorded(request), "me")) for request in requests]
    order, give_way = [], runs.line.give_way

    def noted(ticket, *args):
        order.append(ticket.visitor)
        give_way(ticket, *args)

    monkeypatch.setattr(runs.line, "give_way", noted)

    async def both():
        asked = zip(requests, "ab", strict=True)
        return await asyncio.gather(*(runs.whole(recorded(r), name) for r, name in asked))

    together = asyncio.run(both())
    assert sum(one != other for one, other in itertools.pairwise(order)) > 40, "they took turns"
    for text, expected in zip(together, alone, strict=True):
        assert without_seconds(text) == without_seconds(expected)


def test_baseline_can_be_interrupted_at_every_pass(wish):  # noqa: F811
    texts = list(performed(JobContext(Machine("cpu"), "1", StopFlag()), recorded(wish())))
    trace = Trace.parse("".join(texts).split("\n"))
    assert texts.count("") == len(trace.baseline.seconds) > 0
    (end,) = (at for at, text in enumerate(texts) if isinstance(text, BaselineNext))
    assert "" not in texts[:end], "the job says that the baseline is next before its first pass"


@pytest.mark.slow
def test_run_that_reaches_the_time_limit_says_so_and_keeps_its_rounds(runs, wish):  # noqa: F811
    async def story():
        async for text in texts_of(runs, shown(wish(max_new_tokens=200)), "me", 1):
            if "round" in kinds(text) and runs.line._tickets:
                runs.line._tickets[0].run_out()
            last = text
        return last

    text = asyncio.run(story())
    assert kinds(text)[-2:] == ["finished", "overdue"]
    assert 0 < kinds(text).count("round") < 20
    assert told(text)[-1]["seconds"] == limits.LIMIT
    assert kinds(asyncio.run(heard(runs, wish(), "me", 2))[-1])[-1] == "done"


@pytest.mark.slow
def test_api_client_receives_the_rounds_finished_before_the_limit(runs, log):  # noqa: F811
    runs.limit = 0.5
    task = Task(lambda desk: counted(log, "long", 10_000, desk), 1.0)
    text = asyncio.run(runs.whole(task, "me"))
    assert text.startswith("long 0\nlong 1\n")
    assert text.endswith("asked to end\n")


@pytest.mark.slow
def test_time_of_other_jobs_does_not_count_towards_the_limit(job, runs, log, sliced, monkeypatch):  # noqa: F811
    """The clock advances one second per step: 20 seconds for each job, 300 in all."""
    monkeypatch.setattr(worker, "monotonic", lambda: float(len(log)))
    runs.limit = 60.0

    async def story():
        return await asyncio.gather(*(job(f"visitor{number}", 20) for number in range(15)))

    for text in asyncio.run(story()):
        assert '"done"' in text
