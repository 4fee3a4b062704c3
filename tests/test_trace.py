"""Traces: files round-trip, and errors name the damaged line."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
import tiny
from fakes import Branching

from specviz.drafters.ngram import NGram
from specviz.engine.decode import run
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.events import Committed, Unknown
from specviz.trace.file import Trace, TraceError
from specviz.verification import Drawn


@pytest.fixture(scope="module")
def trace(tiny_target, tiny_draft):
    """Return a sampled run of the tiny pair."""
    settings = Settings(Sampling(1.1), max_new_tokens=20, gamma=3)
    header, *events = run(tiny_target, tiny_draft, tiny.PROMPT, settings)
    return Trace(header, events)


@pytest.mark.slow
def test_trace_round_trips_through_a_file(trace, tmp_path):
    trace.write(tmp_path / "run.jsonl")
    again = Trace.read(tmp_path / "run.jsonl")
    assert again == trace
    check(again)


def test_first_line_of_a_trace_names_its_format(trace):
    first = json.loads(next(trace.lines()))
    assert first["format"] == "specviz-trace"
    assert first["version"] == 1


def test_unknown_events_survive_a_round_trip(trace):
    lines = list(trace.lines())
    later = '{"event":"applauded","loudness":[1,2,{"deep":null}]}'
    lines.insert(3, later)
    read = Trace.parse(lines)
    assert isinstance(read.events[2], Unknown)
    assert list(read.lines()) == lines
    check(read)


def test_trace_without_row_counts_of_the_drafter_passes_check(trace):
    lines = [json.loads(line) for line in trace.lines()]
    drafts = [line for line in lines if line.get("event") == "proposed"]
    assert all(line["work"]["body"] >= line["work"]["head"] > 0 for line in drafts[:-1])
    for line in drafts:
        del line["work"]
    old = Trace.parse(map(json.dumps, lines))
    assert {turn.proposed.work for turn in old.rounds[1:]} == {None}
    check(old)


@pytest.mark.parametrize("work", [3, {"body": 1}, {"body": 1, "head": 0.5, "entry": 0}])
def test_invalid_row_counts_of_a_drafter_are_refused(trace, work):
    lines = list(trace.lines())
    at = next(i for i, line in enumerate(lines) if '"event":"proposed"' in line)
    lines[at] = json.dumps(json.loads(lines[at]) | {"work": work})
    with pytest.raises(TraceError, match=f"Line {at + 1}: This 'proposed' event is invalid"):
        Trace.parse(lines)


def test_trace_has_the_bytes_of_every_token_of_the_text(trace, tiny_target):
    words = trace.vocabulary
    text = b"".join(words[t] for t in trace.header.prompt_ids)
    assert text.decode() == tiny.PROMPT
    for played in trace.rounds:
        for token in played.committed.tokens:
            assert words[token] == tiny_target.token_bytes(token)


def test_token_bytes_that_are_not_utf_8_survive_a_round_trip(tiny_target):
    header, *events = run(tiny_target, NGram(), "🦊 🦊", Settings(Sampling(0.0), max_new_tokens=4))
    read = Trace.parse(Trace(header, events).lines())
    words = read.vocabulary
    assert b"".join(words[t] for t in read.header.prompt_ids).decode() == "🦊 🦊"
    assert any(0xF0 in word and len(word) < 4 for word in words.values())


def damage(lines, number, change):
    """Return the file with `change` applied to the JSON object on a line."""
    data = json.loads(lines[number - 1])
    change(data)
    return [*lines[: number - 1], json.dumps(data), *lines[number:]]


def find(lines, event):
    """Return the number of the first line with this event, after the prefill if possible."""
    found = [n for n, line in enumerate(lines, 1) if f'"event":"{event}"' in line]
    return next((n for n in found if '"round":1,' in lines[n - 1]), found[0])


def test_error_gives_the_number_of_the_damaged_line(trace):
    lines = list(trace.lines())
    for event, change in [
        ("scored", lambda d: d.pop("p")),
        ("scored", lambda d: d.update(seconds="soon")),
        ("judged", lambda d: d.update(node=True)),
        ("judged", lambda d: d["rows"].update(p=3)),
        ("proposed", lambda d: d.update(guesses=[7])),
        ("committed", lambda d: d.update(surprise=1)),
        ("proposed", lambda d: d.update(drawn="by lot")),
    ]:
        number = find(lines, event)
        with pytest.raises(
            TraceError, match=f"Line {number}: This '{event}' event is invalid"
        ) as broken:
            Trace.parse(damage(lines, number, change))
        assert broken.value.line == number


def test_file_that_is_not_a_trace_is_refused(tmp_path):
    for text, line in [
        ("", 1),
        ("hello", 1),
        ("[]", 1),
        ('{"format": "other", "version": 1}', 1),
        ('{"format": "specviz-trace", "version": 99}', 1),
        ('{"event": "scored"}', 1),
    ]:
        (tmp_path / "x").write_text(text)
        with pytest.raises(TraceError, match=f"Line {line}"):
            Trace.read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\n\xff\xfe\x00")
    with pytest.raises(TraceError, match="Line 2: This is not UTF-8"):
        Trace.read(tmp_path / "x")


def test_truncated_trace_is_refused(trace):
    lines = list(trace.lines())
    cut = [*lines[:9], lines[9][:-20]]
    with pytest.raises(TraceError, match="Line 10: This is not complete JSON"):
        Trace.parse(cut)
    ended = find(lines, "finished")
    with pytest.raises(CheckFailed, match=f"Line {ended - 1}: the file ends before the run does"):
        check(Trace.parse(lines[: ended - 1]))


def test_nan_in_a_trace_is_refused(trace):
    lines = list(trace.lines())
    number = find(lines, "scored")
    with pytest.raises(TraceError, match=f"Line {number}"):
        Trace.parse(damage(lines, number, lambda d: d.update(seconds=float("nan"))))


def test_second_header_is_refused(trace):
    lines = list(trace.lines())
    with pytest.raises(TraceError, match="second header"):
        Trace.parse([*lines, lines[0]])


def swap_first_two(event):
    """Swap two probabilities: the total stays, so only recomputation shows it."""
    p = event["p"]
    p[0], p[1] = p[0] + p[1] * 0.5, p[1] * 0.5
    p[1:], event["rest_p"] = sorted(p[1:], reverse=True), event["rest_p"]


TAMPERED = {
    "coin": ("proposed", lambda d: d["guesses"][0].update(u=0.123)),
    "draw of a guess": ("proposed", lambda d: d["guesses"][0]["drawn"].update(lo=0.99, hi=1.0)),
    "q of a guess": ("proposed", lambda d: d["guesses"][0].update(q=0.5)),
    "root": ("proposed", lambda d: d.update(root=1)),
    "score": ("scored", lambda d: d["p"].__setitem__(0, 0.987)),
    "threshold": ("judged", lambda d: d.update(threshold=0.5)),
    "judged coin": ("judged", lambda d: d.update(u=0.5)),
    "p of a verdict": ("judged", lambda d: d["inputs"].update(p=0.5, q=0.5)),
    "a row of p": ("judged", lambda d: d["rows"]["p"].__setitem__(0, 0.5)),
    "a row of q": ("judged", lambda d: d["rows"]["q"].__setitem__(1, 0.5)),
    "rest of p": ("judged", lambda d: d["rows"].update(rest_p=0.5)),
    "overlap": ("judged", lambda d: d["rows"].update(overlap=0.01)),
    "residual": ("judged", lambda d: d["rows"].update(residual=0.01)),
    "alpha": ("judged", lambda d: d.update(alpha=0.01)),
    "order of nodes": ("judged", lambda d: d.update(node=2)),
    "last draw": ("drew", lambda d: d["drawn"].update(u=0.001)),
    "last interval": ("drew", lambda d: d["drawn"].update(lo=0.0, hi=1.0)),
    "last law": ("drew", swap_first_two),
    "kind": ("drew", lambda d: d.update(kind="plain")),
    "law": ("drew", lambda d: d["p"].__setitem__(0, 0.9999)),
    "tokens": ("committed", lambda d: d["tokens"].append(3)),
    "round number": ("committed", lambda d: d.update(round=7)),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_check_detects_each_kind_of_tampering(trace, what):
    lines = list(trace.lines())
    event, change = TAMPERED[what]
    with pytest.raises(CheckFailed):
        check(Trace.parse(damage(lines, find(lines, event), change)))


def test_check_detects_extra_accepted_tokens(trace):
    """Move a rejected token into the text, the obvious forgery."""
    at, played = next(
        (i, r) for i, r in enumerate(trace.rounds) if r.judged and not r.judged[-1].accepted
    )
    more = replace(played.committed, tokens=[*played.committed.tokens, 5])
    events = [more if isinstance(e, Committed) and e.round == at else e for e in trace.events]
    with pytest.raises(CheckFailed, match=f"Round {at}: the committed tokens"):
        check(Trace(trace.header, events))


def test_check_detects_a_run_beyond_its_token_limit(trace):
    header = replace(trace.header, settings={**trace.header.settings, "max_new_tokens": 5})
    with pytest.raises(CheckFailed, match="more tokens than the limit"):
        check(Trace(header, trace.events))


@pytest.mark.slow
@pytest.mark.parametrize("drawn", list(Drawn))
def test_check_derives_p_of_a_later_sibling_from_the_rejection_before(tiny_target, drawn):
    settings = Settings(Sampling(1.2), max_new_tokens=40)
    header, *events = run(tiny_target, Branching(drawn), tiny.PROMPT, settings, baseline=False)
    trace = Trace(header, events)
    check(trace)
    rejected = next(
        (before, after)
        for r in trace.rounds
        for before, after in pairwise(r.judged)
        if not before.accepted and after.accepted  # otherwise the last distribution would reveal it
    )[1]
    judged = next(r for r in trace.rounds if r.number == rejected.round).proposed.guesses
    one, other = [
        i
        for i, token in enumerate(rejected.rows.tokens)
        if token != judged[rejected.node - 1].token and rejected.rows.p[i] > 0
    ][:2]
    p = [*rejected.rows.p]
    p[one], p[other] = p[one] - p[other] * 0.5, p[other] * 1.5
    forged = replace(rejected, rows=replace(rejected.rows, p=p))
    with pytest.raises(CheckFailed):
        check(Trace(header, [forged if e is rejected else e for e in events]))


@pytest.mark.slow
def test_check_detects_a_round_that_stops_judging_early(tiny_target):
    """Omit a judged candidate at temperature 0, with everything else consistent."""
    settings = Settings(Sampling(0.0), max_new_tokens=40, gamma=4)
    drafter = tiny.draft(tiny.blurred(tiny.llama(), noise=0.05))
    header, *events = run(tiny_target, drafter, tiny.PROMPT, settings)
    played = _late_rejection(Trace(header, events))
    dropped = played.judged[-1]
    bonus = replace(played.drew, kind="bonus", at_p=None, at_q=None)
    kept = [e for e in events if e is not dropped]
    forged = Trace(header, [bonus if e is played.drew else e for e in kept])
    with pytest.raises(CheckFailed, match="not judged"):
        check(forged)


def _late_rejection(trace):
    """Return a round that accepted a guess and then rejected one."""
    rounds = (r for r in trace.rounds if len(r.judged) > 1 and not r.judged[-1].accepted)
    return next(rounds, None)
