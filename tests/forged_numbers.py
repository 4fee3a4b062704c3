"""Forgeries of numbers: counts, seconds, draws, scores, distributions and margins."""

from __future__ import annotations

import math

from forging import HUGE, Forgery, cut, events, first, guess, header, inside, put, sampling, setting


def card(who, **values):
    """Change numbers of a model."""
    return lambda lines: lines[0][who].update(values)


def work(**values):
    """Change the rows that the drafter read."""
    found = lambda d: d["work"] and d["guesses"]  # noqa: E731
    return lambda lines: first(lines, "proposed", found)["work"].update(values)


def rows_of_prefill(lines):
    next(line for line in lines if line.get("round") == 0)["rows_in_pass"] = 7


def repeated(at, other, event, *keys):
    """Replace a listed token by another listed token."""

    def change(lines):
        listed = first(lines, event)
        for key in keys:
            listed = listed[key]
        listed[at] = listed[other]

    return change


def drew(**change):
    """Change numbers of the first last token, each by a function of its old value."""

    def apply(lines):
        event = first(lines, "drew")
        event.update({name: of(event[name]) for name, of in change.items()})

    return apply


def plain_rounds(lines):
    """Claim that rounds are of plain decoding, which has none."""
    lines[0]["drafter"]["family"] = "plain"


def foreign_rows(lines):
    """Claim more rows than any pass has, for an unknown drafter."""
    lines[0]["drafter"]["family"] = "own"
    first(lines, "scored")["rows_in_pass"] = 10**9


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


def unknown_prompt(lines):
    lines[0]["prompt_ids"][0] = 10**6


def moved_draw(lines):
    """Move a last token's interval halfway to its u; u stays inside, and the width stays."""
    drawn = first(lines, "drew", lambda d: d["token"] != d["tokens"][-1])["drawn"]
    half = (drawn["u"] - drawn["lo"]) / 2
    drawn.update(lo=drawn["lo"] + half, hi=drawn["hi"] + half)


def recovered(line):
    return line["kind"] == "recovered"


def other_rejection(lines):
    """Change p and q of the rejected token by the same amount."""
    line = first(lines, "drew", recovered)
    line.update(at_p=line["at_p"] + 0.01, at_q=line["at_q"] + 0.01)


def half_precision(lines):
    """Do the same with a margin of 0 in half precision, which rounds more."""
    lines[0]["dtype"] = "bfloat16"
    swapped_margin(0.0)(lines)


def other_kind(lines):
    """Declare the guesses as point masses without q and u, although the rule compares p / q."""
    event = first(lines, "proposed")
    event["drawn"] = "point-mass"
    for each in event["guesses"]:
        each.update(q=None, drawn=None)


def negative(lines):
    """Keep the totals of the rows, but make values negative."""
    rows = first(lines, "judged")["rows"]
    p, q = rows["p"], rows["q"]
    p[-2], p[-1] = p[-2] - 5.0, p[-1] + 5.0
    rows["overlap"] = sum(map(min, p, q)) + rows["rest_both"]
    rows["residual"] = sum(max(a - b, 0) for a, b in zip(p, q, strict=True)) + rows["rest_residual"]


def added(**more):
    """Add to numbers of the first verdict's rows."""

    def change(lines):
        rows = first(lines, "judged")["rows"]
        rows.update({name: rows[name] + each for name, each in more.items()})

    return change


def wider(lines):
    """Change q of a guess and widen the interval around u to match."""
    each = first(lines, "proposed")["guesses"][0]
    each["q"] += 0.01
    each["drawn"]["hi"] += 0.01


