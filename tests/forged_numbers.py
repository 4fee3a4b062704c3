"""Forgeries of numbers: counts, seconds, draws, scores, distributions and margins."""

from __future__ import annotations

import math
from functools import partial

from forging import (
    HUGE,
    Forgery,
    both,
    cut,
    events,
    first,
    guess,
    header,
    inside,
    plus,
    put,
    sampling,
    setting,
    unreached,
)


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


rows = partial(put, "judged", "rows")
work = partial(put, "proposed", "work")
foreign = header("drafter", family="own")
wider = both(guess(0, plus(0.01), "q"), guess(0, plus(0.01), "drawn", "hi"))
early_end = put("baseline", token_ids=lambda t: t[:5], seconds=lambda t: t[:5])


def other_kind(lines):
    """Declare the guesses as point masses without q and u, although the rule compares p / q."""
    line = first(lines, "proposed")
    line["drawn"] = "point-mass"
    for each in line["guesses"]:
        each.update(q=None, drawn=None)


def after_end(lines):
    """Let a guess that others follow end the text."""
    event = first(lines, "proposed", lambda d: len(d["guesses"]) > 1)
    lines[0]["eos"] = [event["guesses"][0]["token"]]


def shift(draws):
    """Move the interval of a draw so that it starts where no other ends; u stays inside."""
    for drawn in draws:
        wide = drawn["hi"] - drawn["lo"]
        if drawn["lo"] == 0.0 and drawn["u"] > 0.02 and 0.1 < wide < 0.9:
            drawn.update(lo=0.01, hi=0.01 + wide)
            return


def shifted_guess(lines):
    shift(each["drawn"] for line in events(lines, "proposed") for each in line["guesses"])


def shifted_unreached(lines):
    shift(each["drawn"] for _, each, _ in unreached(lines))


def shifted_last(lines):
    shift(line["drawn"] for line in events(lines, "drew"))


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


def moved_draw(lines):
    """Move a last token's interval halfway to its u; u stays inside, and the width stays."""
    drawn = first(lines, "drew", lambda d: d["token"] != d["tokens"][-1])["drawn"]
    half = (drawn["u"] - drawn["lo"]) / 2
    drawn.update(lo=drawn["lo"] + half, hi=drawn["hi"] + half)


def recovered(line):
    return line["kind"] == "recovered"


other_rejection = both(
    inside("drew", "at_p", value=plus(0.01), having=recovered),
    inside("drew", "at_q", value=plus(0.01), having=recovered),
)


def negative(lines):
    """Keep the totals of the rows, but make values negative."""
    rows = first(lines, "judged")["rows"]
    p, q = rows["p"], rows["q"]
    p[-2], p[-1] = p[-2] - 5.0, p[-1] + 5.0
    rows["overlap"] = sum(map(min, p, q)) + rows["rest_both"]
    rows["residual"] = sum(max(a - b, 0) for a, b in zip(p, q, strict=True)) + rows["rest_residual"]


def moved_mass(lines):
    """Move mass from the second token of the last distribution to the first; the total stays."""
    p = first(lines, "drew")["p"]
    p[0], p[1] = p[0] + p[1] * 0.5, p[1] * 0.5
    p[1:] = sorted(p[1:], reverse=True)


