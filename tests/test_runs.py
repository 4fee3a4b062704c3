"""Live runs: streamed after a wait in the queue, stopped, rejected, failing, and separate."""

import asyncio
import inspect
import itertools
import json
import threading
from contextlib import aclosing
from functools import partial
from unittest.mock import Mock

import gradio as gr
import pytest
import torch
from event_loop import in_event_loop
from reader import stop_jobs
from reader import texts as texts_of

from specviz import engine
from specviz.catalog.loading import MODELS, unload_last
from specviz.models import checkpoint
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.file import Trace
from specviz.ui.jobs import Jobs
from specviz.ui.live import starting
from specviz.ui.queue import Queue, QueueFull
from specviz.ui.request import RunRequest
from specviz.ui.step.live import recorded, shown
from specviz.ui.task import Machine, Task
from specviz.ui.worker import Worker

pytestmark = pytest.mark.slow

PROMPT = "The cat sat on the mat. The cat"


@pytest.fixture
def runs(monkeypatch):
    """A server that sends every line at once."""
    monkeypatch.setattr("specviz.ui.stream.PAUSE", -1.0)
    monkeypatch.setattr("specviz.ui.stream.DRAWING", 0.0)
    return Worker(Machine("cpu"))


@pytest.fixture
def wish(pair):
    """A function that makes requests for the tiny models."""

    def made(prompt=PROMPT, target=None, drafter=None, **settings):
        usual = {"gamma": 4, "max_new_tokens": 12, "sampling": Sampling(0.8)}
        names = str(target or pair[0]), str(drafter or pair[1])
        return RunRequest(prompt, *names, Settings(**(usual | settings)))

    return made


def told(text):
    return [json.loads(line) for line in text.splitlines()]


def kinds(text):
    """Return what each line is; a state by its own name."""
    return [line.get("state", line["kind"]) for line in told(text)]


async def heard(runs, wish, visitor="me", number=1):
    return [text async for text in texts_of(runs, shown(wish), visitor, number)]


def texts(*args):
    return asyncio.run(heard(*args))


