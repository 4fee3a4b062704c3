"""Forged traces: distributions, draws, scores and margins that contradict the rest of the file."""

from __future__ import annotations

import math

import pytest
from forging import Forgery, events, first, header, inside, put, refused


def guess(at, value, *keys, having=lambda d: d["guesses"]):
    """Change a value in a guess of the first draft."""
    return inside("proposed", "guesses", at, *keys, value=value, having=having)


def same_siblings(lines):
    """Give two siblings the same token."""
    for line in events(lines, "proposed"):
        above = {}
        for each in line["guesses"]:
            if each["parent"] in above:
                each["token"] = above[each["parent"]]["token"]
                return
            above[each["parent"]] = each


def other_way(lines):
    """Claim another kind of candidates for a round without guesses."""
    found = [line for line in events(lines, "proposed") if not line["guesses"]]
    found[0]["drawn"] = "sampled"


def foreign_way(lines):
    """Do the same with an unknown drafter and a rule that takes every kind of candidates."""
    lines[0]["drafter"]["family"] = "own"
    lines[0]["settings"]["rule"] = "point-mass"
    other_way(lines)


def many_guesses(lines):
    """Add more guesses than any draft has."""
    event = first(lines, "proposed")
    event["guesses"] = event["guesses"] * 60


def after_end(lines):
    """Let a guess that others follow end the text."""
    event = first(lines, "proposed", lambda d: len(d["guesses"]) > 1)
    lines[0]["eos"] = [event["guesses"][0]["token"]]


def shifted(event, *keys):
    """Move a draw's interval so that it starts where no other ends; u stays inside."""

    def change(lines):
        for line in events(lines, event):
            for drawn in [each["drawn"] for each in line.get("guesses", [line])]:
                wide = drawn["hi"] - drawn["lo"]
                if drawn["lo"] == 0.0 and drawn["u"] > 0.02 and wide < 0.9:
                    drawn["lo"], drawn["hi"] = 0.01, 0.01 + wide
                    return

    return change


def unreached(lines):
    """Yield guesses without a verdict, with their node and their round's pass."""
    for line in events(lines, "proposed"):
        of_round = [d for d in lines if d.get("round") == line["round"]]
        judged = {d["node"] for d in of_round if d["event"] == "judged"}
        scored = next(d for d in of_round if d["event"] == "scored")
        for node, each in enumerate(line["guesses"], 1):
            if node not in judged:
                yield node, each, scored


def unreached_shifted(lines):
    """Move the interval of a guess without a verdict to where no other ends."""
    for _, each, _ in unreached(lines):
        drawn, wide = each["drawn"], each["q"]
        if drawn["lo"] == 0.0 and drawn["u"] > 0.02 and 0.1 < wide < 0.9:
            drawn["lo"], drawn["hi"] = 0.01, 0.01 + wide
            return


def unreached_above(lines):
    """Move the interval of a guess without a verdict above 1."""
    for _, each, _ in unreached(lines):
        drawn, wide = each["drawn"], each["q"]
        if drawn["u"] > 1.0 - wide + 1e-3 and drawn["lo"] > wide:
            drawn["lo"] = drawn["u"] - 1e-4
            drawn["hi"] = drawn["lo"] + wide
            return


def unreached_beside(lines):
    """Give a guess without a verdict the third token's probability, which exceeds the total."""
    for node, each, scored in unreached(lines):
        top = scored["top"][each["parent"]]
        if len(top) == 3 and each["token"] not in [token for token, _ in top]:
            total = sum(p for _, p in top)
            if top[2][1] > 1.0 - total + 0.01:
                scored["p"][node - 1] = top[2][1]
                return


def leaf_fraction(lines):
    """Put a probability below 1 after a leaf at temperature 0."""
    for line in events(lines, "drew"):
        if line["kind"] == "recovered":
            scored = next(d for d in events(lines, "scored") if d["round"] == line["round"])
            scored["top"][-1][0][1] = 0.7
            return


def heavy_rest(lines):
    """Move mass from listed tokens to unlisted ones, which must be less probable."""
    for line in events(lines, "drew"):
        if line["kind"] == "bonus" and line["token"] in line["tokens"][:3] and len(line["p"]) > 8:
            line["rest_p"] += sum(line["p"][4:])
            line["p"][4:] = [1e-12 / (1 + at) for at in range(len(line["p"][4:]))]
            return


