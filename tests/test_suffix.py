"""Suffix decoding: the automaton's counts equal brute-force counts, and drafts follow them."""

from __future__ import annotations

import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st

from specviz.drafters.suffix import Suffix
from specviz.models.passes import CaptureSpec
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.suffixes import Suffixes

WARM = Settings(Sampling(0.9, top_k=40, top_p=0.95), max_new_tokens=24, gamma=4)
TEXTS = st.lists(st.lists(st.integers(1, 3), max_size=8), min_size=1, max_size=5)
SLOPPY = 1e-9


def places(text, string):
    """Return the positions where a string ends in a text, by brute force."""
    size = len(string)
    return [i + size - 1 for i in range(len(text) - size + 1) if text[i : i + size] == string]


def walk(suffixes, string):
    state = suffixes.empty
    for token in string:
        state = state and state.next.get(token)
    return state


@pytest.mark.slow
@given(TEXTS)
def test_automaton_counts_and_ends_equal_brute_force_after_every_commit(chunks):
    suffixes, text = Suffixes(), []
    for chunk in chunks:
        suffixes.extend(chunk)
        text += chunk
        assert suffixes.text == text
        strings = {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
        for string in strings:
            found, ends = walk(suffixes, string), places(text, list(string))
            assert (found.count, found.last) == (len(ends), ends[-1])
            after = {t: places(text, [*string, t]) for t in (1, 2, 3)}
            order = sorted((t for t in after if after[t]), key=lambda t: rank(after[t]))
            assert [t for t, _ in found.following()] == order
            assert all(walk(suffixes, [*string, t]) is None for t in after if not after[t])
        repeated = {}  # the longest suffix of each set of positions
        for length in range(1, len(text)):
            ends = tuple(places(text, text[-length:]))
            if len(ends) > 1:
                repeated[ends] = length
        lengths = [state.length for state in suffixes.ends()]
        assert lengths == sorted(repeated.values(), reverse=True)


def grown(text, end, depth, settings, eos):
    """Draft by recounting: expected tokens, and nodes (token, parent, count, total, position)."""
    nodes, expected, level = [(text[-1], -1)], 0.0, [(0, end, 1.0)]
    for width in map(settings.width, range(depth)):
        below = []
        for parent, string, chance in level:
            after = {t: places(text, [*string, t]) for t in set(text)}
            total = sum(map(len, after.values()))
            seen = sorted((t for t in after if after[t]), key=lambda t: rank(after[t]))
            for token in seen[:width]:
                reached = chance * len(after[token]) / total
                if reached < settings.suffix_least:
                    continue
                nodes.append((token, parent, len(after[token]), total, after[token][-1]))
                expected += reached
                if token not in eos:
                    below.append((len(nodes) - 1, [*string, token], reached))
        level = below
    return expected, nodes


def rank(ends):
    """Return the sort key: more frequent first, then more recent."""
    return -len(ends), -ends[-1]


def slow(text, most, settings, eos):
    """Return the best draft over all suffixes, (expected, length, nodes), or None."""
    best = None
    for length in range(len(text) - 1, 0, -1):
        if len(places(text, text[-length:])) < 2:
            continue
        depth = min(most, int(settings.suffix_factor * length))
        expected, nodes = grown(text, text[-length:], depth, settings, eos)
        if best is None or expected > best[0] + SLOPPY:
            best = (expected, length, nodes)
    return best


@pytest.mark.slow
@given(
    TEXTS,
    st.integers(1, 5),
    st.sampled_from([[], [2], [3, 2], [1, 2]]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([0.01, 0.1, 0.35, 0.6, 1.0]),
    st.integers(1, 6),
    st.sampled_from([0, 3]),
)
def test_suffix_drafts_equal_brute_force(chunks, gamma, siblings, factor, least, room, eos):
    target = tiny.target(tiny.small_llama())
    target.eos = (eos,)
    settings = Settings(gamma=gamma, siblings=siblings, suffix_factor=factor, suffix_least=least)
    session = Suffix().begin(target.start(CaptureSpec()), settings)
    text = [1]
    for chunk in chunks:
        text += chunk
        proposal = session.propose(text, tiny.max_tokens(settings, room), Chance(1, 1))
        proposal.check(session.drawn, tiny.max_tokens(settings, room), target.eos)
        tree, remark = proposal.tree, proposal.evidence[0]
        best = slow(text, min(gamma, room - 1), settings, target.eos)
        if best is None:
            assert len(tree) == 1
            assert remark == {"form": "counts", "factor": factor, "least": least}
            continue
        expected, length, nodes = best
        assert remark["expected"] == pytest.approx(expected, abs=SLOPPY)
        assert remark["length"] == length
        assert text[remark["start"] :][:length] == text[-length:]
        assert remark["start"] + length < len(text)
        assert list(zip(tree.tokens, tree.parents, strict=True)) == [n[:2] for n in nodes]
        for node in range(1, len(tree)):
            found = proposal.evidence[node]
            assert (found["count"], found["total"], found["from"]) == nodes[node][2:]
            assert text[found["from"]] == tree.tokens[node]
            assert proposal.score[node] == found["count"] / found["total"]


def test_suffix_session_forgets_an_earlier_text():
    drafter, target = Suffix(), tiny.target()
    mine, other = (drafter.begin(target.start(CaptureSpec()), WARM) for _ in range(2))
    mine.propose([7, 8, 9, 7], 9, Chance(1, 1))
    assert len(other.propose([1, 7], 9, Chance(1, 1)).tree) == 1
    assert len(mine.propose([1, 7], 9, Chance(1, 1)).tree) == 1
    assert mine.propose([1, 7, 2, 7], 9, Chance(1, 1)).tree.tokens == (7, 2)
