"""`check` and forged traces: each is consistent except for one lie, which the error names."""

from __future__ import annotations

import math
from functools import partial

import pytest
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
    lines_of,
    move,
    plus,
    put,
    refused,
    sampling,
    setting,
    unreached,
)

from specviz.settings.settings import Sampling
from specviz.trace.check import CheckFailed
from specviz.trace.check.checked_round import CheckedRound
from specviz.trace.check.header import read_run_spec
from specviz.trace.check.sampling import check_q, check_temperature
from specviz.trace.file import Trace

# Changes of numbers: counts, seconds, draws, scores, distributions and margins


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


# Changes of settings, evidence, texts, spellings and the order of events


def without_evidence(**values):
    """Change settings and remove the evidence of the guesses' ranks."""

    def change(lines):
        lines[0]["settings"].update(values)
        for line in events(lines, "proposed"):
            for each in line["guesses"]:
                each["evidence"] = None

    return change


def fork(lines):
    """Move an unreached guess beside its parent."""
    for line in events(lines, "proposed"):
        guesses, number = line["guesses"], line["round"]
        of_round = [d for d in lines if d.get("round") == number]
        reached = max((d["node"] for d in of_round if d["event"] == "judged"), default=0)
        scored = next(d for d in of_round if d["event"] == "scored")
        if len(guesses) > reached + 1 and scored["p"][-1] == 0.0:
            guesses[-1]["parent"] -= 1
            return


def follow_unsure(lines):
    """Set the confidence just above a score after which drafting continued."""
    guesses = first(lines, "proposed", lambda d: len(d["guesses"]) > 1)["guesses"]
    lines[0]["settings"]["confidence"] = min(0.99, guesses[0]["score"] + 0.01)


def other_copy(lines):
    """Change the token of a guess without a verdict."""
    for _, each, scored in unreached(lines):
        likely = {token for top in scored["top"] for token, _ in top}
        if each["token"] not in likely:
            each["token"] = next(t for t in lines[0]["prompt_ids"][1:] if t not in likely)
            return


def least_chance(lines):
    """Set the least probability above that of a guess, in settings and remarks."""
    lines[0]["settings"]["suffix_least"] = 1.0
    for line in events(lines, "proposed"):
        line["remark"]["least"] = 1.0


def shorter_ngrams(lines):
    """Set a smaller N, and remove the window that contradicts it."""
    lines[0]["settings"]["lookahead_ngram"] = 3
    for line, passed in zip(events(lines, "proposed"), events(lines, "scored"), strict=True):
        line["remark"].update(window=[], rows_window=0)
        passed["rows_in_pass"] = 1 + len(line["guesses"])


def claim_whole_window(lines):
    """Change the number of extra rows in the remark and in the pass."""
    drafted = first(lines, "proposed", lambda d: d["remark"]["rows_window"])
    drafted["remark"]["rows_window"] += 3
    passed = next(d for d in events(lines, "scored") if d["round"] == drafted["round"])
    passed["rows_in_pass"] += 3


def spell(token, spelling):
    """Change the spelling of a token everywhere."""

    def change(lines):
        for line in events(lines, "vocabulary"):
            if token in line["tokens"]:
                line["tokens"][token] = spelling

    return change


def forget(token):
    """Remove the spelling of a token."""
    return lambda lines: [d["tokens"].pop(token, None) for d in events(lines, "vocabulary")]


def again(token, spelling):
    """Spell a token a second time."""
    return lambda lines: lines.append({"event": "vocabulary", "tokens": {token: spelling}})


def other_id(lines):
    """Repeat a token of the prompt in place of the next one."""
    ids = lines[0]["prompt_ids"]
    ids[-8] = ids[-9]


def piece(kind, **values):
    """Change the first piece of this kind of a chat."""

    def change(lines):
        pieces = lines[0]["chat"]["pieces"]
        next(each for each in pieces if each["kind"] == kind).update(values)

    return change


def swap(event, other):
    """Swap the first events of two kinds."""

    def change(lines):
        one, two = first(lines, event), first(lines, other)
        a, b = lines.index(one), lines.index(two)
        lines[a], lines[b] = two, one

    return change


def to_end(event):
    """Move the first event of a kind to the end."""
    return lambda lines: move(lines, first(lines, event), len(lines))


