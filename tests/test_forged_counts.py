"""Forged traces with impossible counts: of rows, parameters, bytes, threads, tokens and seconds."""

from __future__ import annotations

import pytest
from forging import HUGE, Forgery, first, header, inside, put, refused


def card(who, **values):
    """Change numbers of a model."""
    return lambda lines: lines[0][who].update(values)


def work(**values):
    """Change the rows that the drafter read."""
    found = lambda d: d["work"] and d["guesses"]  # noqa: E731
    return lambda lines: first(lines, "proposed", found)["work"].update(values)


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


COUNTS: dict[str, Forgery] = {
    "fewer rows than none": ("06a", put("scored", rows_in_pass=-5), "has -5 rows instead of 5"),
    "no rows": ("06a", put("scored", rows_in_pass=0), "has 0 rows instead of 5"),
    "fewer rows than nodes": ("03", put("scored", rows_in_pass=2), "has 2 rows"),
    "more rows than nodes": ("06a", put("scored", rows_in_pass=6), "has 6 rows instead of 5"),
    "more rows than a head's tree": ("05", put("scored", rows_in_pass=900), "has 900 rows"),
    "rows that did not ride": (
        "27", inside("scored", "rows_in_pass", value=lambda n: n + 4), "rows instead of",
    ),
    "rows of the prefill": (
        "06a", lambda lines: next(d for d in lines if d.get("round") == 0).update(rows_in_pass=7),
        "Round 0: its pass has 7 rows instead of 1",
    ),
    "rows of a foreign drafter": ("02", foreign_rows, "a pass cannot have 1000000000 rows"),
    "a body below 0": ("06a", work(body=-1), "the drafter read -1 rows"),
    "a head below 0": ("05", work(head=-1), "the drafter read -1 rows"),
    "an entry below 0": ("12", work(entry=-3), "the drafter read -3 rows"),
    "more rows than a draft reads": ("06a", work(body=10**12), "cannot have read 1000000000000"),
    "a network that read nothing": (
        "06a", work(body=0, head=0, entry=0), "draft-model guessed, but its network read no rows",
    ),
    "a copy that read rows": ("02", work(body=9), "ngram has no network, but it read rows"),
    "a target of fewer weights than none": ("06a", card("target", parameters=-1), "-1 parameters"),
    "a drafter of fewer weights": ("06a", card("drafter", parameters=-7), "-7 parameters"),
    "a target of fewer bytes": ("06a", card("target", bytes=-1), "cannot have -1 bytes"),
    "a drafter of fewer bytes": ("05", card("drafter", bytes=-1), "cannot have -1 bytes"),
    "too many weights": ("06a", card("target", parameters=HUGE), "parameters"),
    "too many bytes": ("06a", card("target", bytes=HUGE), "bytes"),
    "weights that do not fit": ("06a", card("target", bytes=1000), "1000 bytes are too few for"),
    "a hash that is none": ("06a", card("target", hash="abc"), "hash is not a SHA-256"),
    "no threads": ("06a", header(threads=0), "0 threads"),
    "fewer threads than none": ("06a", header(threads=-2), "-2 threads"),
    "too many threads": ("06a", header(threads=10**7), "10000000 threads"),
    "an empty vocabulary": ("06a", header(vocab_size=0), "outside the vocabulary|of 0 tokens"),
    "a vocabulary below 0": ("06a", header(vocab_size=-4), "outside the vocabulary|of -4 tokens"),
    "a larger vocabulary": ("06a", header(vocab_size=5000), "the whole vocabulary"),
    "no prompt": ("06a", header(prompt_ids=[]), "the prompt has no tokens"),
    "too much memory": ("06a", put("finished", held_bytes=HUGE), "of memory are not possible"),
    "seconds beyond a life": ("06a", put("scored", seconds=1e300), "took 1e.300 seconds"),
    "seconds of 30 digits": ("06a", put("proposed", seconds=HUGE), "took 10+ seconds"),
    "a recording beyond a life": ("06a", put("finished", trace_seconds=1e300), "took 1e"),
    "a plain pass beyond a life": ("06a", inside("baseline", "seconds", 2, value=1e300), "took 1e"),
    "rounds of plain decoding": ("02", plain_rounds, "plain decoding cannot have rounds"),
}  # fmt: skip

TOTALS: dict[str, Forgery] = {
    "more tokens at the last draw": ("06a", drew(rest_tokens=lambda n: n + 1), "whole vocabulary"),
    "fewer tokens at the last draw": ("02", drew(rest_tokens=lambda n: n - 3), "whole vocabulary"),
    "tokens below 0": ("03", drew(rest_tokens=lambda n: -n), "whole vocabulary"),
    "no other tokens": ("06a", drew(rest_tokens=lambda n: 0), "whole vocabulary"),
    "a drawn list beyond the vocabulary": (
        "06a", inside("drew", "tokens", 5, value=9999), "lists a token outside the vocabulary",
    ),
    "a drawn list below 0": (
        "06a", inside("drew", "tokens", -1, value=-2), "outside the vocabulary",
    ),
    "a drawn list with a token twice": (
        "06a",
        lambda lines: first(lines, "drew")["tokens"].__setitem__(
            6, first(lines, "drew")["tokens"][5]
        ),
        "lists a token twice|the last distribution at token",
    ),
    "rows beyond the vocabulary": (
        "06a", inside("judged", "rows", "tokens", -1, value=9999), "outside the vocabulary",
    ),
    "rows below 0": ("06a", inside("judged", "rows", "tokens", -1, value=-9), "outside the voc"),
    "rows with a token twice": (
        "06a",
        lambda lines: first(lines, "judged")["rows"]["tokens"].__setitem__(
            -1, first(lines, "judged")["rows"]["tokens"][0]
        ),
        "list a token twice|among|p is",
    ),
    "a guess beyond the vocabulary": (
        "06a", inside("proposed", "guesses", 3, "token", value=7000), "outside the vocabulary",
    ),
    "a guess below 0": ("05", inside("proposed", "guesses", -1, "token", value=-1), "outside"),
    "a likeliest token beyond it": (
        "06a", inside("scored", "top", 4, 2, 0, value=10**6), "node 4 is outside",
    ),
    "a likeliest token that is half one": (
        "06a", inside("scored", "top", 4, 0, 0, value=3.5), "node 4 is outside",
    ),
    "a plain token beyond it": (
        "06a", inside("baseline", "token_ids", -1, value=7777), "Baseline: a token is outside",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_check_detects_impossible_counts_in_a_trace(name):
    refused(COUNTS[name])


@pytest.mark.parametrize("name", TOTALS)
def test_check_detects_wrong_totals_and_token_ids_in_a_trace(name):
    refused(TOTALS[name])
