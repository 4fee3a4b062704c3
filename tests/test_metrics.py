"""The numbers of a run, for a trace small enough to count by hand."""

from dataclasses import replace

import pytest
import tiny

from specviz.engine.decode import run
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Baseline, Committed, Proposed, Scored
from specviz.trace.file import Trace
from specviz.trace.metrics import (
    accepted_tokens,
    baseline_difference,
    near_tie,
    report,
    summary,
    token_ids,
)


@pytest.fixture(scope="module")
def trace(tiny_target, tiny_draft):
    """Return a greedy run of the tiny pair."""
    settings = Settings(Sampling(0.0), max_new_tokens=20, gamma=3)
    header, *events = run(tiny_target, tiny_draft, tiny.PROMPT, settings)
    return Trace(header, events)


@pytest.mark.slow
def test_numbers_of_each_round_add_up_to_those_of_the_run(trace):
    numbers, rounds = summary(trace), report(trace)["rounds"]
    drafted = sum(len(r["accepted"]) for r in rounds)
    assert rounds[0] == {"drafted": [], "accepted": [], "emitted": token_ids(trace)[:1]}
    assert numbers["tokens"] == sum(len(r["emitted"]) for r in rounds) == 20
    assert numbers["target_passes"] == len(rounds)
    assert numbers["accepted_length"] == drafted / len(rounds)
    assert numbers["tokens_per_pass"] == 20 / len(rounds)
    judged = [e for r in trace.rounds for e in r.judged]
    assert numbers["acceptance_rate"] == drafted / len(judged)
    hits = sum(e.accepted for e in judged) / len(judged)
    assert numbers["alpha"] == pytest.approx(hits), "of a greedy chain"
    for played, row in zip(trace.rounds, rounds, strict=True):
        assert row["emitted"][: len(row["accepted"])] == row["accepted"] == accepted_tokens(played)
        assert row["accepted"] == row["drafted"][: len(row["accepted"])]


def test_times_add_up_and_speedup_compares_seconds_per_token(trace):
    def timed(event):
        if isinstance(event, Proposed):
            return replace(event, seconds=1.0)
        if isinstance(event, Scored):
            return replace(event, seconds=3.0)
        if isinstance(event, Committed):
            return replace(event, judge_seconds=0.5, commit_seconds=0.25)
        if isinstance(event, Baseline):
            return replace(event, token_ids=event.token_ids[:10], seconds=[4.0] * 10)
        return event

    slow = Trace(trace.header, [timed(event) for event in trace.events])
    passes, numbers = len(slow.rounds), summary(slow)
    assert numbers["draft_seconds"] == passes - 1
    assert numbers["verify_seconds"] == 3.5 * passes
    assert numbers["total_seconds"] == 4.75 * passes - 1
    assert numbers["baseline_seconds"] == 40.0
    assert numbers["speedup"] == pytest.approx(4.0 / ((4.75 * passes - 1) / 20))


def test_unmeasured_values_are_none(trace):
    bare = Trace(trace.header, [e for e in trace.events if not isinstance(e, Baseline)])
    assert summary(bare)["speedup"] is None
    assert summary(bare)["baseline_seconds"] is None
    empty = Trace(trace.header)
    assert summary(empty)["tokens_per_pass"] is None
    assert report(empty)["text"] == ""


def changed(trace, **changes):
    """Return the trace with another baseline."""
    plain = replace(trace.baseline, **changes)
    return Trace(trace.header, [plain if isinstance(e, Baseline) else e for e in trace.events])


def test_first_difference_from_plain_decoding_has_a_logit_margin(trace):
    assert baseline_difference(trace) is None
    plain = trace.baseline
    other = [*plain.token_ids]
    other[7] += 1
    found = baseline_difference(changed(trace, token_ids=other))
    assert (found.position, found.margin) == (7, plain.margins[7])
    assert not found.near_tie
    tied = [1e-4] * len(plain.margins)
    assert baseline_difference(changed(trace, token_ids=other, margins=tied)).near_tie


def test_text_that_ends_earlier_differs_at_its_end(trace):
    plain = trace.baseline
    short = changed(trace, token_ids=plain.token_ids[:5], margins=plain.margins[:5], tops=None)
    assert baseline_difference(short).position == 5
    assert not baseline_difference(short).near_tie
    long = changed(trace, token_ids=[*plain.token_ids, 1], margins=[*plain.margins, 9.0], tops=None)
    assert baseline_difference(long).position == len(plain.token_ids)


def test_near_tie_depends_on_the_precision_and_the_size_of_the_logit():
    for dtype, top, apart in (
        ("float32", 12.0, 0.001),
        ("float64", None, 0.001),
        ("bfloat16", 12.0, 0.1875),  # three times 0.0625
        ("bfloat16", -40.0, 0.625),
        ("bfloat16", None, 0.25),
        ("bfloat16", 0.01, 0.001),  # a small sum of large terms is rounded, too
        ("float16", 12.0, 0.0234375),
        ("float16", None, 0.03125),
    ):
        assert near_tie(0.999 * apart, dtype, top), (dtype, top)
        assert not near_tie(apart, dtype, top), (dtype, top)


def test_difference_is_a_near_tie_according_to_precision_and_top_logit(trace):
    plain = trace.baseline
    other = [*plain.token_ids]
    other[7] += 1
    assert len(plain.tops) == len(plain.token_ids)
    margins = [9.0] * len(other)
    margins[7] = 0.3
    tops = [1.0] * len(other)
    tops[7] = 20.0
    found = changed(trace, token_ids=other, margins=margins, tops=tops)
    assert not baseline_difference(found).near_tie
    coarse = Trace(replace(found.header, dtype="bfloat16"), found.events)
    assert baseline_difference(coarse).near_tie
    assert not baseline_difference(changed(coarse, tops=None)).near_tie
