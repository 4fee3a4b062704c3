"""Traces: files round-trip; a damaged or hostile file gives one sentence that names the line."""

from __future__ import annotations

import copy
import json
import random

import pytest
import tiny
from forging import events, first, forged, header, lines_of, recorded, traced

from specviz.commands.cli import main
from specviz.drafters.ngram import NGram
from specviz.engine.decode import run
from specviz.settings.settings import Sampling, Settings
from specviz.settings.specs import MAX_GUESSES
from specviz.trace import codec, metrics
from specviz.trace.check import CheckFailed, check, describe_losslessness
from specviz.trace.events import Baseline, Unknown, Vocabulary
from specviz.trace.file import Trace, TraceError


@pytest.fixture(scope="module")
def trace(tiny_target, tiny_draft):
    """Return a sampled run of the tiny pair."""
    return traced(tiny_target, tiny_draft, Settings(Sampling(1.1), max_new_tokens=20, gamma=3))


@pytest.mark.slow
def test_trace_round_trips_through_a_file(trace, tmp_path):
    trace.write(tmp_path / "run.jsonl")
    again = Trace.read(tmp_path / "run.jsonl")
    assert again == trace
    check(again)
    first = json.loads(next(trace.lines()))
    assert (first["format"], first["version"]) == ("specviz-trace", 1)


def test_unknown_events_and_entries_are_preserved(tmp_path):
    lines = [json.dumps(line, separators=(",", ":")) for line in copy.deepcopy(recorded("02"))]
    lines.insert(4, '{"event":"applauded","loudness":[1,2,{"deep":null}]}')
    drafted = next(at for at, line in enumerate(lines) if '"proposed"' in line)
    data = json.loads(lines[drafted])
    data["remark"]["mood"] = {"good": [1, 2.5]}
    lines[drafted] = json.dumps(data, separators=(",", ":"))
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    trace = Trace.read(tmp_path / "run.jsonl")
    assert isinstance(trace.events[3], Unknown)
    assert list(map(json.loads, trace.lines())) == list(map(json.loads, lines))
    check(trace)


def test_trace_without_row_counts_of_the_drafter_passes_check(trace):
    lines = [json.loads(line) for line in trace.lines()]
    drafts = [line for line in lines if line.get("event") == "proposed"]
    assert all(line["work"]["body"] >= line["work"]["head"] > 0 for line in drafts[:-1])
    for line in drafts:
        del line["work"]
    old = Trace.parse(map(json.dumps, lines))
    assert {turn.proposed.work for turn in old.rounds[1:]} == {None}
    check(old)


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


# Damaged files


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
        ("proposed", lambda d: d.update(drawn="by lot")),
        ("proposed", lambda d: d.update(work=3)),
        ("proposed", lambda d: d.update(work={"body": 1})),
        ("proposed", lambda d: d.update(work={"body": 1, "head": 0.5, "entry": 0})),
        ("committed", lambda d: d.update(surprise=1)),
    ]:
        number = find(lines, event)
        data = json.loads(lines[number - 1])
        change(data)
        with pytest.raises(TraceError) as broken:
            Trace.parse([*lines[: number - 1], json.dumps(data), *lines[number:]])
        assert f"Line {number}: This '{event}' event is invalid" in str(broken.value)
        assert broken.value.line == number


def test_file_that_is_not_a_trace_is_refused(tmp_path):
    for text in (
        "",
        "hello",
        "[]",
        '{"format": "other", "version": 1}',
        '{"format": "specviz-trace", "version": 99}',
        '{"event": "scored"}',
    ):
        (tmp_path / "x").write_text(text)
        with pytest.raises(TraceError, match="Line 1"):
            Trace.read(tmp_path / "x")
    (tmp_path / "x").write_bytes(b"\n\xff\xfe\x00")
    with pytest.raises(TraceError, match="Line 2: This is not UTF-8"):
        Trace.read(tmp_path / "x")


def test_truncated_trace_and_second_header_are_refused(trace):
    lines = list(trace.lines())
    with pytest.raises(TraceError, match="Line 10: This is not complete JSON"):
        Trace.parse([*lines[:9], lines[9][:-20]])
    with pytest.raises(TraceError, match="second header"):
        Trace.parse([*lines, lines[0]])
    ended = find(lines, "finished")
    with pytest.raises(CheckFailed, match=f"Line {ended - 1}: the file ends before the run does"):
        check(Trace.parse(lines[: ended - 1]))


