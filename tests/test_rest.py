"""A server that nobody asks for anything sleeps: Gradio's loops look seldom, by its own code."""

import asyncio

import pytest

from specviz.ui.page import Options, build
from specviz.ui.rest import LOOK, PROGRESS
from specviz.ui.task import Machine
from specviz.ui.worker import Worker


@pytest.mark.parametrize(
    ("loop", "pause"), [("start_processing", LOOK), ("start_progress_updates", PROGRESS)]
)
def test_a_loop_that_waits_for_events_sleeps_between_two_looks(monkeypatch, loop, pause):
    slept = []

    async def waited():
        line = build(Options(), Worker(Machine()), Worker(Machine()))._queue

        async def sleep(seconds):
            slept.append(seconds)
            line.stopped = len(slept) > 5

        monkeypatch.setattr("gradio.queueing.asyncio.sleep", sleep)
        line.stopped = False
        await getattr(line, loop)()

    asyncio.run(waited())
    assert slept == [pause] * 6
    assert pause >= 0.02
