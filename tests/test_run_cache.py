"""Repeated requests are served from the run cache: complete, labelled and bounded."""

import asyncio
import json
import threading
from dataclasses import replace
from functools import partial

import pytest
from reader import read
from test_runs import kinds, told, until

from specviz.settings.settings import Settings
from specviz.ui.job import Job
from specviz.ui.request import RunRequest
from specviz.ui.step import again
from specviz.ui.step.again import Memory, question
from specviz.ui.stream import line
from specviz.ui.task import Machine, Task
from specviz.ui.worker import Worker

WISH = RunRequest("Once upon a time")


@pytest.fixture
def made(monkeypatch):
    """The computed requests; each yields a run of two lines, or ends as its prompt says."""
    log = []

    def tell(wish, desk):
        log.append(wish)
        yield desk.says("loading")
        yield line("run", {"prompt": wish.prompt, "id": desk.nonce})
        if wish.prompt == "broken":
            raise ValueError("It cannot be.")
        if wish.prompt == "stopped":
            desk.unwanted.set(True)
        yield line("round", {"number": 0})

    def task(wish):
        return Task(lambda desk: tell(wish, desk), 1.0)

    monkeypatch.setattr(again, "shown", task)
    return log


class Asker:
    def __init__(self):
        self.runs, self.memory, self.streams = Worker(Machine("cpu")), Memory(), {}

    def _start(self, stream, wish):
        self.streams[stream.visitor] = stream
        task = self.memory.task(self.runs, wish, stream)
        return None if task is None else self.runs.start(task, stream)

    async def texts(self, wish, visitor, number):
        async for text in read(visitor, number, partial(self._start, wish=wish)):
            yield text

    async def heard(self, wish, visitor, number):
        return [text async for text in self.texts(wish, visitor, number)][-1]

    def __call__(self, wish=WISH, visitor="me", number=1):
        return asyncio.run(self.heard(wish, visitor, number))


@pytest.fixture
def ask():
    return Asker()


def test_repeated_request_is_served_from_the_cache_and_says_so(made, ask):
    first, second = ask(number=1), ask(number=2)
    assert made == [WISH]
    assert kinds(first) == ["loading", "run", "round", "done"]
    assert kinds(second) == ["run", "round", "done"]
    run, *_, done = told(second)
    assert run["prompt"] == WISH.prompt
    assert (run["id"], done["id"]) == ("2", "2")
    assert run["again"].startswith("This exact run was made here less than a minute ago")
    assert "again" not in told(first)[1]
    assert told(second)[1:-1] == told(first)[2:-1]
    said = ["again" in ask(number=number) for number in range(3, 6)]
    assert said == [False, True, False], "a request after a cached answer is measured again"
    assert len(made) == 3
    assert "again" in ask(visitor="another")


def test_different_requests_do_not_share_a_cached_run(made, ask):
    others = [
        replace(WISH, prompt="Once upon a time "),
        replace(WISH, drafter="ngram"),
        replace(WISH, settings=Settings(seed=2)),
        replace(WISH, settings=Settings(coins={"1 judge 1": 0.5})),
    ]
    for wish in [WISH, *others]:
        assert "again" not in ask(wish)
    assert made == [WISH, *others]


@pytest.mark.parametrize("prompt", ["broken", "stopped"])
def test_unfinished_runs_are_not_cached(made, ask, prompt, monkeypatch):
    ended = replace(WISH, prompt=prompt)
    if prompt == "stopped":
        finish = Job._finish

        def stopping(job):
            job.ticket.stop()
            finish(job)

        monkeypatch.setattr(Job, "_finish", stopping)
    assert kinds(ask(ended))[-1] in ("error", "stopped")
    assert len(ask.memory) == 0


def test_simultaneous_equal_requests_are_computed_once(made, ask):
    async def room():
        return await asyncio.gather(*(ask.heard(WISH, f"visitor{n}", n) for n in range(1, 9)))

    texts = asyncio.run(room())
    assert len(made) == 1
    assert sum('"again"' in text for text in texts) == 7
    assert all(kinds(text)[-1] == "done" for text in texts)
    assert [told(text)[-1]["id"] for text in texts] == [str(n) for n in range(1, 9)]