def one_hot_elsewhere(lines):
    """Put all of p on a token that is not the top one, at temperature 0."""
    rows = first(lines, "judged")["rows"]
    soft = rows["soft"]
    soft[0], soft[1] = soft[1], soft[0]


def raised(event, *keys):
    """Raise a probability slightly."""
    return inside(event, *keys, value=lambda p: p + 1e-3 if p < 0.9 else p - 1e-3)


def swapped_margin(margin):
    """Replace the plain text from a new token on, with this margin where it differs."""

    def change(lines):
        plain = first(lines, "baseline")
        at = wide_at(lines)
        plain["token_ids"][at] = plain["token_ids"][at - 1]
        plain["margins"][at] = margin

    return change


def wide_at(lines):
    """Return a new token whose top two tokens are far apart in the run's softmax."""
    added = 0
    for line in lines:
        soft = sorted(line["rows"]["soft"], reverse=True) if line.get("event") == "judged" else []
        if soft and line["node"] == 1 and added > 4 and math.log(soft[0] / soft[1]) > 1.0:
            return added
        added += len(line["tokens"]) if line.get("event") == "committed" else 0
    raise LookupError("no wide margin")


def margin(change):
    """Change the margin where both texts agree and the run shows a wide one."""

    def apply(lines):
        margins = first(lines, "baseline")["margins"]
        at = wide_at(lines)
        margins[at] = change(margins[at])

    return apply


def other_first(lines):
    """Start plain decoding with a token that its u does not select."""
    plain = first(lines, "baseline")["token_ids"]
    drew = next(line for line in lines if line.get("event") == "drew")
    plain[0] = next(token for token in drew["tokens"] if token != plain[0])


def drop_likeliest(lines):
    """Remove the top token from the root's top tokens."""
    first(lines, "scored")["top"][0].pop(0)


GUESSES: dict[str, Forgery] = {
    "siblings with one token": ("11", same_siblings, "siblings have the same token"),
    "siblings of a head with one token": ("05", same_siblings, "siblings have the same token"),
    "a round drawn in another way": ("02", other_way, "'speculative' fits the candidates"),
    "a foreign round in another way": ("02", foreign_way, "in more than one way"),
    "too many guesses": ("06a", many_guesses, "240 guesses, but a draft has at most 128"),
    "a guess after the end": ("09", after_end, "it comes after the end of the text"),
    "a score that is a word": ("06a", guess(0, "high", "score"), "score cannot be 'high'"),
    "a token that is a fraction": ("06a", guess(0, 7.5, "token"), "token cannot be 7.5"),
    "a token that is true": ("06a", guess(0, True, "token"), "token cannot be True"),
    "a parent that comes later": ("06a", guess(0, 2, "parent"), "parent does not come before"),
    "a parent below 0": ("06a", guess(0, -1, "parent"), "parent does not come before"),
    "a parent that is itself": ("06a", guess(1, 2, "parent"), "parent does not come before"),
    "an interval above 1": ("06a", guess(3, 1.5, "drawn", "hi"), "not a probability|width"),
    "an interval below 0": ("06a", guess(1, -0.1, "drawn", "lo"), "not a probability|width"),
    "an interval that begins nowhere": ("06a", shifted("proposed"), "no likelier token ends|lower"),
    "a last interval that begins nowhere": ("02", shifted("drew"), "no likelier|lower end"),
    "an interval that nobody judged": ("03", unreached_shifted, "where no more probable token's"),
    "an interval above 1 that nobody judged": ("06a", unreached_above, "the interval contains 1"),
    "a remark that is a list": ("06a", put("proposed", remark=[1]), "'proposed' event is invalid"),
    "a way that is none": ("06a", put("proposed", drawn="by hand"), "'proposed' event is invalid"),
}