# Hostile files


DEEP = "[" * 990 + "]" * 990
MANY = "9" * 5000
HOSTILE = [  # a kind of event, or another place; a text in it, its replacement; the message
    ("scored", '"rows_in_pass": 5', '"p": [0.5], "rows_in_pass": 5', "the key 'p' occurs twice"),
    ("header", "{", '{"lossless": false, ', "the key 'lossless' occurs twice"),
    ("proposed", '"token": ', '"token": 5, "token": ', "the key 'token' occurs twice"),
    ("scored", '"seconds": 0', '"seconds": NaN, "was": 0', "NaN is not a number"),
    ("scored", '"seconds": 0', '"seconds": -Infinity, "was": 0', "-Infinity is not a number"),
    ("proposed", '"score": 0', '"score": 1e999, "was": 0', "the number 1e999 is too large"),
    ("scored", '"seconds": ', f'"seconds": {MANY[:400]}, "was": ', "whole number has 400 digits"),
    ("judged", '"node": ', f'"node": {MANY}, "was": ', "a whole number has 5,000 digits"),
    ("proposed", '"remark": ', f'"remark": {DEEP}, "was": ', "is nested deeper than 64 levels"),
    ("header", '"seed": ', f'"seed": {DEEP}, "was": ', "it is nested deeper than 64 levels"),
    ("end", "", "[" * 100_000 + "]" * 100_000, "it is nested deeper than 64 levels"),
    ("end", "", f'{{"event": "later", "deep": {DEEP}}}', "it is nested deeper than 64 levels"),
    ("vocabulary", '{"', '{"x": "\\ud800", "', "half a character|vocabulary"),
    ("header", '"prompt": "', '"prompt": "\\ud83e', "half a character"),
    ("header", '"version": 1', '"version": [1]', "version \\[1\\]"),
    ("header", '"version": 1', '"version": true', "version True"),
    ("header", '"version": 1', '"version": 1.0', r"version 1\.0"),
    ("settings", "", {"sampling": 5}, "cannot be read"),
    ("settings", "", {"gamma": [1]}, "must be a whole number"),
]


def hostile(place, old, new):
    """Return a shipped trace's lines after a change of the text at a place."""
    lines = [*lines_of("06a")]
    if place == "end":
        return [*lines, new]
    if place == "settings":
        return forged(lines, header(settings=new))[:1]
    at = 0 if place == "header" else recorded("06a").index(first(recorded("06a"), place))
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new, 1)
    return lines


def checked(path, lines, capsys):
    """Write a file; return the exit status and the output of `check`, at most one sentence."""
    path.write_bytes(lines if isinstance(lines, bytes) else "\n".join(lines).encode())
    status = main(["check", str(path)])
    out, err = capsys.readouterr()
    assert status in (0, 1)
    assert (err.count("\n"), bool(out)) == ((1, False) if status else (0, True))
    return status, out


@pytest.mark.parametrize(("place", "old", "new", "says"), HOSTILE, ids=[row[-1] for row in HOSTILE])
def test_check_of_a_hostile_file_prints_one_sentence(place, old, new, says, tmp_path, capsys):
    status, _ = checked(tmp_path / "run.jsonl", hostile(place, old, new), capsys)
    assert status == 1
    with pytest.raises((TraceError, ValueError), match=says):
        check(Trace.read(tmp_path / "run.jsonl"))