FORGERIES: list[Forgery] = [
    # Counts, sizes and seconds
    ("06a", put("scored", rows_in_pass=-5), "has -5 rows instead of 5"),
    ("06a", put("scored", rows_in_pass=0), "has 0 rows instead of 5"),
    ("03", put("scored", rows_in_pass=2), "has 2 rows"),
    ("06a", put("scored", rows_in_pass=6), "has 6 rows instead of 5"),
    ("05", put("scored", rows_in_pass=900), "has 900 rows"),
    ("27", inside("scored", "rows_in_pass", value=lambda n: n + 4), "rows instead of"),
    ("06a", lambda lines: lines[3].update(rows_in_pass=7), "Round 0: its pass has 7 rows"),
    ("02", both(foreign, put("scored", rows_in_pass=10**9)), "a pass cannot have 1000000000"),
    ("06a", work(body=-1), "the drafter read -1 rows"),
    ("05", work(head=-1), "the drafter read -1 rows"),
    ("12", work(entry=-3), "the drafter read -3 rows"),
    ("06a", work(body=10**12), "cannot have read 1000000000000"),
    ("06a", work(body=0, head=0, entry=0), "guessed, but its network read no rows"),
    ("02", work(body=9), "ngram has no network, but it read rows"),
    ("06a", header("target", parameters=-1), "-1 parameters"),
    ("06a", header("drafter", parameters=-7), "-7 parameters"),
    ("06a", header("target", bytes=-1), "cannot have -1 bytes"),
    ("05", header("drafter", bytes=-1), "cannot have -1 bytes"),
    ("06a", header("target", parameters=HUGE), "parameters"),
    ("06a", header("target", bytes=HUGE), "bytes"),
    ("06a", header("target", bytes=1000), "1000 bytes are too few for"),
    ("06a", header("target", hash="abc"), "hash is not a SHA-256"),
    ("06a", header(threads=0), "0 threads"),
    ("06a", header(threads=-2), "-2 threads"),
    ("06a", header(threads=10**7), "10000000 threads"),
    ("06a", header(vocab_size=0), "outside the vocabulary|of 0 tokens"),
    ("06a", header(vocab_size=-4), "outside the vocabulary|of -4 tokens"),
    ("06a", header(vocab_size=5000), "the whole vocabulary"),
    ("06a", header(prompt_ids=[]), "the prompt has no tokens"),
    ("06a", put("finished", held_bytes=HUGE), "of memory are not possible"),
    ("06a", put("scored", seconds=1e300), "took 1e.300 seconds"),
    ("06a", put("proposed", seconds=HUGE), "took 10+ seconds"),
    ("06a", put("finished", trace_seconds=1e300), "took 1e"),
    ("06a", inside("baseline", "seconds", 2, value=1e300), "took 1e"),
    ("02", header("drafter", family="plain"), "plain decoding cannot have rounds"),
    # Totals and token ids
    ("06a", put("drew", rest_tokens=lambda n: n + 1), "whole vocabulary"),
    ("02", put("drew", rest_tokens=lambda n: n - 3), "whole vocabulary"),
    ("03", put("drew", rest_tokens=lambda n: -n), "whole vocabulary"),
    ("06a", put("drew", rest_tokens=lambda n: 0), "whole vocabulary"),
    ("06a", inside("drew", "tokens", 5, value=9999), "lists a token outside the vocabulary"),
    ("06a", inside("drew", "tokens", -1, value=-2), "outside the vocabulary"),
    ("06a", inside("drew", "tokens", value=lambda t: [*t[:6], t[5], *t[7:]]), "distribution at"),
    ("06a", inside("judged", "rows", "tokens", -1, value=9999), "outside the vocabulary"),
    ("06a", inside("judged", "rows", "tokens", -1, value=-9), "outside the voc"),
    ("06a", inside("judged", "rows", "tokens", value=lambda t: [*t[:-1], t[0]]), "a token twice"),
    ("06a", inside("proposed", "guesses", 3, "token", value=7000), "outside the vocabulary"),
    ("05", inside("proposed", "guesses", -1, "token", value=-1), "outside"),
    ("06a", inside("scored", "top", 4, 2, 0, value=10**6), "node 4 is outside"),
    ("06a", inside("scored", "top", 4, 0, 0, value=3.5), "node 4 is outside"),
    ("06a", inside("baseline", "token_ids", -1, value=7777), "Baseline: a token is outside"),
    # Guesses and their draws
    ("11", same_siblings, "siblings have the same token"),
    ("05", same_siblings, "siblings have the same token"),
    ("02", other_way, "'speculative' fits the candidates"),
    ("02", both(foreign, setting(rule="point-mass"), other_way), "in more than one way"),
    ("06a", put("proposed", guesses=lambda g: g * 60), "240 guesses, but a draft has at most 128"),
    ("09", after_end, "it comes after the end of the text"),
    ("06a", guess(0, "high", "score"), "score cannot be 'high'"),
    ("06a", guess(0, 7.5, "token"), "token cannot be 7.5"),
    ("06a", guess(0, True, "token"), "token cannot be True"),
    ("06a", guess(0, 2, "parent"), "parent does not come before"),
    ("06a", guess(0, -1, "parent"), "parent does not come before"),
    ("06a", guess(1, 2, "parent"), "parent does not come before"),
    ("06a", guess(3, 1.5, "drawn", "hi"), "not a probability|width"),
    ("06a", guess(1, -0.1, "drawn", "lo"), "not a probability|width"),
    ("06a", shifted_guess, "no likelier token ends|lower"),
    ("02", shifted_last, "no likelier|lower end"),
    ("03", shifted_unreached, "where no more probable token's"),
    ("06a", unreached_above, "the interval contains 1"),
    ("06a", put("proposed", remark=[1]), "'proposed' event is invalid"),
    ("06a", put("proposed", drawn="by hand"), "'proposed' event is invalid"),
    # Scores and verdicts
    ("06a", inside("scored", "top", 4, value=[]), "node 4 are not pairs"),
    ("06a", inside("scored", "top", 4, 0, value=[14, 0.5, 1]), "no pairs|do not fit"),
    ("06a", inside("scored", "top", 4, 1, 0, value=14), "lists a top token twice"),
    ("06a", inside("scored", "top", 4, 0, 1, value=0.99), "contains 1.* not a probability"),
    ("03", inside("scored", "p", -1, value=0.4), "among the top tokens|no probability|token"),
    ("03", unreached_beside, "total after node .* contains 1"),
    ("06a", cut("scored", "top", 0, at=0), "among the top tokens"),
    ("06a", inside("scored", "p", -1, value=1.5), "not a probability"),
    ("06a", inside("scored", "p", -1, value=-0.5), "not a probability"),
    ("06a", inside("scored", "p", 0, value="0.5"), "p cannot be '0.5'"),
    ("06a", inside("scored", "p", 0, value=None), "p cannot be None"),
    ("06a", inside("scored", "p", 0, value=True), "p cannot be True"),
    ("06a", inside("scored", "top", 4, 0, 1, value="half"), "top cannot be 'half'"),
    ("06a", heavy_rest, "have too much probability|the last distribution"),
    ("06a", inside("judged", "rows", "rest_soft", value=0.2), "softmax"),
    ("06a", put("judged", threshold="1"), "threshold cannot be '1'"),
    ("06a", put("judged", "inputs", luck=1.0), "the rule's inputs should"),
    ("06a", put("judged", node=99), "no such node"),
    ("06a", put("judged", node=10**30), "no such node"),
    ("06a", put("committed", round=10**30), "Round|round"),
    # Softmax and margins at temperature 0
    ("09", inside("scored", "top", 0, 0, 1, value=0.7), "temperature 0 leaves one token|score"),
    ("09", leaf_fraction, "temperature 0 leaves one token, but a prob"),
    ("09", raised("judged", "rows", "soft", 0), "the softmax"),
    ("09", raised("scored", "soft", 0), "the softmax"),
    ("11", raised("scored", "soft", 1), "the softmax|likelier"),
    ("09", raised("drew", "soft", 0), "softmax of the drawn|likelier"),
    ("09", put("drew", soft=None), "has no softmax"),
    ("09", cut("judged", "rows", "soft"), "a softmax for every listed|fit"),
    ("09", inside("judged", "rows", "soft", value=lambda s: [s[1], s[0], *s[2:]]), "the softmax"),
    ("09", swapped_margin(0.0), "margin of new token .* run shows"),
    ("09", both(header(dtype="bfloat16"), swapped_margin(0.0)), "margin of new token .* run shows"),
    ("09", swapped_margin(0.0009), "margin of new token"),
    ("17", swapped_margin(0.0), "margin of new token .* run shows"),
    ("20", swapped_margin(0.0), "margin of new token .* run shows"),
    ("27", swapped_margin(0.0), "margin of new token .* run shows"),
    ("09", margin(lambda m: 0.0), "margin of new token"),
    ("09", margin(lambda m: m / 2), "margin of new token"),
    ("09", margin(lambda m: m * 2), "but the run shows .* or less"),
    ("09", inside("baseline", "margins", 3, value="0"), "margins cannot"),
    ("06a", other_first, "its first token is not the one that its u selects"),
    # The header against the rounds
    ("06a", other_kind, "needs candidates sampled"),
    ("06a", header(rule="point-mass"), "'speculative' fits the candidates"),
    ("06a", setting(rule="point-mass"), "'point-mass' was chosen"),
    ("06a", sampling(temperature=0.0), "softmax at temperature 0 and only there"),
    ("06a", header(lossless=False), "the header denies it"),
    ("06a", setting(max_new_tokens=5), "4 deep, but γ and the limit allow 3"),
    ("06a", put("finished", reason="eos"), "but should be 'limit'"),
    ("06a", put("finished", reason="stopped"), "but should be 'limit'"),
    ("06a", inside("header", "prompt_ids", 0, value=10**6), "outside the vocabulary"),
    # Times
    ("06a", put("proposed", seconds=-1.0), "took -1.0"),
    ("06a", put("scored", seconds=-1.0), "took -1.0"),
    ("06a", put("scored", seconds=0.0), "no measured time"),
    ("06a", put("committed", judge_seconds=-1.0), "took -1.0"),
    ("06a", put("committed", commit_seconds=-1.0), "took -1.0"),
    ("06a", put("finished", trace_seconds=-1), "took -1"),
    ("06a", put("finished", held_bytes=-1), "-1 bytes of memory"),
    ("06a", inside("baseline", "seconds", 3, value=-1.0), "took -1.0"),
    ("06a", cut("baseline", "seconds"), "a time for every token"),
    ("06a", early_end, "stops before the text ends"),
    ("06a", put("baseline", margins=[1.0] * 40), "it must have margins"),
    ("09", put("baseline", margins=None), "it must have margins"),
    ("09", cut("baseline", "margins"), "a margin for every token"),
    ("09", cut("baseline", "tops"), "a margin for every token"),
    ("09", inside("baseline", "margins", 2, value=-1.0), "below 0"),
    # A round
    ("06a", guess(0, None, "drawn"), "a draw must be given"),
    ("06a", guess(0, 0.123, "u"), "u is 0.123 but should be"),
    ("06a", put("proposed", "guesses", 0, "drawn", lo=0.99, hi=1.0), "u is outside the drawn"),
    ("06a", guess(0, 0.5, "q"), "the interval's width is .* but should be 0.5"),
    ("06a", wider, "the guess's q is"),
    ("06a", put("proposed", root=1), "the root is not the last token"),
    ("06a", inside("scored", "p", 0, value=0.987), "the score of token 387 is 0.987"),
    ("06a", inside("scored", "p", -1, value=0.999), "the score of token|among the top tokens"),
    ("06a", inside("scored", "top", 0, 0, 1, value=lambda p: p + 1e-3), "token"),
    ("06a", put("judged", threshold=0.5), "the threshold is 0.5 but should be"),
    ("06a", put("judged", u=0.5), "u is 0.5 but should be"),
    ("06a", put("judged", node=2), "node 2: u is .* but should be"),
    ("06a", put("judged", alpha=0.01), "α is 0.01 but should be"),
    ("06a", put("judged", "inputs", p=0.5, q=0.5), "the threshold is .* but should be 1.0"),
    ("06a", inside("judged", "rows", "p", 0, value=0.5), "the total of p is .* but should be 1"),
    ("06a", inside("judged", "rows", "q", 1, value=0.5), "the interval's lower end"),
    ("06a", rows(rest_p=0.5), "the total of p is .* but should be 1"),
    ("06a", rows(rest_q=-0.5), "q contains -0.5, which is not"),
    ("06a", rows(overlap=0.01), "the overlap is 0.01 but should be"),
    ("06a", rows(residual=0.01), "the residual's mass is 0.01"),
    ("06a", negative, "p contains -.*not a probability"),
    ("06a", rows(rest_both=plus(0.02), overlap=plus(0.02)), "the overlap of the other"),
    ("06a", rows(rest_residual=plus(0.1), residual=plus(0.1)), "the residual of all others"),
    ("06a", rows(rest_tokens=plus(1)), "the whole vocabulary"),
    ("06a", put("drew", "drawn", u=0.001), "the draw's u is 0.001"),
    ("06a", put("drew", "drawn", lo=0.0, hi=1.0), "the interval's width is 1.0"),
    ("06a", moved_mass, "the last distribution at token"),
    ("06a", moved_draw, "the interval's lower end"),
    ("06a", other_rejection, "of the rejection is"),
    ("06a", inside("drew", "at_q", value=None, having=recovered), "at_q must be"),
    ("06a", put("drew", kind="plain"), "at_p must be given exactly"),
    ("06a", inside("drew", "p", 0, value=0.9999), "the last distribution at token"),
    ("06a", inside("committed", "tokens", value=lambda t: [*t, 3]), "are not the accepted ones"),
    ("06a", put("committed", round=7), "the round was not finished"),
]