SCORES: dict[str, Forgery] = {
    "no likeliest tokens": ("06a", inside("scored", "top", 4, value=[]), "node 4 are not pairs"),
    "a likeliest token of three": (
        "06a", inside("scored", "top", 4, 0, value=[14, 0.5, 1]), "no pairs|do not fit",
    ),
    "a likeliest token twice": (
        "06a", inside("scored", "top", 4, 1, 0, value=14), "lists a top token twice",
    ),
    "likeliest tokens of more than 1": (
        "06a", inside("scored", "top", 4, 0, 1, value=0.99), "contains 1.* not a probability",
    ),
    "guesses and likeliest of more than 1": (
        "03", inside("scored", "p", -1, value=0.4), "among the top tokens|no probability|token",
    ),
    "a guess for which nothing is left": ("03", unreached_beside, "total after node .* contains 1"),
    "a likeliest token left out": ("06a", drop_likeliest, "among the top tokens"),
    "a score above 1": ("06a", inside("scored", "p", -1, value=1.5), "not a probability"),
    "a score below 0": ("06a", inside("scored", "p", -1, value=-0.5), "not a probability"),
    "a score that is text": ("06a", inside("scored", "p", 0, value="0.5"), "p cannot be '0.5'"),
    "a score that is nothing": ("06a", inside("scored", "p", 0, value=None), "p cannot be None"),
    "a score that is true": ("06a", inside("scored", "p", 0, value=True), "p cannot be True"),
    "a likeliest token that is text": (
        "06a", inside("scored", "top", 4, 0, 1, value="half"), "top cannot be 'half'",
    ),
    "a heavy rest": ("06a", heavy_rest, "have too much probability|the last distribution"),
    "a softmax above temperature 0": (
        "06a", inside("judged", "rows", "rest_soft", value=0.2), "softmax",
    ),
    "a threshold that is text": ("06a", put("judged", threshold="1"), "threshold cannot be '1'"),
    "an input more": (
        "06a", lambda d: first(d, "judged")["inputs"].update(luck=1.0), "the rule's inputs should",
    ),
    "a node that is none": ("06a", put("judged", node=99), "no such node"),
    "a node of 30 digits": ("06a", put("judged", node=10**30), "no such node"),
    "a round of 30 digits": ("06a", put("committed", round=10**30), "Round|round"),
}  # fmt: skip

COLD: dict[str, Forgery] = {
    "a fraction at temperature 0": (
        "09", inside("scored", "top", 0, 0, 1, value=0.7), "temperature 0 leaves one token|score",
    ),
    "a fraction after a leaf": ("09", leaf_fraction, "temperature 0 leaves one token, but a prob"),
    "a softmax of rows": ("09", raised("judged", "rows", "soft", 0), "the softmax"),
    "a softmax of scores": ("09", raised("scored", "soft", 0), "the softmax"),
    "a softmax of a later score": ("11", raised("scored", "soft", 1), "the softmax|likelier"),
    "a softmax of the draw": ("09", raised("drew", "soft", 0), "softmax of the drawn|likelier"),
    "a draw without its softmax": ("09", put("drew", soft=None), "has no softmax"),
    "a softmax of other length": (
        "09", lambda d: first(d, "judged")["rows"]["soft"].pop(), "a softmax for every listed|fit",
    ),
    "p on another token": ("09", one_hot_elsewhere, "the softmax"),
    "a margin of 0 over wide rows": ("09", swapped_margin(0.0), "margin of new token .* run shows"),
    "a margin of 0 in half precision": (
        "09",
        lambda d: (header(dtype="bfloat16")(d), swapped_margin(0.0)(d)),
        "margin of new token .* run shows",
    ),
    "a small margin over wide rows": ("09", swapped_margin(0.0009), "margin of new token"),
    "a margin of 0 of a head": ("17", swapped_margin(0.0), "margin of new token .* run shows"),
    "a margin of 0 of a copy": ("20", swapped_margin(0.0), "margin of new token .* run shows"),
    "a margin of 0 in a chat": ("27", swapped_margin(0.0), "margin of new token .* run shows"),
    "a margin of 0 where both agree": ("09", margin(lambda m: 0.0), "margin of new token"),
    "a margin that is halved": ("09", margin(lambda m: m / 2), "margin of new token"),
    "a margin that is doubled": ("09", margin(lambda m: m * 2), "but the run shows .* or less"),
    "a margin that is text": ("09", inside("baseline", "margins", 3, value="0"), "margins cannot"),
    "a first plain token": (
        "06a", other_first, "its first token is not the one that its u selects",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GUESSES)
def test_check_detects_impossible_guesses(name):
    refused(GUESSES[name])


@pytest.mark.parametrize("name", SCORES)
def test_check_detects_contradictory_scores(name):
    refused(SCORES[name])


@pytest.mark.parametrize("name", COLD)
def test_check_detects_forged_softmax_and_margins(name):
    refused(COLD[name])