def test_length_of_lines_and_files_and_number_of_events_are_limited(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    path.write_text(lines_of("06a")[0] + "\n" + "[" * (codec.LINE_BYTES + 2))
    with pytest.raises(TraceError, match=r"Line 2: The line is longer than 16 MB\."):
        Trace.read(path)
    assert codec.EVENTS >= 4096 * MAX_GUESSES, "the longest permitted run must be readable"
    monkeypatch.setattr("specviz.trace.file.EVENTS", 1000)
    later = '{"event":"later","text":"' + 2000 * "x" + '"}'
    path.write_text("\n".join([lines_of("06a")[0], *[later] * 1001]))
    with pytest.raises(TraceError, match=r"Line 1002: A trace has at most 1,000 lines"):
        Trace.read(path)
    path.write_text("\n".join([lines_of("06a")[0], *[later] * 1000]))
    assert len(Trace.read(path).events) == 1000
    monkeypatch.setattr(codec, "FILE_BYTES", 2**20)
    with pytest.raises(TraceError, match="The file is longer than 1 MB"):
        Trace.read(path)


def test_check_detects_invalid_token_bytes_in_an_unsaved_trace():
    trace = Trace.parse(lines_of("06a"))
    with pytest.raises(CheckFailed, match="the bytes of token 7 are not latin-1"):
        check(Trace(trace.header, [*trace.events, Vocabulary({"7": "“"})]))


def forced(lines):
    """Force random numbers to their own values, so that everything else stays valid."""
    for node, guess in enumerate(events(lines, "proposed")[0]["guesses"][:3], 1):
        lines[0]["settings"]["coins"][f"1 judge {node}"] = guess["u"]


def test_check_says_that_a_run_with_forced_u_is_not_a_sample(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    status, out = checked(path, forged(lines_of("06a"), forced), capsys)
    assert status == 0
    assert "3 coins were set by hand, so the text is not a sample." in out
    assert "lossless" not in out
    assert "The rule 'speculative' is lossless." in checked(path, lines_of("06a"), capsys)[1]
    one = forged(lines_of("06a"), lambda d: d[0]["settings"]["coins"].update({"90 judge 1": 0.5}))
    said = describe_losslessness(Trace.parse(one))
    assert said == "1 coin was set by hand, so the text is not a sample."


# Whatever is changed


VALUES = (
    None, True, False, 0, -1, 1, 2, 10**18, -(10**39), 0.5, -0.5, 1e308, -1e308, 1e-320, "", "x",
    "\ud800", "🦊", [], {}, [[]], [0], {"0": 1}, [None], "9" * 300,
)  # fmt: skip


def leaves(value, path=()):
    """Yield the paths of all values inside a value."""
    yield path
    inside = value if isinstance(value, dict) else {}
    if isinstance(value, list):
        inside = dict(enumerate(value))
    for key, each in inside.items():
        yield from leaves(each, (*path, key))


def mutated(dice, lines):
    """Return the lines after one random change: a value, a key, a line, or their order."""
    at = dice.randrange(len(lines))
    path = dice.choice(list(leaves(lines[at])))
    line = copy.deepcopy(lines[at])
    if path:
        inside = line
        for key in path[:-1]:
            inside = inside[key]
        how = dice.randrange(4)
        if how == 0 and isinstance(inside, dict):
            del inside[path[-1]]
        elif how == 1 and isinstance(inside, list):
            inside.insert(dice.randrange(len(inside) + 1), dice.choice(VALUES))
        else:
            inside[path[-1]] = dice.choice(VALUES)
        return [*lines[:at], line, *lines[at + 1 :]]
    shuffled = list(lines)
    other = dice.randrange(len(lines))
    shuffled[at], shuffled[other] = shuffled[other], shuffled[at]
    return shuffled if dice.random() < 0.5 else [*lines[:at], *lines[at + 1 :]]


def mutated_bytes(dice, whole):
    """Return the file after one to three random changes of bytes, perhaps cut short."""
    data = bytearray(whole)
    for _ in range(dice.randrange(1, 4)):
        at = dice.randrange(len(data))
        data[at : at + dice.randrange(3)] = dice.randbytes(dice.randrange(3))
    return bytes(data[: dice.choice([len(data), dice.randrange(len(data))])])


KINDS = ["06a", "02", "03", "05", "09", "11b", "12", "22", "27", "30", "31"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, 8) for name in ("06a", "03", "22", "27")),
        *(pytest.param(name, 40, marks=pytest.mark.nightly) for name in KINDS),
    ],
)
def test_no_change_of_a_trace_causes_a_traceback(name, changes, tmp_path, capsys):
    dice, whole = random.Random(name), "\n".join(lines_of(name)).encode()
    for _ in range(changes):
        lines = mutated(dice, list(recorded(name)))
        if dice.random() < 0.3:
            lines = mutated(dice, lines)
        checked(tmp_path / "run.jsonl", list(map(json.dumps, lines)), capsys)
        checked(tmp_path / "run.jsonl", mutated_bytes(dice, whole), capsys)


def test_spread_of_a_baseline_with_one_pass_is_unknown():
    assert metrics.plain_spread(Baseline([5], [0.1], None, None)) is None
