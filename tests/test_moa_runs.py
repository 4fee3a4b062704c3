"""Mixture of Attentions: whole runs are exact, and nothing of a rejected guess stays behind."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import headed
import pytest
import tiny
from moa_made import GREEDY, TEXT, WARM, begun, drafter, learnt, turns, wild
from test_engine import generated, joint, traced

from specviz.engine.loop import plain, rounds
from specviz.settings.chance import FINAL, Chance, key
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.metrics import difference, token_ids
from specviz.verification import Drawn
from specviz.verification.distributions import BadScores
from specviz.verification.exact import g_test


@pytest.mark.parametrize("changes", [{}, {"schedule": "learning"}, {"budget": 3, "fan_out": 1}])
def test_greedy_is_generate_token_for_token(changes):
    settings = replace(GREEDY, **changes)
    for head in (learnt()[0], wild(headed.target())):
        for prompt in headed.PROMPTS:
            trace = traced(headed.target(), drafter(head), prompt, settings)
            assert token_ids(trace) == generated(headed.target(), prompt, settings)
            assert difference(trace) is None
            check(trace)


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(0.8, top_k=5, top_p=0.9)])
def test_every_sampled_trace_checks_and_replays(sampling):
    for seed in range(2):
        settings = replace(WARM, sampling=sampling, seed=seed)
        first, again = (
            traced(headed.target(), drafter(), "The cat", settings, baseline=False)
            for _ in range(2)
        )
        check(first)
        assert token_ids(first) == token_ids(again)


def test_the_tokens_of_real_runs_follow_the_target():
    """Two tokens after one laid one: 350 seeds; false alarm 1 in 1,000."""
    sampling = Sampling(1.6, top_k=4, top_p=0.98)
    coins = {key(0, FINAL, 0): 0.1}
    settings = Settings(sampling, max_new_tokens=4, gamma=2, budget=6, fan_out=3, coins=coins)
    target, counts, first, kept = headed.target(), Counter(), 0, 0
    ids = target.encode("The cat saw", 4)
    for seed in range(350):
        text = []
        for turn in rounds(target, drafter(), ids, replace(settings, seed=seed)):
            text += turn.tokens
            kept += len(turn.verdict.path)
            if len(text) > 2:
                break
        first = text[0]
        counts[tuple(text[1:3])] += 1
    laws = joint(target, [*ids, first], sampling, depth=2)
    cells = sorted(laws)
    assert set(counts) <= set(cells)
    assert 20 < kept < 700
    assert g_test([counts[c] for c in cells], [laws[c] for c in cells]).p_value > 1e-3


@pytest.mark.parametrize("settings", [GREEDY, replace(WARM, gamma=3)])
def test_a_session_says_what_one_that_reads_the_text_anew_says(settings):
    """Nothing of a rejected guess stays behind, and nothing of a kept one is missing."""
    lengths = set()
    for text, turn in turns(settings):
        end = len(headed.target().encode(headed.PROMPTS[1], 0)) + settings.max_new_tokens
        fresh = begun(text, settings).propose(
            text, tiny.room(settings, end - len(text)), turn.chance
        )
        assert fresh.tree == turn.proposal.tree
        for node, score in turn.proposal.score.items():
            assert fresh.score[node] == pytest.approx(score, abs=1e-5)
        lengths.add(len(turn.verdict.path))
    assert len(lengths) > 1


def test_candidates_are_a_point_mass_within_the_budget():
    for settings in (GREEDY, WARM):
        for _, turn in turns(settings):
            proposal = turn.proposal
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q
            assert len(proposal.tree) - 1 <= settings.budget
            assert set(proposal.evidence) == set(range(len(proposal.tree)))
            assert json.loads(json.dumps(proposal.evidence[0])) == proposal.evidence[0]


@pytest.mark.parametrize(("room", "depth"), [(1, 0), (2, 1), (3, 2), (99, 4)])
def test_a_tree_grows_no_deeper_than_there_is_room(room, depth):
    text = headed.target().encode(TEXT, 9)
    settings = replace(GREEDY, budget=100)
    room = tiny.room(settings, room)
    proposal = begun(text, settings).propose(text, room, Chance(1, 1))
    assert max(proposal.tree.depths) == depth
    proposal.check(proposal.drawn, room, ())


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_run_stops_exactly_at_its_limit(limit):
    trace = traced(headed.target(), drafter(), "The cat", replace(WARM, max_new_tokens=limit))
    assert len(token_ids(trace)) == limit
    check(trace)


def test_a_drafted_end_of_text_ends_it_exactly_there():
    target = headed.again()
    ids = target.encode("The cat", 24)
    text = [step.token for step in plain(target, ids, GREEDY)]
    ends = next(i for i in range(6, 24) if text[i] not in text[:i])
    target.eos = (text[ends],)
    trace = traced(target, drafter(), "The cat", GREEDY)
    assert token_ids(trace) == text[: ends + 1]
    assert trace.finished.reason == "eos"
    check(trace)


def test_two_sessions_over_one_head_do_not_disturb_each_other():
    one, other = (headed.target().encode(p, 9) for p in (TEXT, "The dog liked a fox"))
    alone = [begun(t, GREEDY).propose(t, 5, Chance(1, 1)).tree for t in (one, other)]
    sessions = [begun(t, GREEDY) for t in (one, other)]
    assert [
        s.propose(t, 5, Chance(1, 1)).tree for s, t in zip(sessions, (one, other), strict=True)
    ] == alone


def test_states_that_do_not_make_up_the_text_are_refused():
    text = headed.target().encode(TEXT, 9)
    session = begun(text, GREEDY)
    with pytest.raises(ValueError, match="states for a text of"):
        session.propose([*text, 5], 5, Chance(1, 1))
    session = begun(text, GREEDY)
    session.propose(text, 5, Chance(1, 1))
    with pytest.raises(ValueError, match="no new token"):
        session.propose(text, 5, Chance(1, 1))


def test_what_several_commits_brought_is_read_at_once():
    text = headed.target().encode(TEXT, 9)
    made = drafter()
    run = headed.target().start(made.taps)
    states = run.prefill(text[:-1]).states
    session = made.begin(run, GREEDY)
    session.commit(text[1:5], states.take(range(4)))
    session.commit(text[5:], states.take(range(4, len(text) - 1)))
    whole = begun(text, GREEDY).propose(text, 5, Chance(1, 1))
    assert session.propose(text, 5, Chance(1, 1)).tree == whole.tree


def test_a_head_that_gives_nan_is_reported_in_a_sentence():
    head = wild(headed.target())
    for weight in head.parameters():
        weight.fill_(float("nan"))
    with pytest.raises(BadScores, match="tiny-moa gave scores that are not numbers"):
        list(rounds(headed.target(), drafter(head), [5, 6, 7], GREEDY))