def baseline_first(lines):
    move(lines, first(lines, "baseline"), 2)
    for line in events(lines, "vocabulary")[1:]:
        move(lines, line, 2)


def twice(event):
    """Repeat the first event of a kind."""

    def change(lines):
        line = first(lines, event)
        lines.insert(lines.index(line), line)

    return change


def without(rounds):
    """Remove the rounds that a function selects from all round numbers."""

    def change(lines):
        every = sorted({line["round"] for line in lines if "round" in line})
        lines[:] = [line for line in lines if line.get("round", -1) not in rounds(every)]

    return change


def without_last_token(lines):
    """Remove the token drawn last in a round that has others."""
    line = first(lines, "committed", lambda d: len(d["tokens"]) > 1)
    line["tokens"].pop()
    of_round = [d for d in events(lines, "drew") if d["round"] == line["round"]]
    lines.remove(of_round[0])


def end_first(lines):
    """Move the run's end before its first event."""
    move(lines, first(lines, "finished"), 2)


def ended_before(lines):
    """Claim that an earlier token of the text ends it, one that was never guessed."""
    guesses = {each["token"] for line in events(lines, "proposed") for each in line["guesses"]}
    text = [token for line in events(lines, "committed")[:-1] for token in line["tokens"]]
    lines[0]["eos"] = [next(token for token in text if token not in guesses)]