def early_end(lines):
    """Let plain decoding stop before the text ends."""
    plain = first(lines, "baseline")
    plain.update(token_ids=plain["token_ids"][:5], seconds=plain["seconds"][:5])


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
    ("06a", rows_of_prefill, "Round 0: its pass has 7 rows instead of 1"),
    ("02", foreign_rows, "a pass cannot have 1000000000 rows"),
    ("06a", work(body=-1), "the drafter read -1 rows"),
    ("05", work(head=-1), "the drafter read -1 rows"),
    ("12", work(entry=-3), "the drafter read -3 rows"),
    ("06a", work(body=10**12), "cannot have read 1000000000000"),
    ("06a", work(body=0, head=0, entry=0), "draft-model guessed, but its network read no rows"),
    ("02", work(body=9), "ngram has no network, but it read rows"),
    ("06a", card("target", parameters=-1), "-1 parameters"),
    ("06a", card("drafter", parameters=-7), "-7 parameters"),
    ("06a", card("target", bytes=-1), "cannot have -1 bytes"),
    ("05", card("drafter", bytes=-1), "cannot have -1 bytes"),
    ("06a", card("target", parameters=HUGE), "parameters"),
    ("06a", card("target", bytes=HUGE), "bytes"),
    ("06a", card("target", bytes=1000), "1000 bytes are too few for"),
    ("06a", card("target", hash="abc"), "hash is not a SHA-256"),
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
    ("02", plain_rounds, "plain decoding cannot have rounds"),
    # Totals and token ids
    ("06a", drew(rest_tokens=lambda n: n + 1), "whole vocabulary"),
    ("02", drew(rest_tokens=lambda n: n - 3), "whole vocabulary"),
    ("03", drew(rest_tokens=lambda n: -n), "whole vocabulary"),
    ("06a", drew(rest_tokens=lambda n: 0), "whole vocabulary"),
    ("06a", inside("drew", "tokens", 5, value=9999), "lists a token outside the vocabulary"),
    ("06a", inside("drew", "tokens", -1, value=-2), "outside the vocabulary"),
    ("06a", repeated(6, 5, "drew", "tokens"), "lists a token twice|the last distribution at"),
    ("06a", inside("judged", "rows", "tokens", -1, value=9999), "outside the vocabulary"),
    ("06a", inside("judged", "rows", "tokens", -1, value=-9), "outside the voc"),
    ("06a", repeated(-1, 0, "judged", "rows", "tokens"), "list a token twice|among|p is"),
    ("06a", inside("proposed", "guesses", 3, "token", value=7000), "outside the vocabulary"),
    ("05", inside("proposed", "guesses", -1, "token", value=-1), "outside"),
    ("06a", inside("scored", "top", 4, 2, 0, value=10**6), "node 4 is outside"),
    ("06a", inside("scored", "top", 4, 0, 0, value=3.5), "node 4 is outside"),
    ("06a", inside("baseline", "token_ids", -1, value=7777), "Baseline: a token is outside"),
    # Guesses and their draws
    ("11", same_siblings, "siblings have the same token"),
    ("05", same_siblings, "siblings have the same token"),
    ("02", other_way, "'speculative' fits the candidates"),
    ("02", foreign_way, "in more than one way"),
    ("06a", many_guesses, "240 guesses, but a draft has at most 128"),
    ("09", after_end, "it comes after the end of the text"),
    ("06a", guess(0, "high", "score"), "score cannot be 'high'"),
    ("06a", guess(0, 7.5, "token"), "token cannot be 7.5"),
    ("06a", guess(0, True, "token"), "token cannot be True"),
    ("06a", guess(0, 2, "parent"), "parent does not come before"),
    ("06a", guess(0, -1, "parent"), "parent does not come before"),
    ("06a", guess(1, 2, "parent"), "parent does not come before"),
    ("06a", guess(3, 1.5, "drawn", "hi"), "not a probability|width"),
    ("06a", guess(1, -0.1, "drawn", "lo"), "not a probability|width"),
    ("06a", shifted("proposed"), "no likelier token ends|lower"),
    ("02", shifted("drew"), "no likelier|lower end"),
    ("03", unreached_shifted, "where no more probable token's"),
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
    ("09", one_hot_elsewhere, "the softmax"),
    ("09", swapped_margin(0.0), "margin of new token .* run shows"),
    ("09", half_precision, "margin of new token .* run shows"),
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
    ("06a", setting(max_new_tokens=5), "more tokens than the limit"),
    ("06a", put("finished", reason="eos"), "but should be 'limit'"),
    ("06a", put("finished", reason="stopped"), "but should be 'limit'"),
    ("06a", unknown_prompt, "outside the vocabulary"),
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
    ("06a", guess(0, 0.123, "u"), "TODO"),
    ("06a", put("proposed", "guesses", 0, "drawn", lo=0.99, hi=1.0), "TODO"),
    ("06a", guess(0, 0.5, "q"), "TODO"),
    ("06a", wider, "the guess's q is"),
    ("06a", put("proposed", root=1), "TODO"),
    ("06a", inside("scored", "p", 0, value=0.987), "TODO"),
    ("06a", inside("scored", "p", -1, value=0.999), "the score of token|among the top tokens"),
    ("06a", inside("scored", "top", 0, 0, 1, value=lambda p: p + 1e-3), "token"),
    ("06a", put("judged", threshold=0.5), "TODO"),
    ("06a", put("judged", u=0.5), "TODO"),
    ("06a", put("judged", node=2), "TODO"),
    ("06a", put("judged", alpha=0.01), "TODO"),
    ("06a", put("judged", "inputs", p=0.5, q=0.5), "TODO"),
    ("06a", inside("judged", "rows", "p", 0, value=0.5), "TODO"),
    ("06a", inside("judged", "rows", "q", 1, value=0.5), "TODO"),
    ("06a", put("judged", "rows", rest_p=0.5), "TODO"),
    ("06a", put("judged", "rows", rest_q=-0.5), "q contains -0.5, which is not"),
    ("06a", put("judged", "rows", overlap=0.01), "TODO"),
    ("06a", put("judged", "rows", residual=0.01), "TODO"),
    ("06a", negative, "p contains -.*not a probability"),
    ("06a", added(rest_both=0.02, overlap=0.02), "the overlap of the other tokens exceeds"),
    ("06a", added(rest_residual=0.1, residual=0.1), "the residual of all others"),
    ("06a", added(rest_tokens=1), "the whole vocabulary"),
    ("06a", put("drew", "drawn", u=0.001), "TODO"),
    ("06a", put("drew", "drawn", lo=0.0, hi=1.0), "TODO"),
    ("06a", moved_mass, "TODO"),
    ("06a", moved_draw, "the interval's lower end"),
    ("06a", other_rejection, "of the rejection is"),
    ("06a", inside("drew", "at_q", value=None, having=recovered), "at_q must be"),
    ("06a", put("drew", kind="plain"), "TODO"),
    ("06a", inside("drew", "p", 0, value=0.9999), "TODO"),
    ("06a", inside("committed", "tokens", value=lambda tokens: [*tokens, 3]), "TODO"),
    ("06a", put("committed", round=7), "TODO"),
]
