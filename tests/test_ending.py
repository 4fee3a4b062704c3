"""The last step of a run: a summary with counts from the trace and the speed-up."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from driven import grid
from recorded_runs import RUNS, read

from specviz.trace import metrics
from specviz.trace.events import Baseline, Finished
from specviz.trace.file import Trace
from specviz.trace.metrics import VERDICT, explain_noise
from specviz.ui.step.lines import RunLines

pytestmark = pytest.mark.slow


class Latest(RunLines):
    """Replays only the last round, to which the end card is added."""

    def __init__(self, trace):
        super().__init__(trace.header, "recorded")
        self.latest = trace.rounds[-1].number

    def _whole(self, played):
        if played.number == self.latest:
            return super()._whole(played)
        self.earlier.append(played)
        return '{"kind": "earlier"}'


def end_of(trace, kind="baseline"):
    """Return the frame of the last step as the player has it after the line of this kind."""
    run = Latest(trace)
    all_lines = [json.loads(text) for event in trace.events for text in run.lines(event)]
    last = [one for one in all_lines if one["kind"] == "round"][-1]
    (ended,) = [one for one in all_lines if one["kind"] == kind]
    return ended["end"], last["frames"][-1]


def said(frame):
    parts = frame["caption"]["parts"]
    return "".join(part if isinstance(part, str) else part["t"] for part in parts)


@pytest.mark.parametrize("path", grid(RUNS, every=3))
def test_end_card_adds_the_totals_and_times_and_leaves_the_rest_of_the_frame_unchanged(path):
    trace = read(path)
    numbers, rough = metrics.summary(trace), explain_noise(trace, trace.baseline)
    frame, before = end_of(trace)
    assert frame["step"]["kind"] == "end"
    times = "".join(frame["panel"].pop("times"))
    kept = ("chips", "tree", "panel", "pass")
    assert [frame.get(name) for name in kept] == [before.get(name) for name in kept]
    assert said(frame).startswith(f"{numbers['tokens']} tokens in {numbers['target_passes']} ")
    if numbers["acceptance_rate"] is not None:
        assert f"{numbers['acceptance_rate']:.0%}" in said(frame)
    assert (VERDICT if rough else f"{numbers['speedup']:.2f} × ") in said(frame)
    scored = sum(played.scored.seconds for played in trace.rounds if played.scored)
    for seconds in (numbers["draft_seconds"], scored):
        assert f" ({seconds / numbers['total_seconds']:.0%})" in times
    cost = re.search(r"as long as ([0-9.]+) plain passes and added ([0-9.]+) tokens", times)
    assert (cost is None) == bool(rough)
    if cost:
        assert float(cost[2]) / float(cost[1]) == pytest.approx(numbers["speedup"], rel=0.02)


def test_end_card_says_whether_plain_decoding_is_still_measured():
    trace = read(RUNS[0])
    assert said(end_of(trace, "finished")[0]).endswith("Plain decoding is measured next.")
    events = [event for event in trace.events if not isinstance(event, Baseline)]
    events = [replace(e, reason="stopped") if isinstance(e, Finished) else e for e in events]
    stopped = Trace(trace.header, events)
    assert said(end_of(stopped, "finished")[0]).endswith("Plain decoding was not measured.")


def test_end_says_if_something_other_than_memory_limits_a_plain_pass():
    """Measured: a pass of 2 ms. The weights are read in 0.5 ms, or in 1.5 ms, which limits it."""
    trace = read(RUNS[0])
    assert "other than memory" not in said(end_of(trace)[0]), "its machine was not measured"
    steady = replace(trace.baseline, seconds=[2e-3] * len(trace.baseline.seconds))
    events = [steady if isinstance(event, Baseline) else event for event in trace.events]
    for weights, found in ((25_000_000, True), (75_000_000, False)):
        header = replace(trace.header, weight_bytes=weights, memory_speed=5e10)
        frame, _ = end_of(Trace(header, events))
        details, simple = (
            "".join(part if isinstance(part, str) else part["t"] for part in parts)
            for parts in (frame["panel"]["times"], frame["caption"]["simple"])
        )
        for sentence in (details, simple):
            assert ("a plain pass took 2.0 ms" in sentence) == found
            assert ("reads its 25 MB of weights in 0.5 ms" in sentence) == found