async def until(condition, seconds=60):
    """Let other coroutines and threads run until the condition is true."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture
def held(monkeypatch):
    """Hold the rounds of every run until released, so that a test sees others wait."""
    whole, sign = engine.run_stepwise, threading.Event()

    def waiting(*args, **kwargs):
        for event in whole(*args, **kwargs):
            yield event
            if getattr(event, "event", "") == "committed":
                assert sign.wait(120)

    monkeypatch.setattr(engine, "run_stepwise", waiting)
    yield sign
    sign.set()


@pytest.mark.parametrize("candidates", ["sampled", "greedy"])
def test_live_run_streams_one_round_at_a_time_and_only_appends(runs, wish, candidates):
    wanted = wish(candidates=candidates, coins={"1 judge 1": 0.25})
    seen = texts(runs, wanted)
    assert all(b.startswith(a) and b != a for a, b in itertools.pairwise(seen))
    said, lines = kinds(seen[-1]), told(seen[-1])
    loaded = said.index("drafting")
    assert set(said[:loaded]) == {"loading"}, "a slow load is reported more than once"
    assert said[loaded : loaded + 2] == ["drafting", "run"]
    assert said[-3:] == ["finished", "baseline", "done"]
    assert set(said[loaded + 2 : -3]) == {"round"}
    assert len(seen) == len(said) - 2, "the first round comes with the two lines before it"
    assert {line["id"] for line in lines if "id" in line} == {"1"}
    run, layers = lines[loaded + 1], 2  # of the tiny target
    assert (run["source"], run["prompt"]) == ("live", PROMPT)
    assert run["names"] == [wanted.target, wanted.drafter]
    assert Settings.from_json(run["settings"]) == wanted.settings.at_depth(layers)


def test_first_round_and_last_round_are_sent_immediately(runs, wish, monkeypatch):
    """All rounds between them are sent together."""
    monkeypatch.setattr("specviz.ui.stream.PAUSE", 1000.0)
    *early, drafted, last = texts(runs, wish())
    start = ["loading", "drafting", "run", "round", "round"]
    assert [kinds(text) for text in early] == [start[:1], start[:2], start]
    assert kinds(drafted)[-1] == "finished"
    assert kinds(last) == [*kinds(drafted), "baseline", "done"]
    assert last.startswith(drafted)
    assert drafted.startswith(early[-1])


@in_event_loop
async def test_other_jobs_compute_while_a_job_pauses_for_its_page(runs, wish, monkeypatch):
    """The computing thread does not sleep during the pause."""
    monkeypatch.setattr("specviz.ui.stream.PAUSE", 1000.0)
    monkeypatch.setattr("specviz.ui.stream.DRAWING", 1000.0)
    loop, pauses = asyncio.get_running_loop(), []
    later = loop.call_later

    def call_later(seconds, call, *args):
        if seconds != 1000.0:
            return later(seconds, call, *args)
        pauses.append(partial(call, *args))
        return None

    monkeypatch.setattr(loop, "call_later", call_later)
    job = asyncio.create_task(heard(runs, wish(), "a", 1))
    await until(lambda: pauses)
    await asyncio.sleep(0.1)
    assert not job.done(), "it is paused"
    assert not runs.line.someone_waits
    other = asyncio.create_task(runs.whole(recorded(wish()), "b"))
    await asyncio.wait_for(other, 60)
    while not job.done():
        while pauses:
            pauses.pop()()
        await asyncio.sleep(0.01)
    assert kinds((await job)[-1])[-1] == "done"


def test_warm_up_error_is_logged(runs, monkeypatch, caplog):
    monkeypatch.setattr(Machine, "load", Mock(side_effect=RuntimeError("no such kernel")))
    runs.warm_up()
    runs._thread.shutdown()
    assert "no such kernel" in caplog.text


IMPOSSIBLE = [
    ("", {}, "empty"),
    ("cat " * 900, {}, "tokens"),
    (PROMPT, {"rule": "none"}, "no rule 'none'"),
    (PROMPT, {"sampling": Sampling(top_k=900)}, "Top-k"),
    (PROMPT, {"target": "no/such folder"}, "no/such folder"),
]


def test_impossible_run_reports_the_reason_and_the_next_run_works(runs, wish):
    for prompt, settings, word in IMPOSSIBLE:
        last = told(texts(runs, wish(prompt, **settings))[-1])[-1]
        assert (last["kind"], last["id"]) == ("error", "1")
        assert word in last["sentence"]
        assert last["sentence"].endswith(".")
        with pytest.raises(gr.Error, match=word):
            asyncio.run(runs.whole(recorded(wish(prompt, **settings)), "me"))
        assert len(runs.line) == 0
    assert kinds(texts(runs, wish(), "me", 2)[-1])[-1] == "done"


def break_off(patch, fault):
    """Raise the fault after the first events of each run."""
    whole = engine.run_stepwise

    def breaking(*args, **kwargs):
        yield from itertools.islice(whole(*args, **kwargs), 12)
        raise fault

    patch.setattr(engine, "run_stepwise", breaking)


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (RuntimeError("secret detail"), "error on the server"),
        (MemoryError("secret detail"), "ran out of memory"),
        (RuntimeError("DefaultCPUAllocator: not enough memory, secret detail"), "fewer new tokens"),
    ],
)
def test_error_during_a_run_keeps_finished_rounds(runs, wish, monkeypatch, caplog, fault, word):
    break_off(monkeypatch, fault)
    shown = texts(runs, wish())[-1]
    assert kinds(shown)[:4] == ["loading", "drafting", "run", "round"]
    last = told(shown)[-1]
    assert last["kind"] == "error"
    assert "secret" not in last["sentence"]
    assert word in last["sentence"]
    assert "secret detail" in caplog.text
    assert len(runs.line) == 0
    with pytest.raises(gr.Error, match=word):
        asyncio.run(runs.whole(recorded(wish()), "me"))


def loaded_places():
    return {place for (place, *_), _ in MODELS.entries()}


@pytest.mark.parametrize(("when", "gone"), [("loading", "big"), ("drafting", "small")])
def test_out_of_memory_unloads_the_newest_model_and_says_what_fits(
    runs, wish, pair, monkeypatch, when, gone
):
    too_large = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 9 GiB")
    assert kinds(texts(runs, wish())[-1])[-1] == "done"
    assert str(pair[0].resolve()) in loaded_places()
    with monkeypatch.context() as patch:
        if when == "drafting":
            break_off(patch, too_large)
        else:
            unload_last()
            loading = Mock(side_effect=too_large)
            patch.setattr(checkpoint.AutoModelForCausalLM, "from_pretrained", loading)
        shown = texts(runs, wish())[-1]
    assert ("round" in kinds(shown)) == (when == "drafting")
    said = told(shown)[-1]["sentence"]
    assert ("'small' does not fit in the memory" in said) == (when == "loading")
    assert f"{gone} was unloaded. About " in said
    assert "that fits is House." in said or "SmolLM2" in said
    assert {str(p.resolve()) for p in pair} - loaded_places()
    assert kinds(texts(runs, wish())[-1])[-1] == "done"


@in_event_loop
async def test_waiting_runs_report_their_position_and_leave_at_once(runs, wish, held):
    running, stopped, last = (asyncio.create_task(heard(runs, wish(), n, 1)) for n in "abc")
    await until(lambda: len(runs.line) == 3)
    stop_jobs(runs.line, "b")
    assert kinds((await asyncio.wait_for(stopped, 60))[-1]) == ["queued", "stopped"]
    assert not running.done()
    assert len(runs.line) == 2
    held.set()
    assert kinds((await running)[-1])[0] == "loading"
    lines = told((await last)[-1])
    assert [line["place"] for line in lines if "place" in line][:2] == [2, 1]
    assert lines[-1]["state"] == "done"


@in_event_loop
async def test_stopped_run_ends_after_its_round_and_reports_the_stop(runs, wish):
    seen = []
    async for text in texts_of(runs, shown(wish(max_new_tokens=200)), "me", 7):
        seen.append(text)
        if "round" in kinds(text):
            stop_jobs(runs.line, "me")
    assert kinds(seen[-1])[-2:] == ["finished", "stopped"]
    assert told(seen[-1])[-2]["reason"] == "stopped"
    assert kinds(seen[-1]).count("round") < 20
    assert kinds((await heard(runs, wish(), "me", 8))[-1])[-1] == "done"


@in_event_loop
async def test_run_of_a_visitor_who_left_ends_before_the_next_run_starts(runs, wish, monkeypatch):
    whole, log = engine.run_stepwise, []

    def watched(*args, **kwargs):
        log.append("start")
        for event in whole(*args, **kwargs):
            yield event
            if getattr(event, "event", "") == "finished":
                log.append(event.reason)

    monkeypatch.setattr(engine, "run_stepwise", watched)
    async with aclosing(texts_of(runs, shown(wish(max_new_tokens=200)), "a", 1)) as leaving:
        async for text in leaving:
            if "round" in kinds(text):
                break
    assert kinds((await heard(runs, wish(), "b", 1))[-1])[-1] == "done"
    assert log == ["start", "stopped", "start", "limit"]
    assert len(runs.line) == 0


@in_event_loop
async def test_concurrent_visitors_see_only_their_own_runs(runs, wish):
    wishes = {"The cat": wish("The cat"), "The dog saw": wish("The dog saw", seed=2)}
    both = await asyncio.gather(*(heard(runs, w, p, 1) for p, w in wishes.items()))
    for seen, (prompt, wanted) in zip(both, wishes.items(), strict=True):
        shown, alone = told(seen[-1]), told((await heard(runs, wanted, prompt, 2))[-1])
        assert next(x for x in shown if x["kind"] == "run")["prompt"] == prompt
        brought = [[x["brings"] for x in lines if x["kind"] == "round"] for lines in (shown, alone)]
        assert brought[0] == brought[1]


def test_downloaded_trace_is_complete_and_passes_check(runs, wish):
    text = asyncio.run(runs.whole(recorded(wish()), "me"))
    trace = Trace.parse(text.split("\n"))
    check(trace)
    assert "\n".join([*trace.lines(), ""]) == text
    assert trace.baseline is not None
    assert trace.header.prompt == PROMPT


@in_event_loop
async def test_api_run_shares_the_queue_and_ends_when_its_client_disconnects(runs, wish, held):
    visitor = asyncio.create_task(heard(runs, wish(), "a", 1))
    await until(lambda: len(runs.line) == 1)
    client = asyncio.create_task(runs.whole(recorded(wish()), "client"))
    cancelled = asyncio.create_task(runs.whole(recorded(wish()), "another"))
    await until(lambda: len(runs.line) == 3)
    cancelled.cancel()
    stop_jobs(runs.line, "client")
    with pytest.raises(gr.Error, match="stopped"):
        await asyncio.wait_for(client, 60)
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    await until(lambda: len(runs.line) == 1)
    held.set()
    await visitor


def test_full_queue_is_reported_to_the_page_and_the_api(runs, wish):
    runs.line = Queue(longest=0)
    (text,) = texts(runs, wish())
    assert "Try again" in told(text)[0]["sentence"]
    with pytest.raises(QueueFull):
        asyncio.run(runs.whole(recorded(wish()), "me"))


def test_all_computation_runs_in_one_thread(runs, wish, monkeypatch):
    seen, load = [], Machine.load

    def watched(*args):
        seen.append(threading.current_thread().name)
        return load(*args)

    def noted(desk):
        seen.append(threading.current_thread().name)
        yield desk.says("noted")

    async def note(n):
        return [text async for text in texts_of(runs, Task(noted, 1.0), f"visitor{n}", n)]

    async def all_of_them():
        client = runs.whole(recorded(wish()), "client")
        await asyncio.gather(*map(note, range(3)), heard(runs, wish()), client)

    monkeypatch.setattr(Machine, "load", watched)
    monkeypatch.setattr("specviz.ui.worker.HOUSE", "nobody's")
    runs.warm_up()
    for _ in range(2):  # Gradio and a client may have loops of their own
        asyncio.run(all_of_them())
    assert len(seen) == 2 + 2 * 5
    assert set(seen) == {"models_0"}


@in_event_loop
async def test_waiting_jobs_do_not_occupy_threads(runs, wish, held):
    before = threading.active_count()
    tasks = [asyncio.create_task(heard(runs, wish(), str(n), 1)) for n in range(30)]
    await until(lambda: len(runs.line) == 30)
    assert threading.active_count() <= before + 2
    for n in range(30):
        stop_jobs(runs.line, str(n))
    held.set()
    await asyncio.gather(*tasks)


@in_event_loop
async def test_at_most_five_function_calls_lead_from_the_event_to_the_engine(
    runs, wish, monkeypatch
):
    """Count the project's own functions, on the event loop and then in the computing thread."""
    calls, whole, take_turns = [], engine.run_stepwise, runs._take_turns

    def noting(function):
        def called(*args, **kwargs):
            frames = inspect.stack()[::-1]
            names = [each.function for each in frames if "/specviz/" in each.filename]
            calls.extend(name for name in names if name not in calls)
            return function(*args, **kwargs)

        return called

    monkeypatch.setattr(engine, "run_stepwise", noting(whole))
    monkeypatch.setattr(runs, "_take_turns", noting(take_turns))
    jobs = Jobs()
    await starting(jobs, runs, lambda stream: shown(wish()))(json.dumps(["a" * 32, 1]))
    read = jobs._streams["a" * 32, 1].read()
    assert '"done"' in [line async for batch in read for line in batch][-1]
    assert calls == ["start_job", "start", "take_turn", "performed", "stream_run"]
    assert take_turns.__name__ == "_take_turns", "the fifth call, before take_turn"
