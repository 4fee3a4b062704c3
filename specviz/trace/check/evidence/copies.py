"""Evidence of drafters without a network: n-grams, suffixes, lookahead, and blind guesses.

Drafts of n-grams and suffixes follow from the text and the settings, so they are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.rules import (
    EvidenceRules,
    Keys,
    evidence_of,
    expect_entries,
    expect_work,
    keys,
    read_count,
)
from specviz.trace.check.expectations import expect, expect_close
from specviz.trace.lookup import longest_match, merge_ngrams
from specviz.trace.suffixes import Suffixes, best_draft, describe_draft
from specviz.trace.work import Work

Levels = list[list[int]]

MATCH: Final = keys("min max", "start length", "from")  # of n-grams
COUNTS: Final = keys("factor least", "start length expected", "count total from")  # of suffixes


def expect_guesses(draft: Draft, tokens: Sequence[int], parents: Sequence[int]) -> None:
    """Raise CheckFailed unless a draft has these guesses; the lists start at node 1."""
    found = [(guess.token, guess.parent) for guess in draft.guesses]
    expected = list(zip(tokens, parents, strict=True))
    problem = f"its guesses are {found!r:.80} but should be {expected!r:.80} (token, parent)"
    expect(found == expected, draft.where, problem)


def expect_evidence(draft: Draft, form: Keys, expected: Mapping[int, Mapping[str, Any]]) -> None:
    """Raise CheckFailed unless the remark (node 0) and every guess have at least this evidence."""
    for node, entries in sorted(expected.items()):
        here = draft.node(node) if node else draft.where
        found = evidence_of(draft.guesses[node - 1]) if node else draft.remark
        expect_entries(found, entries, here)
        known = form.of_guess if node else form.of_remark
        more = sorted((found.keys() & known) - entries.keys())
        expect(not more, here, f"its evidence has {', '.join(more)} without a reason")


def check_ngram(draft: Draft) -> None:
    """Repeat the search for the longest match, and the copy of what followed it."""
    settings, text = draft.settings, draft.text
    remark: dict[str, Any] = {"min": settings.ngram_min, "max": settings.ngram_max}
    expect_entries(draft.remark, remark, draft.where)
    found = longest_match(text, settings.ngram_min, settings.ngram_max)
    copied: list[int] = []
    if found is not None:
        remark |= {"start": found.start, "length": found.length}
        for token in text[found.end : found.end + draft.depth]:
            copied.append(token)
            if token in draft.eos:
                break
    origins = {at: {"from": found.end + at - 1} for at in range(1, len(copied) + 1) if found}
    expect_entries(draft.remark, remark, draft.where)
    expect_guesses(draft, copied, range(len(copied)))
    expect_evidence(draft, MATCH, {0: {"form": "match"} | remark, **origins})
    expect_work(draft, Work())


def check_suffix(draft: Draft) -> None:
    """Count the text's suffixes again, and repeat the draft."""
    settings, text, memory = draft.settings, draft.text, draft.memory
    known = len(memory.seen.text)
    if memory.seen.text != list(text[:known]):
        memory.seen, known = Suffixes(), 0
    memory.seen.extend(text[known:])
    best, end = best_draft(memory.seen, draft.depth, settings, draft.eos)
    remark, *each = describe_draft(best, end, settings).values()
    limits = {name: remark[name] for name in ("factor", "least")}
    expect_entries(draft.remark, limits, draft.where)
    expect_guesses(draft, best.tokens[1:], best.parents[1:])
    expected = remark.pop("expected", None)
    if expected is not None:
        found = draft.remark.get("expected")
        number = type(found) in (int, float)
        expect(number, draft.where, f"its expected number of accepted guesses is {found!r:.40}")
        what = "the expected number of accepted guesses"
        expect_close(found or 0.0, expected, draft.where, what)
        remark["expected"] = found
    expect_evidence(draft, COUNTS, {0: remark} | dict(enumerate(each, 1)))
    for node, guess in enumerate(draft.guesses, 1):
        here = draft.node(node)
        expect_close(-1.0 if guess.score is None else guess.score, best.score[node], here, "score")
    expect_work(draft, Work())


def check_uniform(draft: Draft) -> None:
    """Check that every token had the same probability, and that u selects the guess."""
    size = draft.header.vocab_size
    if not draft.guesses:
        return
    expect_entries(draft.remark, {"vocabulary": size}, draft.where)
    chance = draft.settings.chance(draft.proposed.round)
    for node, guess in enumerate(draft.guesses, 1):
        here, siblings = draft.node(node), draft.siblings(node)
        rank = siblings.index(node)
        left = size - rank
        if guess.q is not None:
            expect_close(guess.q, 1.0 / left, here, "q")
        token = int(chance.draft(node) * left)
        for removed in sorted(draft.guesses[at - 1].token for at in siblings[:rank]):
            token += removed <= token
        near = abs(guess.token - token) <= 1  # u may be next to the edge of an interval
        expect(near, here, f"its token is {guess.token} but should be {token}")
    expect_work(draft, Work())