def test_visitor_watching_a_shared_run_can_leave_without_stopping_it(made, ask, monkeypatch):
    go_on = threading.Event()

    def tell(desk):
        yield line("run", {"prompt": "x", "id": desk.nonce})
        assert go_on.wait(120)
        yield line("round", {"number": 0})

    monkeypatch.setattr(again, "shown", lambda wish: Task(tell, 1.0))

    async def story():
        outputs = {"a": [], "b": []}

        async def collect(visitor, number):
            async for text in ask.texts(WISH, visitor, number):
                outputs[visitor].append(text)

        def has_begun(visitor):
            return outputs[visitor] and "run" in kinds(outputs[visitor][-1])

        first = asyncio.create_task(collect("a", 1))
        await until(lambda: has_begun("a"))
        second = asyncio.create_task(collect("b", 2))
        await until(lambda: has_begun("b"))
        assert len(ask.runs.line) == 1
        ask.streams["b"].stop()
        await asyncio.wait_for(second, 60)
        assert not first.done()
        go_on.set()
        await first
        return outputs["a"][-1], outputs["b"][-1]

    first, seen = asyncio.run(story())
    assert kinds(seen) == ["run", "stopped"]
    assert {each["id"] for each in told(seen)} == {"2"}
    assert kinds(first)[-1] == "done"


def test_visitor_gets_a_separate_run_if_the_watched_run_ends_early(made, ask):
    async def story():
        ended = replace(WISH, prompt="broken")
        return await asyncio.gather(*(ask.heard(ended, name, n) for n, name in enumerate("ab")))

    first, second = asyncio.run(story())
    assert kinds(first) == ["loading", "run", "error"]
    own = [kind for kind in kinds(second) if kind != "queued"]  # behind the first, for a moment
    assert own == ["loading", "run", "loading", "run", "error"]
    assert len(made) == 2
    assert len(ask.memory._ongoing) == 0


@pytest.mark.parametrize("name", ["owner/name", "vllm:http://127.0.0.1:8000"])
def test_models_outside_the_catalogue_are_always_measured(made, ask, name, monkeypatch):
    if name.startswith("vllm:"):  # a host may list one
        monkeypatch.setattr(RunRequest, "allowed", lambda wish, any_model: wish)
    elsewhere = replace(WISH, target=name)
    assert question(elsewhere) == ""
    ask(elsewhere), ask(elsewhere)
    assert len(made) == 2
    assert len(ask.memory) == 0


def lines_of(size):
    text = "".join(map(chr, range(65, 65 + size)))
    return [line("run", {"id": "1"})[:-1], line("round", {"text": text})[:-1]]


def key_of(seed):
    return question(replace(WISH, settings=Settings(seed=seed)))


def test_run_cache_is_bounded_by_count_bytes_and_visitors(monkeypatch):
    few = Memory(most=3)
    for seed in range(9):
        few.keep(key_of(seed), lines_of(3))
    assert list(few._kept) == [key_of(seed) for seed in (6, 7, 8)]
    small = Memory(size=1000)
    for seed in range(9):
        small.keep(key_of(seed), lines_of(200))
    assert 0 < len(small) < 9
    assert small.size <= 1000
    monkeypatch.setattr(again, "PRESSED", 3)  # visitors remembered per run
    kept = few._kept[key_of(8)]
    for number in range(9):
        kept.saw(f"nobody {number}")
    assert len(kept.seen) <= 3
    assert "nobody 8" in kept.seen


def test_prompt_that_looks_like_a_job_id_is_unchanged(ask, made):
    odd = replace(WISH, prompt='"id":"1"\u2028{"kind":"state"')
    ask(odd, number=1)
    run = json.loads(ask(odd, number=2).split("\n")[0])
    assert (run["prompt"], run["id"]) == (odd.prompt, "2")
