"""Hostile files: `check` always ends with one sentence and an exit status."""

from __future__ import annotations

import copy
import json
import random

import pytest
from forging import events, first, forged, recorded

from specviz.commands.cli import main
from specviz.settings.specs import MAX_GUESSES
from specviz.trace import codec
from specviz.trace.check import CheckFailed, check, describe_losslessness
from specviz.trace.events import Vocabulary
from specviz.trace.file import Trace, TraceError

NAMES = ("06a", "02", "03", "05", "09", "11b", "12", "22", "27", "30", "31")
DEEP = 990


def checked(path, capsys):
    """Return the exit status and the output of `check`."""
    status = main(["check", str(path)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def lines_of(name):
    """Return a shipped trace's lines."""
    return list(map(json.dumps, recorded(name)))


def spliced(name, event, old, new):
    """Return a shipped trace with a piece of text of the first event of a kind replaced."""
    lines = lines_of(name)
    line = first(recorded(name), event)
    at = recorded(name).index(line)
    assert old in lines[at]
    lines[at] = lines[at].replace(old, new, 1)
    return lines


def nested(levels):
    return "[" * levels + "]" * levels


HOSTILE = {
    "a key twice": (
        lambda: spliced("06a", "scored", '"rows_in_pass": 5', '"rows_in_pass": 5, "p": [0.5]'),
        "the key 'p' occurs twice",
    ),
    "a key twice in the header": (
        lambda: ['{"lossless": false, ' + lines_of("06a")[0][1:], *lines_of("06a")[1:]],
        "the key 'lossless' occurs twice",
    ),
    "a key twice, deep inside": (
        lambda: spliced("06a", "proposed", '"token": ', '"token": 5, "token": '),
        "the key 'token' occurs twice",
    ),
    "not a number": (
        lambda: spliced("06a", "scored", '"seconds": 0', '"seconds": NaN, "was": 0'),
        "NaN is not a number",
    ),
    "infinity": (
        lambda: spliced("06a", "scored", '"seconds": 0', '"seconds": -Infinity, "was": 0'),
        "-Infinity is not a number",
    ),
    "infinity as an exponent": (
        lambda: spliced("06a", "proposed", '"score": 0', '"score": 1e999, "was": 0'),
        "the number 1e999 is too large",
    ),
    "seconds of 400 digits": (
        lambda: spliced("06a", "scored", '"seconds": ', f'"seconds": {"9" * 400}, "was": '),
        "a whole number has 400 digits",
    ),
    "a node of 5,000 digits": (
        lambda: spliced("06a", "judged", '"node": ', f'"node": {"9" * 5000}, "was": '),
        "a whole number has 5,000 digits",
    ),
    "990 levels of evidence": (
        lambda: spliced("02", "proposed", '"remark": ', f'"remark": {nested(DEEP)}, "was": '),
        "it is nested deeper than 64 levels",
    ),
    "990 levels of a setting": (
        lambda: [
            lines_of("06a")[0].replace('"seed": ', f'"seed": {nested(DEEP)}, "was": '),
            *lines_of("06a")[1:],
        ],
        "it is nested deeper than 64 levels",
    ),
    "100,000 levels": (
        lambda: [*lines_of("06a"), nested(100_000)],
        "it is nested deeper than 64 levels",
    ),
    "990 levels of a later event": (
        lambda: [*lines_of("06a"), f'{{"event": "later", "deep": {nested(DEEP)}}}'],
        "it is nested deeper than 64 levels",
    ),
    "half a character": (
        lambda: spliced("06a", "vocabulary", '{"', '{"x": "\\ud800", "'),
        "half a character|vocabulary",
    ),
    "half a character in the prompt": (
        lambda: [
            lines_of("06a")[0].replace('"prompt": "', '"prompt": "\\ud83e', 1),
            *lines_of("06a")[1:],
        ],
        "half a character",
    ),
    "a version of its own": (
        lambda: [
            lines_of("06a")[0].replace('"version": 1', '"version": [1]'),
            *lines_of("06a")[1:],
        ],
        "version \\[1\\]",
    ),
    "no settings": (
        lambda: [json.dumps({**recorded("06a")[0], "settings": {"sampling": 5}})],
        "cannot be read",
    ),
    "settings of a wrong kind": (
        lambda: [json.dumps({**recorded("06a")[0], "settings": {"gamma": [1]}})],
        "must be a whole number",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_check_of_a_hostile_file_prints_one_sentence(name, tmp_path, capsys):
    lines, says = HOSTILE[name]
    (tmp_path / "run.jsonl").write_text("\n".join(lines()), encoding="utf-8")
    status, out, err = checked(tmp_path / "run.jsonl", capsys)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
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


def test_unknown_events_and_entries_are_preserved(tmp_path):
    lines = [json.dumps(line, separators=(",", ":")) for line in copy.deepcopy(recorded("02"))]
    lines.insert(4, '{"event":"applauded","loudness":[1,2,{"deep":null}]}')
    drafted = next(at for at, line in enumerate(lines) if '"proposed"' in line)
    data = json.loads(lines[drafted])
    data["remark"]["mood"] = {"good": [1, 2.5]}
    lines[drafted] = json.dumps(data, separators=(",", ":"))
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    trace = Trace.read(tmp_path / "run.jsonl")
    assert list(map(json.loads, trace.lines())) == list(map(json.loads, lines))
    check(trace)


def test_check_detects_invalid_token_bytes_in_an_unsaved_trace():
    trace = Trace.parse(lines_of("06a"))
    with pytest.raises(CheckFailed, match="the bytes of token 7 are not latin-1"):
        check(Trace(trace.header, [*trace.events, Vocabulary({"7": "“"})]))


# Forced random numbers


def forced(lines):
    """Force random numbers to their own values, so that everything else stays valid."""
    for guess in events(lines, "proposed")[0]["guesses"][:3]:
        node = 1 + events(lines, "proposed")[0]["guesses"].index(guess)
        lines[0]["settings"]["coins"][f"1 judge {node}"] = guess["u"]


def test_check_says_that_a_run_with_forced_u_is_not_a_sample(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    path.write_text("\n".join(forged("06a", forced)))
    status, out, _ = checked(path, capsys)
    assert status == 0
    assert "3 coins were set by hand, so the text is not a sample." in out
    assert "lossless" not in out
    path.write_text("\n".join(lines_of("06a")))
    assert "The rule 'speculative' is lossless." in checked(path, capsys)[1]


def test_sentence_about_a_single_forced_u_is_singular():
    lines = forged("06a", lambda d: d[0]["settings"]["coins"].update({"90 judge 1": 0.5}))
    trace = Trace.parse(lines)
    check(trace)
    assert describe_losslessness(trace) == "1 coin was set by hand, so the text is not a sample."


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


@pytest.mark.parametrize("name", NAMES)
def test_no_change_of_a_json_value_causes_a_traceback(name, tmp_path, capsys):
    dice = random.Random(name)
    path = tmp_path / "run.jsonl"
    for _ in range(40):
        lines = mutated(dice, list(recorded(name)))
        if dice.random() < 0.3:
            lines = mutated(dice, lines)
        path.write_text("\n".join(map(json.dumps, lines)))
        status, out, err = checked(path, capsys)
        assert status in (0, 1)
        assert (err.count("\n"), bool(out)) == ((0, True) if status == 0 else (1, False))


@pytest.mark.parametrize("name", NAMES)
def test_no_change_of_bytes_causes_a_traceback(name, tmp_path, capsys):
    dice = random.Random(name)
    path = tmp_path / "run.jsonl"
    whole = "\n".join(lines_of(name)).encode()
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(data))
            data[at : at + dice.randrange(3)] = dice.randbytes(dice.randrange(3))
        path.write_bytes(bytes(data[: dice.choice([len(data), dice.randrange(len(data))])]))
        status, out, err = checked(path, capsys)
        assert status in (0, 1)
        assert (err.count("\n"), bool(out)) == ((0, True) if status == 0 else (1, False))
