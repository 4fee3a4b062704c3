"""`check` compares everything that a drafter records with the rest of the trace."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache

import forging
import pytest
from forging import both, cut, events, first, guess, inside, put, refused, sampling

from specviz.catalog import entries
from specviz.shipped import ASSETS
from specviz.trace.check import CheckFailed, check
from specviz.trace.check.evidence import EVIDENCE_RULES
from specviz.trace.check.families import BUILT_IN
from specviz.trace.file import Trace, TraceError

CASES = {  # a shipped trace of each family
    "blockwise": "14", "dflash": "19", "dflash2": "19c", "draft-model": "03", "dspark": "19a",
    "eagle": "12", "eagle2": "13", "eagle3": "05", "jetspec": "19d", "layerskip": "24",
    "lmtp": "17", "lookahead": "27", "medusa": "04", "moa": "18", "mtp": "15",
    "mtp-parallel": "16", "ngram": "02", "oracle": "25", "p-eagle": "19b", "pard": "11c",
    "suffix": "22", "uniform": "26",
}  # fmt: skip
OTHER_VOCABULARY = ("30b", "30c")


def drafted(lines):
    """Return the first draft with several guesses."""
    return first(lines, "proposed", lambda line: len(line["guesses"]) > 1)


def without_last_guess(lines):
    """Take the last guess out of the first draft in which it has no verdict, and its score."""
    for line in events(lines, "proposed"):
        of_round = [each for each in lines if each.get("round") == line["round"]]
        judged = [each["node"] for each in of_round if each["event"] == "judged"]
        number = len(line["guesses"])
        parents = {each["parent"] for each in line["guesses"]}
        if number < 2 or number in judged or number in parents:
            continue
        scored = next(each for each in of_round if each["event"] == "scored")
        if line["guesses"][-1]["parent"] in judged[-1:]:
            continue
        line["guesses"].pop()
        scored["p"].pop()
        scored["top"].pop()
        scored["rows_in_pass"] -= 1
        if scored["soft"]:
            scored["soft"].pop()
        return


def without_match(lines):
    """Remove the recorded match of every draft, and where its guesses come from."""
    for line in events(lines, "proposed"):
        line["remark"].pop("start", None)
        line["remark"].pop("length", None)
        for each in line["guesses"]:
            each["evidence"] = None


def with_start(lines):
    """Claim a match for a draft that has none."""
    line = first(lines, "proposed", lambda each: "start" not in each["remark"])
    line["remark"]["start"] = 1


def doubled(lines):
    """Double a guess's count and its total; their ratio stays."""
    evidence = drafted(lines)["guesses"][0]["evidence"]
    evidence.update(count=2 * evidence["count"], total=2 * evidence["total"])


def more_base(lines):
    """Raise the probabilities before the correction above 1 in total."""
    for each in drafted(lines)["guesses"][0]["evidence"]["base"]:
        each["p"] = 0.5


def other_top(lines):
    """Raise the top token's listed probability above the guess's score, and lower the others."""
    evidence = drafted(lines)["guesses"][0]["evidence"]
    for each, p in zip(evidence["top"], (0.95, 0.01, 0.01), strict=True):
        each["p"] = p


def later_round(lines):
    """Claim that an n-gram was found in the round before, at another column."""
    line = first(lines, "proposed", lambda each: each["remark"]["ngrams"])
    for each in line["guesses"]:
        each["evidence"].update(round=line["round"] - 1, column=0)


