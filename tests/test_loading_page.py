"""Progress on the page and in the API while models load, and loads that end early."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from threading import Event

import gradio as gr
import pytest
from reader import stop_jobs
from reader import texts as texts_of
from test_runs import heard, kinds, runs, told, until, wish  # noqa: F401

from specviz.catalog import loading
from specviz.models import checkpoint
from specviz.models.load_control import WEIGHTS, advance, begin_stage
from specviz.models.load_control import loading as load_of
from specviz.models.memory import ModelCache
from specviz.ui import worker
from specviz.ui.step.live import recorded, shown
from specviz.ui.task import Machine
from specviz.ui.worker import Worker

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Isolate each test's loaded models, and send output at short intervals."""
    monkeypatch.setattr(loading, "MODELS", ModelCache())
    monkeypatch.setattr(worker, "LOAD_POLL", 0.005)


@pytest.fixture
def held(monkeypatch):
    """Hold the first load before its products are chosen; return events for arrival and release."""
    there, go, prepare = Event(), Event(), checkpoint.prepare

    def waiting(model):
        there.set()
        assert go.wait(120)
        prepare(model)

    monkeypatch.setattr(checkpoint, "prepare", waiting)
    yield there, go
    go.set()


def stages(text):
    return [line for line in told(text) if "stage" in line]


async def reached(event):
    """Wait for an event of the thread that computes."""
    assert await asyncio.to_thread(event.wait, 60)


def test_page_receives_the_stage_of_a_load_with_bytes_and_seconds(runs, wish, monkeypatch):  # noqa: F811
    pause, load = Event(), Machine.load

    def slow(*args):
        with load_of("smollm2"):
            begin_stage(WEIGHTS, 4_000_000)
            for _ in range(4):
                pause.wait(0.15)
                advance(1_000_000)
            pause.wait(0.15)
        return load(*args)

    monkeypatch.setattr(Machine, "load", slow)
    text = asyncio.run(heard(runs, wish()))[-1]
    own = [line for line in stages(text) if line.get("model") == "SmolLM2"]
    assert {(line["stage"], line["of"], line["id"]) for line in own} == {(WEIGHTS, 4_000_000, "1")}
    bytes_ = [line["done"] for line in own]
    assert bytes_ == sorted(bytes_)
    assert bytes_[0] < bytes_[-1]
    assert "spent" in own[0]
    assert all(line["left"] >= 0 for line in own[-2:])
    assert all(one != other for one, other in pairwise(own)), "no line says what was said before"
    said = kinds(text)
    assert "loading" not in said[said.index("drafting") :], "no stage after the load has ended"
    assert said[-1] == "done"


def test_visitor_who_arrives_during_a_load_sees_its_progress(runs, wish, held):  # noqa: F811
    there, go = held

    async def story():
        runs.warm_up()
        await reached(there)
        text = ""
        async for text in texts_of(runs, shown(wish()), "me", 1):
            if stages(text):
                go.set()
        return text

    text = asyncio.run(story())
    assert stages(text)[0]["model"] == "House"
    assert kinds(text)[-1] == "done"


@pytest.mark.parametrize("way", ["stop", "leave"])
def test_load_ends_when_stopped_or_abandoned_and_the_next_load_works(runs, wish, held, way):  # noqa: F811
    there, go = held

    async def story():
        job = asyncio.create_task(heard(runs, wish()))
        await reached(there)
        stop_jobs(runs.line, "me") if way == "stop" else job.cancel()
        await asyncio.sleep(0)
        go.set()
        try:
            return (await job)[-1]
        except asyncio.CancelledError:
            while len(runs.line):
                await asyncio.sleep(0.01)
            return None

    text = asyncio.run(story())
    assert loading.MODELS.entries() == []
    if way == "stop":
        assert kinds(text)[-1] == "stopped"
        assert {"drafting", "error"}.isdisjoint(kinds(text))
    again = asyncio.run(heard(runs, wish(), number=2))[-1]
    assert kinds(again)[-1] == "done"
    assert len(loading.MODELS.entries()) == 2


async def overdue(there, go, begun):
    """Return the result of a job that exceeds its time limit while it loads."""
    job = asyncio.create_task(begun)
    await until(lambda: there.is_set() or job.done())  # the limit may end it earlier
    await asyncio.sleep(0.2)
    go.set()
    return await job


def test_load_ends_at_the_time_limit(wish, held):  # noqa: F811
    limited = Worker(Machine("cpu"), limit=0.05)
    text = asyncio.run(overdue(*held, heard(limited, wish())))[-1]
    assert told(text)[-1] == {"kind": "state", "state": "overdue", "id": "1", "seconds": 0}
    assert "drafting" not in kinds(text)
    assert loading.MODELS.entries() == []


def test_api_explains_a_load_that_exceeded_the_time_limit(wish, held):  # noqa: F811
    limited = Worker(Machine("cpu"), limit=0.05)
    with pytest.raises(gr.Error, match="ended before its first result: a job may compute for 0"):
        asyncio.run(overdue(*held, limited.whole(recorded(wish()), "client")))
