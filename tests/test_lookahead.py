"""Lookahead: the window's rows and their attention mask, the pool, the tree, and exact runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
import torch
from driven import grid, turns
from hypothesis import given
from hypothesis import strategies as st
from test_engine import PROMPTS

from specviz.drafters.lookahead import (
    Found,
    Lookahead,
    LookaheadSession,
    Pool,
    Window,
    visible,
    window_rows,
)
from specviz.engine.loop import rounds
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.lookup import merge_ngrams
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree

GREEDY = Settings(Sampling(0.0), max_new_tokens=32)
WARM = Settings(Sampling(0.6, top_k=40, top_p=0.95), max_new_tokens=32)


class Watched(Lookahead):
    """Lookahead whose session can be inspected."""

    def begin(self, target, settings):
        self.session = super().begin(target, settings)
        return self.session


def shaped(settings, window, ngram, guesses):
    """Return settings with this window."""
    sizes = {"lookahead_window": window, "lookahead_ngram": ngram, "lookahead_guesses": guesses}
    return replace(settings, **sizes)


# The window


@pytest.mark.slow
@given(columns=st.integers(1, 9), levels=st.integers(1, 7))
def test_lookahead_row_attends_to_exactly_one_row_per_position(columns, levels):
    rows = list(window_rows(columns, levels))
    for (level, column), seen in zip(rows, visible(columns, levels).tolist(), strict=True):
        read = [place for place, sees in zip(rows, seen, strict=True) if sees]
        assert [sum(place) for place in read] == list(range(1, level + column + 1))
        prefix = [(0, other) for other in range(1, column + 1)]
        assert read == prefix + [(other, column) for other in range(1, level + 1)]


@pytest.mark.slow
@given(
    width=st.integers(1, 6),
    ngram=st.integers(3, 7),
    passes=st.integers(1, 12),
    prompt=st.lists(st.integers(1000, 1009), min_size=1, max_size=5),
)
def test_lookahead_level_holds_the_predictions_of_one_pass(width, ngram, passes, prompt):
    """In pass t the root is at position t. Of n levels, level l, column i is the prediction of pass
    t - (n - l) for position t + l + i; before the first pass, prompt tokens fill it."""
    window = Window(prompt, width, ngram, ())
    said = {0: {1 + i: prompt[(i - 1) % len(prompt)] for i in range(1, width + ngram - 1)}}
    for t in range(1, passes + 1):
        window.set_root(-t)
        n = min(t, ngram - 1)
        columns = max(width, width + ngram - 1 - t)
        assert (len(window.levels), window.columns) == (n, columns)
        assert window.full == (n == ngram - 1)
        assert window.reach == max(level + column for level, column in window_rows(columns, n))
        expected = [
            [
                -t if level == i == 0 else said[t - (n - level)][t + level + i]
                for i in range(columns)
            ]
            for level in range(n)
        ]
        assert window.levels == expected
        assert window.rows() == [expected[0][1:], *expected[1:]]
        newest = [100 * t + i for i in range(0 if n > 1 else 1, columns)]
        said[t] = {t + n - 1 + columns - i: token for i, token in enumerate(reversed(newest))}
        found = window.advance(newest)
        grams = [(*column, new) for *column, new in zip(*expected, newest, strict=False)]
        assert found == (grams if n == ngram - 1 else [])


def test_end_token_is_replaced_in_the_lookahead_window_but_may_end_an_n_gram():
    window = Window([0, 5, 6, 0], 2, 3, ends=(0,))
    assert window.levels == [[0, 5, 6]]
    window.set_root(9)
    assert window.advance([0, 7]) == []
    assert window.levels == [[5, 6], [5, 7]]
    window.set_root(8)
    assert window.advance([0, 3]) == [(8, 5, 0), (6, 7, 3)]
    assert window.levels == [[5, 7], [6, 3]]
    assert Window([0], 2, 3, ends=(0,)).levels == [[0, 0, 0]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "attention", "sizes"),
    grid(
        [tiny.llama, tiny.gpt2, tiny.neox],
        ["sdpa", "eager"],
        [(3, 4, 3), (2, 3, 2)],
        every=5,
    ),
)
def test_logits_of_a_lookahead_row_equal_those_of_a_plain_pass_over_it(make, attention, sizes):
    """Compare rows, and the last tokens of n-grams, with plain passes without cache or mask."""
    target = tiny.target(make())
    target.model.set_attn_implementation(attention)
    settings = shaped(replace(GREEDY, max_new_tokens=20), *sizes)
    drafter, kept = Watched(), 0
    for text, turn in turns(target, drafter, settings):
        window = turn.proposal.evidence[0]["window"]
        if turn.scores.extra_rows is None:
            continue
        columns = len(window[0]) + 1
        rows = zip(window_rows(columns, len(window)), turn.scores.extra_rows.logits, strict=True)
        for (level, column), row in rows:
            read = window[0][:column] + [window[above][column] for above in range(1, level + 1)]
            with torch.inference_mode():
                logits = target.model(torch.tensor([[*text, *read]])).logits[0, -1]
            assert torch.allclose(row, logits, rtol=0, atol=2e-3)
        if len(window) == sizes[1] - 1:
            last = turn.scores.extra_rows.logits[-columns:].argmax(-1).tolist()
            levels = [[text[-1], *window[0]], *window[1:]]
            for column, ngram in enumerate(zip(*levels, last, strict=True)):
                kept += Found(ngram, turn.number, column) in drafter.session.pool.after(ngram[0])
    assert kept


# The pool and its tree


def test_pool_keeps_the_newest_n_grams_of_each_first_token():
    pool = Pool(2)
    for number, tokens in enumerate([(1, 2), (1, 3), (5, 2), (1, 2), (1, 4)]):
        pool.add(Found(tokens, number, 0))
    assert pool.after(1) == [Found((1, 2), 3, 0), Found((1, 4), 4, 0)]
    assert pool.after(2) == []
    assert len(pool) == 3


ngrams = st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=8, unique=True)


@pytest.mark.slow
@given(ngrams, st.integers(0, 4))
def test_draft_tree_contains_each_n_gram_once(tails, depth):
    tokens, parents, origins = merge_ngrams([(9, *tail) for tail in tails], depth, ends=(0,))
    tree = DraftTree((9, *tokens), (-1, *parents))
    expected = []  # paths from the root, in the order of the n-grams
    for tail in tails:
        cut = tail[: tail.index(0) + 1] if 0 in tail else tail
        expected += [cut[:end] for end in range(1, min(depth, len(cut)) + 1)]
    paths = [tuple(tree.tokens[n] for n in tree.path(node)[1:]) for node in range(1, len(tree))]
    assert paths == list(dict.fromkeys(expected))
    assert len(origins) == len(paths)
    for path, origin in zip(paths, origins, strict=True):
        starts = [at for at, tail in enumerate(tails) if tail[: len(path)] == path]
        assert origin == starts[0]


# Evidence


def test_evidence_of_lookahead_has_its_window_n_grams_and_their_sources(tiny_target):
    """Each guess refers to its n-gram, and that to the round and column of its discovery."""
    width, size, guesses = 4, 4, 3
    settings = shaped(GREEDY, width, size, guesses)
    windows, newest, traced_back = {}, {}, 0
    for text, turn in turns(tiny_target, Lookahead(), settings, PROMPTS[2]):
        tree, about = turn.proposal.tree, turn.proposal.evidence
        whole = about[0]
        filling = turn.number < size - 1
        assert whole["filling"] == filling
        assert whole["rows_verified"] == len(tree) - 1
        assert whole["rows_window"] == sum(map(len, whole["window"]))
        extra_rows = turn.scores.extra_rows
        assert whole["rows_window"] == (len(extra_rows.tokens) if extra_rows else 0)
        assert len(turn.p) == 1 + whole["rows_verified"]
        assert len(whole["ngrams"]) <= min(guesses, whole["pool"])
        if filling:
            assert whole["pool"] == whole["rows_verified"] == 0
        elif extra_rows:
            assert whole["rows_window"] == width - 1 + width * (size - 2)
        for node in range(1, len(tree)):
            ngram = whole["ngrams"][about[node]["ngram"]]
            path = [tree.tokens[n] for n in tree.path(node)]
            assert ngram[: len(path)] == path
            when, column = about[node]["round"], about[node]["column"]
            levels = windows[when]
            made = [level[column] for level in levels] + [newest[when][column]]
            assert ngram == made
            assert when < turn.number
            traced_back += 1
        if extra_rows:
            windows[turn.number] = [[text[-1], *whole["window"][0]], *whole["window"][1:]]
            newest[turn.number] = extra_rows.logits[-width:].argmax(-1).tolist()
    assert traced_back > 10


# Edges


def session(ngrams):
    made = LookaheadSession(tiny.target(), shaped(GREEDY, 3, 3, 4))
    for tokens in ngrams:
        made.pool.add(Found(tokens, 0, 0))
    return made


def test_last_pass_has_no_lookahead_rows():
    for room, depth in ((1, 0), (2, 1), (3, 2), (9, 2)):
        proposal = session(ngrams=[(7, 8, 9), (7, 8, 6)]).propose([5, 6, 7], room, Chance(1, 1))
        proposal.check(Drawn.POINT_MASS, room, (0,))
        assert max(proposal.tree.depths) == depth
        assert len(proposal.tree) == [1, 2, 4][depth]
        assert (proposal.extra_rows is None) == (room == 1)


def test_no_guess_follows_an_end_token():
    made = session(ngrams=[(7, 0, 9), (7, 8, 0), (7, 8, 9)])
    proposal = made.propose([0, 5, 6, 7], 9, Chance(1, 1))
    assert proposal.tree == DraftTree((7, 0, 8, 0, 9), (-1, 0, 0, 2, 2))
    assert proposal.extra_rows.tokens == (5, 6, 5)  # the prompt's tokens without end-of-text


@pytest.mark.parametrize("make", [tiny.llama, tiny.gpt2])
def test_lookahead_window_stays_within_the_context_length(make):
    """GPT-2 has no embedding for positions beyond its last."""
    target = tiny.target(make())
    settings = shaped(replace(GREEDY, max_new_tokens=20), 6, 4, 3)
    prompt = "red " * (tiny.POSITIONS // 2)
    ids = target.encode(prompt, 0)[: tiny.POSITIONS - 20]
    assert len(ids) == tiny.POSITIONS - 20
    places_seen, rode = [], []
    text = list(ids)
    for turn in rounds(target, Lookahead(), ids, settings):
        extra_rows = turn.proposal.extra_rows
        rode.append(extra_rows is not None)
        if extra_rows:
            places_seen += [len(text) - 1 + place for place in extra_rows.positions]
        text += turn.tokens
    assert tiny.POSITIONS - 3 < max(places_seen) < tiny.POSITIONS
    assert rode[1]
    assert not rode[-1]
    with torch.inference_mode():
        plain = target.model.generate(
            torch.tensor([ids]), max_new_tokens=20, do_sample=False, pad_token_id=0
        )
    assert text == plain[0].tolist()
