"""Runs that are repeated until the medians of their times are reliable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count
from random import Random
from typing import Any

import pytest

from specviz import engine
from specviz.shipped import FOLDER
from specviz.trace.events import Baseline, Committed
from specviz.trace.file import Trace, dumps
from specviz.trace.metrics import alike, explain_noise, median_times, speedup, summary
from specviz.ui.request import RunRequest
from specviz.ui.step import repeat as repeating
from specviz.ui.step.lines import AGAIN, REPEATED, UNSTABLE
from specviz.ui.step.repeat import LEAST, MAX_SECONDS, repeated
from specviz.ui.stream import BaselineNext
from specviz.ui.task import JobContext, Machine, StopFlag

CALM = Trace.read(FOLDER / "01-chain.jsonl")


def slowed(trace: Trace, by: Any) -> Trace:
    """Return the run with each of its times multiplied by what `by` returns."""

    def event_of(event: Any) -> Any:
        if isinstance(event, Baseline):
            return replace(event, seconds=[each * by() for each in event.seconds])
        names = [f.name for f in fields(event) if f.name.endswith("seconds")]
        return replace(event, **{name: getattr(event, name) * by() for name in names})

    assert all(map(is_dataclass, trace.events))
    return Trace(trace.header, [event_of(event) for event in trace.events])


@pytest.fixture
def machine(monkeypatch):
    """A machine on which the runs of a list follow each other; the last one is repeated."""
    monkeypatch.setattr(Machine, "load", lambda *_: (type("T", (), {"device": CPU})(), [None]))
    monkeypatch.setattr("specviz.models.threads.choose_threads", lambda: None)

    def lined_up(*runs: Trace) -> list[dict[str, Any]]:
        turns = iter([*runs, *[runs[-1]] * 500])

        def run(*_: object, stop: StopFlag) -> Iterator[object]:
            shown = next(turns)
            yield from [shown.header, *shown.events]

        monkeypatch.setattr(engine, "run_stepwise", run)
        context = JobContext(Machine(), "1", StopFlag())
        texts = list(repeated(RunRequest("", "house", "draft-model")).run(context))
        assert isinstance(texts[1], BaselineNext), "other visitors' rounds go first"
        return [json.loads(line) for text in texts for line in text.splitlines()]

    return lined_up


class CPU:
    type = "cpu"


def busy(seed: int) -> Trace:
    """Return a run in which a third of all times is three times as long."""
    chance = Random(seed)
    return slowed(CALM, lambda: 3.0 if chance.random() < 1 / 3 else 1.0)


def noise(run: Trace) -> str | None:
    assert run.baseline is not None
    return explain_noise(run, run.baseline)


def test_median_times_are_those_of_each_pass():
    times = median_times([slowed(CALM, lambda by=by: by) for by in (1.0, 5.0, 2.0)])
    assert list(times.lines()) == list(slowed(CALM, lambda: 2.0).lines())
    assert summary(times)["speedup"] == pytest.approx(summary(CALM)["speedup"])


def test_runs_with_other_tokens_or_passes_are_not_alike():
    assert alike(CALM, busy(1))
    at = next(i for i, each in enumerate(CALM.events) if isinstance(each, Committed))
    other = replace(CALM.events[at], tokens=[5])
    assert not alike(CALM, Trace(CALM.header, [*CALM.events[:at], other, *CALM.events[at + 1 :]]))


def test_a_busy_machine_is_measured_until_the_medians_are_reliable(machine):
    runs = [busy(seed) for seed in range(100)]
    assert all(map(noise, runs))
    number = next(n for n in count(LEAST) if not noise(median_times(runs[:n])))
    assert LEAST < number < 100
    _, _, run, *_, baseline = machine(*runs)
    medians = median_times(runs[:number])
    fast = f"{summary(medians)['speedup']:.2f} × plain"
    assert run["again"] == REPEATED.format(f"{number} runs")
    assert baseline["summary"].startswith(f"Median of {number} runs: ")
    assert baseline["summary"].endswith(fast)
    assert not baseline["unreliable"]
    assert baseline["point"]["speedup"] == pytest.approx(summary(medians)["speedup"], abs=1e-6)


def test_trace_that_is_shown_is_one_of_the_runs(machine):
    runs = [busy(seed) for seed in range(100)]
    found = machine(*runs)
    trace = [text for each in found if "trace" in each for text in each["trace"]]
    assert trace in [[dumps(run.header), *map(dumps, run.events)] for run in runs]


def test_a_calm_machine_is_measured_a_few_times(machine):
    _, _, run, *_, baseline = machine(CALM)
    assert run["again"] == REPEATED.format(f"{LEAST} runs")
    ratio = speedup(summary(CALM)["tokens"], summary(CALM)["total_seconds"], CALM.baseline)
    assert baseline["summary"].endswith(f"{ratio:.2f} × plain")


def test_times_that_stay_unreliable_are_called_so_after_a_minute(machine, monkeypatch):
    seconds = count(0.0, MAX_SECONDS / 4)
    monkeypatch.setattr(repeating, "monotonic", lambda: next(seconds))
    _, _, run, *_, baseline = machine(busy(1))
    assert run["again"] == UNSTABLE.format("5 runs")
    assert baseline["summary"].endswith(AGAIN)
    assert baseline["unreliable"]


def test_a_run_that_was_stopped_does_not_count(machine):
    stopped = Trace(CALM.header, [each for each in CALM.events if not isinstance(each, Baseline)])
    assert [each["kind"] for each in machine(stopped)] == ["state", "state"]
    _, _, run, *_ = machine(CALM, CALM, stopped)
    assert run["again"] == REPEATED.format("2 runs")