FORGERIES = [
    ("19a", other_top, "its score is .* but its position lists 0.95"),
    ("19a", guess(0, 5, "evidence", "place"), "its place is 5 but should be 1"),
    ("19a", more_base, "the total of its top tokens is 1.5"),
    ("19a", inside("proposed", "remark", "cut", value=-1, having=lambda d: "cut" in d["remark"]),
     "cut at a predicted survival of -1"),
    ("19a", inside("proposed", "remark", "cut", value=0.9, having=lambda d: "cut" in d["remark"]),
     "cut at a predicted survival of 0.9"),
    ("19a", without_last_guess, r"rows \(correction\), but its draft needs"),
    ("19b", without_last_guess, "guesses do not fill the .* positions"),
    ("19", without_last_guess, "guesses do not fill the .* positions"),
    ("14", without_last_guess, "its rank paths are"),
    ("11c", without_last_guess, "guesses come after node"),
    ("19b", put("proposed", "remark", places=lambda found: found[::-1]), "its score|top token"),
    ("19", put("proposed", "remark", places=lambda found: found[::-1]), "its score|top token"),
    ("11c", put("proposed", "remark", places=lambda found: found[::-1]), "its score is"),
    ("11c", put("proposed", "remark", masks=1), "its masks is 1 but should be 4"),
    ("11c", put("proposed", "remark", rows=1000), "its rows is 1000 but should be"),
    ("11c", both(put("proposed", "remark", rows=1000), put("proposed", "work", body=1000)),
     "its rows is 1000 but should be"),
    ("02", without_match, "its remark has no length, start"),
    ("20", without_match, "its remark has no length, start"),
    ("02", with_start, "its evidence has start without a reason"),
    ("22", with_start, "its evidence has start without a reason"),
    ("22", doubled, "its count is .* but should be"),
    ("27", later_round, "its n-gram"),
    ("26", put("proposed", "remark", vocabulary=5000), "its vocabulary is 5000"),
    ("19a", cut("proposed", "guesses", 0, "evidence", at="top"), "its evidence has no top"),
    ("19b", cut("proposed", "remark", at="places"), "its remark has no places"),
    ("15", put("proposed", remark=None), "its evidence has the form None"),
    ("13", put("proposed", "remark", form="features"), "its evidence has the form 'features'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "says"), FORGERIES, ids=[f"{name}: {says}" for name, _, says in FORGERIES]
)
def test_check_detects_each_forgery_of_evidence(name, change, says):
    refused(name, change, says)


@pytest.mark.parametrize("temperature", [0.5, 0.79, 0.85])
@pytest.mark.parametrize("name", ["03", "11c", "12", "19a", "19c", "30c"])
def test_check_detects_a_temperature_that_two_probabilities_contradict(name, temperature):
    refused(name, sampling(temperature=temperature), f"at temperature {temperature}|top token")


def test_every_catalogued_drafter_has_rules_for_its_evidence():
    """A drafter that is added to the catalogue must say what its evidence has to satisfy."""
    families = {entry.family for entry in entries() if entry.kind == "drafter"}
    assert families <= EVIDENCE_RULES.keys()
    assert EVIDENCE_RULES.keys() == BUILT_IN == CASES.keys()


@pytest.mark.parametrize("name", [*CASES.values(), *OTHER_VOCABULARY])
def test_check_ignores_unknown_keys_that_a_newer_version_may_record(name):
    def extend(lines):
        for line in events(lines, "proposed"):
            if line["remark"]:
                line["remark"]["mood"] = {"good": [1, 2.5]}
            for each in line["guesses"]:
                each["evidence"] = {**(each["evidence"] or {}), "mood": "good"}

    lines = forging.forged(forging.lines_of(name), extend)
    assert lines != forging.lines_of(name)
    check(Trace.parse(lines))


def numbers(found, keys=()):
    """Yield the keys of every number in recorded data."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    for key, value in pairs:
        if isinstance(value, dict | list):
            yield from numbers(value, (*keys, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*keys, key)


# Numbers of evidence that nothing else in the trace determines: what networks computed or what a
# file of weights has. They are only compared with bounds and with other rounds.
FREE = {
    "base", "top", "places", "confidence", "cut",  # less probable tokens, and predictions
    "agree", "before",  # the layers whose top token a guess is
    "tap_layers", "draft_vocabulary", "layers", "layer", "heads", "modules", "block", "shared",
    "window", "ngrams", "pool", "own_tokens",  # only the newest row, and the n-grams not used
}  # fmt: skip


@cache
def changed_numbers(name):
    """Return keys of numbers of a draft's evidence and work: the first two and the last of a kind.

    Numbers are of one kind if their keys differ only in places of lists, as those of two guesses.
    """
    line = drafted(forging.recorded(name))
    parts = {part: line[part] for part in ("remark", "work") if line[part]}
    parts["guesses"] = [{"evidence": each["evidence"] or {}} for each in line["guesses"]]
    kinds = defaultdict(list)
    for keys in numbers(parts):
        if not FREE & {*keys}:
            kinds[tuple(key for key in keys if isinstance(key, str))].append(keys)
    return [keys for kind in kinds.values() for keys in dict.fromkeys([*kind[:2], kind[-1]])]


@pytest.mark.parametrize("name", [*CASES.values(), *OTHER_VOCABULARY])
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_check_detects_every_changed_number_of_evidence_and_work(name, turn):
    """Raise every other number and lower the others; by night, the other way round too."""
    accepted = []
    for at, keys in enumerate(changed_numbers(name)):
        more = 1 if (at + turn) % 2 else -1
        change = inside(
            "proposed",
            *keys,
            value=lambda n, more=more: n + more,
            having=lambda d: len(d["guesses"]) > 1,
        )
        try:
            check(Trace.parse(forging.forged(forging.lines_of(name), change)))
        except (CheckFailed, TraceError):
            continue
        accepted.append(keys)
    # The number of rows depends on the draft model's tokens, and a last pass may change nothing.
    unclear = {("work", "body")} if name in OTHER_VOCABULARY else {("remark", "passes")}
    assert set(accepted) <= (unclear if name in {*OTHER_VOCABULARY, CASES["moa"]} else set())


@pytest.mark.parametrize("family", CASES)
def test_check_detects_memory_that_a_drafter_cannot_hold(family):
    trace = Trace.parse(forging.lines_of(CASES[family]))
    held = trace.finished.held_bytes
    wrong = 1 if held == 0 else 0
    if family in ("oracle", "layerskip"):
        wrong = -1
    refused(CASES[family], put("finished", held_bytes=wrong), "bytes")


def test_every_shipped_trace_has_rules_for_its_evidence():
    paths = [*(ASSETS / "traces").glob("*.jsonl"), *(ASSETS / "races").glob("*/*.jsonl")]
    headers = (json.loads(path.read_text(encoding="utf-8").partition("\n")[0]) for path in paths)
    families = {header["drafter"]["family"] for header in headers}
    assert families - {"plain"} == EVIDENCE_RULES.keys()