def check_lookahead(draft: Draft) -> None:
    """Check the n-grams that were tried, their tree, and the window and pool that gave them."""
    remark, where = draft.remark, draft.where
    total = len(draft.guesses)
    verified = remark["rows_verified"]
    expect(verified == total, where, "its remark gives another number of guesses")
    window = read_lists(remark["window"], where)
    check_window(draft, window)
    check_pool(draft, window)
    check_ngrams(draft, read_lists(remark["ngrams"], where))
    draft.memory.windows[draft.proposed.round] = ([draft.text[-1]], window)
    expect_work(draft, Work())


def read_lists(found: Any, where: str) -> Levels:
    """Read a list of lists of tokens."""
    whole = isinstance(found, list) and all(isinstance(each, list) for each in found)
    whole = whole and all(type(token) is int for each in found for token in each)
    expect(whole, where, f"{found!r:.80} are not lists of tokens")
    return found if whole else []


def check_window(draft: Draft, window: Levels) -> None:
    """Check the window's size, and that it continues the window of the round before."""
    where, settings, remark = draft.where, draft.settings, draft.remark
    sizes = list(map(len, window))
    same = remark["rows_window"] == sum(sizes)
    expect(same, where, "its remark gives another number of rows in the window")
    levels = len(sizes)
    columns = settings.lookahead_window + settings.lookahead_ngram - 1 - levels
    whole = levels < settings.lookahead_ngram and sizes[:1] == [columns - 1]
    fits = not sizes or (whole and sizes[1:] == [columns] * (levels - 1))
    expect(fits, where, "its window does not have the size that the settings give")
    if sizes:
        expect_entries(remark, {"filling": levels < settings.lookahead_ngram - 1}, where)
    before = draft.memory.windows.get(draft.proposed.round - 1)
    if before is None or not before[1] or not window:
        return
    old = before[1]
    full = len(old) == settings.lookahead_ngram - 1
    kept = [old[1][1:], *old[2:]] if full else [level[1:] for level in old]
    same = window[:-1] == kept
    expect(same, where, "its window does not continue the window of the round before")


def check_pool(draft: Draft, window: Levels) -> None:
    """Check that a pass adds at most one n-gram per column to the pool, and removes none."""
    pool, memory = read_count(draft.remark, "pool", draft.where), draft.memory
    before = memory.windows.get(draft.proposed.round - 1)
    if before is not None:
        levels = len(before[1])
        full = levels == draft.settings.lookahead_ngram - 1
        most = draft.settings.lookahead_window if full else 0
        more = pool - memory.known
        expect(0 <= more <= most, draft.where, f"its pool has {more} more n-grams, not 0 to {most}")
    memory.known = pool


def check_ngrams(draft: Draft, ngrams: Levels) -> None:
    """Check that the n-grams begin with the newest token, and that the tree merges them."""
    where, settings, root = draft.where, draft.settings, draft.text[-1]
    most = min(settings.lookahead_guesses, draft.memory.known)
    allowed = len(ngrams) <= most
    expect(allowed, where, f"it has {len(ngrams)} n-grams, but the settings allow {most}")
    size = settings.lookahead_ngram
    whole = all(len(ngram) == size and ngram[0] == root for ngram in ngrams)
    expect(whole, where, f"not every n-gram has {size} tokens, of which the first is the newest")
    tokens, parents, origins = merge_ngrams(ngrams, draft.depth, draft.eos)
    expect_guesses(draft, tokens, parents)
    found: dict[int, tuple[int, int]] = {}
    for node, (guess, origin) in enumerate(zip(draft.guesses, origins, strict=True), 1):
        here, entries = draft.node(node), evidence_of(guess)
        place = read_count(entries, "round", here), read_count(entries, "column", here)
        expect_entries(entries, {"ngram": origin}, here)
        same = found.setdefault(origin, place) == place
        expect(same, here, "its n-gram was found at another place")
        check_found(draft, ngrams[origin], place, here)
    ordered = [found[origin] for origin in sorted(found)]
    expect(ordered == sorted(ordered), where, "its n-grams are not in the order of their rounds")


def check_found(draft: Draft, ngram: Sequence[int], place: tuple[int, int], where: str) -> None:
    """Check that an n-gram was in its round's window, at its column, where it was predicted."""
    number, column = place
    fits = number < draft.proposed.round and column < draft.settings.lookahead_window
    expect(fits, where, f"its n-gram cannot be from round {number}, column {column}")
    known, later = (draft.memory.windows.get(at) for at in (number, number + 1))
    if known is None:
        return
    root, window = known
    first, *deeper = window
    tokens = [(root + first)[column], *(level[column] for level in deeper)]
    same = list(ngram[:-1]) == tokens
    expect(same, where, f"its n-gram is {list(ngram)!r:.80}, but its window had {tokens!r:.80}")
    if later is not None and later[1] and ngram[-1] not in draft.eos:
        predicted = later[1][-1][column]
        expect(ngram[-1] == predicted, where, f"its n-gram should end with token {predicted}")


COPY_RULES: Final[Mapping[str, EvidenceRules]] = {
    "ngram": EvidenceRules({"match": MATCH}, check_ngram),
    "suffix": EvidenceRules({"counts": COUNTS}, check_suffix),
    "lookahead": EvidenceRules(
        {
            "lookahead": keys(
                "pool ngrams filling window rows_verified rows_window", each="ngram round column"
            )
        },
        check_lookahead,
    ),
    "uniform": EvidenceRules({None: keys(), "lower-bound": keys("vocabulary")}, check_uniform),
}