FORGERIES: list[Forgery] = [
    # Counts, sizes and seconds
    ("06a", put("scored", rows_in_pass=-5), "has -5 rows instead of 5"),
    ("06a", put("scored", rows_in_pass=0), "has 0 rows instead of 5"),
    ("27", inside("scored", "rows_in_pass", value=lambda n: n + 4), "rows instead of"),
    ("06a", lambda lines: lines[3].update(rows_in_pass=7), "Round 0: its pass has 7 rows"),
    ("02", both(foreign, put("scored", rows_in_pass=10**9)), "a pass cannot have 1000000000"),
    ("06a", work(body=-1), "the drafter read -1 rows"),
    ("06a", work(body=10**12), "cannot have read 1000000000000"),
    ("06a", work(body=0, head=0, entry=0), "guessed, but its network read no rows"),
    ("02", work(body=9), "ngram has no network, but it read rows"),
    ("06a", header("target", parameters=-1), "-1 parameters"),
    ("06a", header("target", bytes=-1), "cannot have -1 bytes"),
    ("06a", header("target", parameters=HUGE), "parameters"),
    ("06a", header("target", bytes=HUGE), "bytes"),
    ("06a", header("target", bytes=1000), "1000 bytes are too few for"),
    ("06a", header("target", hash="abc"), "hash is not a SHA-256"),
    ("06a", header(threads=0), "0 threads"),
    ("06a", header(threads=-2), "-2 threads"),
    ("06a", header(threads=10**7), "10000000 threads"),
    ("06a", header(vocab_size=0), "outside the vocabulary|of 0 tokens"),
    ("06a", header(vocab_size=5000), "the whole vocabulary"),
    ("06a", header(prompt_ids=[]), "the prompt has no tokens"),
    ("06a", put("finished", held_bytes=HUGE), "of memory are not possible"),
    ("06a", put("scored", seconds=1e300), "took 1e.300 seconds"),
    ("06a", put("proposed", seconds=HUGE), "took 10+ seconds"),
    ("06a", put("finished", trace_seconds=1e300), "took 1e"),
    ("06a", inside("baseline", "seconds", 2, value=1e300), "took 1e"),
    ("02", header("drafter", family="plain"), "plain decoding cannot have rounds"),
    # Totals and token ids
    ("06a", inside("drew", "tokens", 5, value=9999), "lists a token outside the vocabulary"),
    ("06a", inside("drew", "tokens", value=lambda t: [*t[:6], t[5], *t[7:]]), "distribution at"),
    ("06a", inside("judged", "rows", "tokens", -1, value=9999), "outside the vocabulary"),
    ("06a", inside("judged", "rows", "tokens", value=lambda t: [*t[:-1], t[0]]), "a token twice"),
    ("06a", inside("proposed", "guesses", 3, "token", value=7000), "outside the vocabulary"),
    ("06a", inside("scored", "top", 4, 2, 0, value=10**6), "node 4 is outside"),
    ("06a", inside("scored", "top", 4, 0, 0, value=3.5), "node 4 is outside"),
    ("06a", inside("baseline", "token_ids", -1, value=7777), "Baseline: a token is outside"),
    # Guesses and their draws
    ("11", same_siblings, "siblings have the same token"),
    ("02", other_way, "'speculative' fits the candidates"),
    ("02", both(foreign, setting(rule="point-mass"), other_way), "in more than one way"),
    ("06a", put("proposed", guesses=lambda g: g * 60), "240 guesses, but a draft has at most 128"),
    ("09", after_end, "it comes after the end of the text"),
    ("06a", guess(0, "high", "score"), "score cannot be 'high'"),
    ("06a", guess(0, 2, "parent"), "parent does not come before"),
    ("06a", guess(3, 1.5, "drawn", "hi"), "not a probability|width"),
    ("06a", guess(1, -0.1, "drawn", "lo"), "not a probability|width"),
    ("06a", shifted_guess, "no likelier token ends|lower"),
    ("02", shifted_last, "no likelier|lower end"),
    ("03", shifted_unreached, "where no more probable token's"),
    ("06a", unreached_above, "the interval contains 1"),
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
    ("06a", heavy_rest, "have too much probability|the last distribution"),
    ("06a", inside("judged", "rows", "rest_soft", value=0.2), "softmax"),
    ("06a", put("judged", "inputs", luck=1.0), "the rule's inputs should"),
    ("06a", put("judged", node=99), "no such node"),
    ("06a", put("committed", round=10**30), "Round|round"),
    # Softmax and margins at temperature 0
    ("09", inside("scored", "top", 0, 0, 1, value=0.7), "temperature 0 leaves one token|score"),
    ("09", leaf_fraction, "temperature 0 leaves one token, but a prob"),
    ("09", raised("judged", "rows", "soft", 0), "the softmax"),
    ("09", raised("scored", "soft", 0), "the softmax"),
    ("09", raised("drew", "soft", 0), "softmax of the drawn|likelier"),
    ("09", put("drew", soft=None), "has no softmax"),
    ("09", cut("judged", "rows", "soft"), "a softmax for every listed|fit"),
    ("09", inside("judged", "rows", "soft", value=lambda s: [s[1], s[0], *s[2:]]), "the softmax"),
    ("09", swapped_margin(0.0), "margin of new token .* run shows"),
    ("09", swapped_margin(0.0009), "margin of new token"),
    ("09", margin(lambda m: 0.0), "margin of new token"),
    ("09", margin(lambda m: m / 2), "margin of new token"),
    ("09", margin(lambda m: m * 2), "but the run shows .* or less"),
    ("06a", other_first, "its first token is not the one that its u selects"),
    # The header against the rounds
    ("06a", other_kind, "needs candidates sampled"),
    ("06a", header(rule="point-mass"), "'speculative' fits the candidates"),
    ("06a", setting(rule="point-mass"), "'point-mass' was chosen"),
    ("06a", setting(rule="auto:1"), "The rule 'auto' takes no number"),
    ("06a", sampling(temperature=0.0), "softmax at temperature 0 and only there"),
    ("06a", header(lossless=False), "the header denies it"),
    ("06a", setting(max_new_tokens=5), "4 deep, but γ and the limit allow 3"),
    ("06a", put("finished", reason="eos"), "but should be 'limit'"),
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
    ("09", cut("baseline", "margins"), "a margin for every token"),
    ("09", inside("baseline", "margins", 2, value=-1.0), "below 0"),
    # A round
    ("06a", guess(0, None, "drawn"), "a draw must be given"),
    ("06a", guess(0, 0.123, "u"), "u is 0.123 but should be"),
    ("06a", put("proposed", "guesses", 0, "drawn", lo=0.99, hi=1.0), "u is outside the drawn"),
    ("06a", guess(0, 0.5, "q"), "the interval's width is .* but should be 0.5"),
    ("06a", wider, "the guess's q is"),
    ("06a", put("proposed", root=1), "the root is not the last token"),
    ("06a", inside("scored", "p", 0, value=0.987), "the score of token 387 is 0.987"),
    ("06a", inside("scored", "top", 0, 0, 1, value=lambda p: p + 1e-3), "token"),
    ("06a", put("judged", threshold=0.5), "the threshold is 0.5 but should be"),
    ("06a", put("judged", u=0.5), "u is 0.5 but should be"),
    ("06a", put("judged", alpha=0.01), "α is 0.01 but should be"),
    ("06a", put("judged", "inputs", p=0.5, q=0.5), "the threshold is .* but should be 1.0"),
    ("06a", inside("judged", "rows", "p", 0, value=0.5), "the total of p is .* but should be 1"),
    ("06a", inside("judged", "rows", "q", 1, value=0.5), "the interval's lower end"),
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
    # Settings against the drafts
    ("06a", setting(gamma=8), "0 guesses come after node 4, but"),
    ("24", setting(gamma=6), "but the settings give 1"),
    ("07", setting(schedule="fixed"), "deep|but the settings give"),
    ("11", setting(siblings=[]), "3 guesses come after node 0.* allow 1"),
    ("11", setting(siblings=[4, 2]), "0, but the settings give 4"),
    ("06a", setting(siblings=[2]), "should be without-repl"),
    ("03", setting(siblings=[]), "should be sampled"),
    ("12", setting(siblings=[3, 3]), "1, but the settings give 3"),
    ("22", setting(siblings=[1], suffix_least=0.9), "its least is 0.1 but should be 0.9"),
    ("16", setting(siblings=[2]), "guesses come after node 1|rank path"),
    ("29", fork, "ngram proposes a chain, but this is a tree"),
    ("16", without_evidence(siblings=[1, 1]), "2 guesses come after node 0, but .* allow 1"),
    ("04", without_evidence(rank_paths=[[0], [1]]), "8 guesses exceed the 2 rank paths"),
    ("04", setting(rank_paths=[[0], [1]]), "which was not chosen"),
    ("06a", setting(candidates="greedy"), "should be point-mass"),
    ("05", setting(budget=5), "10 guesses exceed the budget of 5"),
    ("05", setting(budget=24), "10 guesses but should have 18"),
    ("13", setting(budget=12), "10 guesses but should have 12"),
    ("05", setting(fan_out=1), "guesses after a node exceed the fan-out of 1"),
    ("06a", follow_unsure, "a guess follows one with score"),
    ("13", put("proposed", "remark", weighed=4), "10 guesses but should have 4"),
    ("18", put("proposed", "remark", kept=3), "its remark gives another number of guesses"),
    ("13", put("proposed", "remark", weighed="many"), "is 'many', which is not"),
    ("02", setting(ngram_max=1), "its max is 3 but should be 1"),
    ("20", put("proposed", "remark", length=9), "its length is 9 but should be"),
    ("20", put("proposed", "remark", start=plus(-1)), "its start is .* but should be"),
    ("22", setting(suffix_factor=0.1), "its factor is 2.0 but should be 0.1"),
    ("22", put("proposed", "remark", length=0), "its length is 0 but should be"),
    ("22", guess(0, 0.25, "score"), "score is 0.25 but should be"),
    ("30", setting(lookahead_guesses=1), "but the settings allow 1"),
    ("27", shorter_ngrams, "its pool has 5 more n-grams, not 0"),
    ("27", setting(lookahead_window=3), "the size that the settings give"),
    ("02", other_copy, "its guesses are .* but should be"),
    ("22", least_chance, "its guesses are .* but should be"),
    ("27", claim_whole_window, "another number of rows in the window"),
    ("24", setting(exit_layer=3), "its exit is 6 but should be 3"),
    ("06a", setting(luck=7), "Unknown setting: luck"),
    # Evidence and remarks
    ("06a", guess(0, 1.7, "score"), "list of scores contains 1.7"),
    ("12", guess(0, -3.0, "score"), "list of scores contains -3.0"),
    ("13", guess(0, 0.001, "evidence", "path"), "the probability of its path"),
    ("13", guess(0, "x", "evidence", "path"), "parts do not fit"),
    ("18", guess(0, 9, "evidence", "place"), "places do not match"),
    ("12", guess(0, 2, "evidence", "rank"), "its rank is 2 but should be 0"),
    ("02", guess(0, 0, "evidence", "from"), "its from is 0 but should be"),
    ("22", guess(0, 10**9, "evidence", "from"), "its from is 1000000000 but should be"),
    ("27", put("proposed", "remark", rows_verified=2), "another number of guesses"),
    # Temperature, top-k and top-p
    ("06a", sampling(top_k=3), "more tokens than top-k 3"),
    ("04", sampling(top_k=4), "p has more tokens than top-k 4"),
    ("08", sampling(top_k=0), "p of a token is 0, but the settings cut none"),
    ("06a", sampling(top_p=0.5), "that top-p 0.5 cuts"),
    ("02", sampling(top_p=0.5), "p keeps a token of .* that top-p 0.5 cuts"),
    ("06", sampling(top_p=1.0), "p of a token is 0, but the settings cut none"),
    ("06a", sampling(temperature=1.5), "q of the top token is above"),
    ("06a", sampling(temperature=1.0), "q at temperature 1"),
    ("10", sampling(temperature=0.0), "greedy|temperature 0"),
    ("06a", sampling(temperature=-1.0), "must be between 0 and 100"),
    # The prompt and its tokens
    ("06a", header(prompt="Once upon a time, there was a boy"), "do not spell"),
    ("06a", cut("header", "prompt_ids", at=6), "do not spell|Round 1"),
    ("06a", forget("620"), "tokens .620. of the prompt"),
    ("27", piece("template", text="assistant\n"), "do not spell|its special"),
    ("27", piece("typed", text="something else"), "is not the typed text"),
    ("27", piece("special", text="<|other|>"), "not spelled"),
    ("28", other_id, "spell|one|its guesses are"),
    ("27", piece("typed", tokens=10**9), "are not all of"),
    ("27", piece("typed", turn=10**30), "not in the order"),
    # Spellings
    ("06a", again("12", ";"), "token 12 has two spellings"),
    ("06a", again("99999", "x"), "'99999' is not a token id"),
    ("06a", again("-3", "x"), "'-3' is not a token id"),
    ("06a", again("9" * 5000, ","), "is not a token id"),
    ("06a", lambda d: move(d, events(d, "vocabulary")[1], len(d)), "no bytes for tokens"),
    ("06a", forget("2100"), "no bytes for tokens .2100"),
    ("06a", forget("1566"), "Baseline: no bytes for tokens"),
    # The order of events
    ("06a", swap("proposed", "scored"), "'proposed' comes after"),
    ("06a", to_end("drew"), "Round|round"),
    ("06a", baseline_first, "Baseline: it comes before the run's end"),
    ("06a", twice("baseline"), "a second 'baseline' event"),
    ("06a", twice("proposed"), "a second 'proposed' event"),
    ("06a", twice("judged"), "in the wrong order|not judged|α is given at"),
    ("06a", to_end("committed"), "Round"),
    ("06a", twice("committed"), "a second 'committed' event"),
    ("06a", end_first, "it comes after the run's end"),
    ("06a", without(lambda every: [3]), "round 3 is missing"),
    ("06a", without(lambda every: every[-1:]), "'limit' but should be 'stopped'"),
    ("06a", without(lambda every: every), "the run has no rounds"),
    ("06a", without_last_token, "a last token must be drawn unless the text ended"),
    ("06a", ended_before, "continues after its end"),
]


