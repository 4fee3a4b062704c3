"""The last step of a run: a summary with counts from the trace and the speed-up."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from specviz.frames.frame import apply_patch
from specviz.shipped import ASSETS
from specviz.trace import metrics
from specviz.trace.events import Baseline, Finished
from specviz.trace.file import Trace
from specviz.trace.metrics import VERDICT, explain_noise
from specviz.ui.step.lines import RunLines

pytestmark = pytest.mark.slow

TRACES = sorted((ASSETS / "traces").glob("*.jsonl"))


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


def told(trace):
    run = Latest(trace)
    return [json.loads(text) for event in trace.events for text in run.lines(event)]


def end_of(trace, kind="baseline"):
    """Return the frame of the last step as the player has it after the line of this kind."""
    all_lines = told(trace)
    last = [one for one in all_lines if one["kind"] == "round"][-1]
    (ended,) = [one for one in all_lines if one["kind"] == kind]
    return apply_patch(last["first"], ended["end"]), apply_patch(last["first"], last["then"][-1])


def said(frame):
    parts = frame["caption"]["parts"]
    return "".join(part if isinstance(part, str) else part["t"] for part in parts)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_end_card_adds_the_totals_and_leaves_the_rest_of_the_frame_unchanged(path):
    trace = Trace.read(path)
    numbers = metrics.summary(trace)
    frame, before = end_of(trace)
    assert frame["step"]["kind"] == "end"
    assert "times" in frame["panel"]
    del frame["panel"]["times"]
    kept = ("chips", "tree", "panel", "pass")
    assert [frame.get(name) for name in kept] == [before.get(name) for name in kept]
    tokens, passes = numbers["tokens"], numbers["target_passes"]
    assert said(frame).startswith(f"{tokens} tokens in {passes} target passes instead of {tokens}:")
    if numbers["acceptance_rate"] is not None:
        assert f"{numbers['acceptance_rate']:.0%} of the judged guesses" in said(frame)
    rough = explain_noise(trace, trace.baseline)
    assert (
        VERDICT if rough else f"{numbers['speedup']:.2f} × the speed of plain decoding"
    ) in said(frame)


def test_end_card_says_that_plain_decoding_is_measured_next():
    trace = Trace.read(TRACES[0])
    assert said(end_of(trace, "finished")[0]).endswith("Plain decoding is measured next.")


def test_end_card_of_a_stopped_run_says_that_plain_decoding_was_not_measured():
    trace = Trace.read(TRACES[0])
    events = [event for event in trace.events if not isinstance(event, Baseline)]
    events = [replace(e, reason="stopped") if isinstance(e, Finished) else e for e in events]
    stopped = Trace(trace.header, events)
    assert said(end_of(stopped, "finished")[0]).endswith("Plain decoding was not measured.")


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_end_card_says_how_the_time_was_spent(path):
    trace = Trace.read(path)
    numbers = metrics.summary(trace)
    frame, _ = end_of(trace)
    times = "".join(frame["panel"]["times"])
    drafting = numbers["draft_seconds"] / numbers["total_seconds"]
    assert f"drafting ({drafting:.0%})" in times
    scored = sum(played.scored.seconds for played in trace.rounds if played.scored)
    assert f"target passes ({scored / numbers['total_seconds']:.0%})" in times
    cost = re.search(r"as long as ([0-9.]+) plain passes and added ([0-9.]+) tokens", times)
    assert (cost is None) == bool(explain_noise(trace, trace.baseline))
    if cost:
        speedup = float(cost[2]) / float(cost[1])
        assert speedup == pytest.approx(numbers["speedup"], rel=0.02)