@pytest.mark.parametrize(
    ("name", "change", "says"),
    FORGERIES,
    ids=[f"{name}: {says[:40]}" for name, _, says in FORGERIES],
)
def test_check_detects_each_forgery_of_a_shipped_trace(name, change, says):
    refused(name, change, says)


def test_check_detects_a_q_that_contradicts_top_k_or_top_p():
    trace = Trace.parse(lines_of("06a"))
    rounds, plan = [r for r in trace.rounds if r.judged], read_run_spec(trace.header)

    def hold(cut):
        for played in rounds:
            check_q(CheckedRound(played, [], plan, trace.header), cut)

    hold(Sampling(0.8))
    for way, says in ((Sampling(0.8, 3), "q has more tokens"), (Sampling(0.8, 0, 0.5), "q keeps")):
        with pytest.raises(CheckFailed, match=says):
            hold(way)


def test_check_detects_a_temperature_that_contradicts_the_top_token():
    check_temperature(0.6, 0.5, 0.0, Sampling(0.8), "here")
    check_temperature(0.4, 0.5, 0.0, Sampling(1.5), "here")
    check_temperature(0.4, 0.5, 0.3, Sampling(0.8), "here")
    check_temperature(0.6, 0.5, 0.0, Sampling(1.5, 5), "here")
    for q, temperature, says in ((0.4, 0.8, "below"), (0.6, 1.5, "above"), (0.6, 1.0, "at temp")):
        with pytest.raises(CheckFailed, match=says):
            check_temperature(q, 0.5, 0.0, Sampling(temperature), "here")
