"""Mixture of Attentions: whole runs are exact, and rejected guesses leave no state."""

from __future__ import annotations

import json

import headed
import pytest
from moa_made import GREEDY, TEXT, WARM, drafter, start_session, turns

from specviz.settings.chance import Chance
from specviz.verification import Drawn


@pytest.mark.slow
def test_candidates_are_declared_as_point_mass_within_the_budget():
    for settings in (GREEDY, WARM):
        for _, turn in turns(settings):
            proposal = turn.proposal
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q
            assert len(proposal.tree) - 1 <= settings.budget
            assert set(proposal.evidence) == set(range(len(proposal.tree)))
            assert json.loads(json.dumps(proposal.evidence[0])) == proposal.evidence[0]


def test_number_of_hidden_states_must_match_the_text():
    text = headed.target().encode(TEXT, 9)
    session = start_session(text, GREEDY)
    with pytest.raises(ValueError, match="states for a text of"):
        session.propose([*text, 5], 5, Chance(1, 1))
    session = start_session(text, GREEDY)
    session.propose(text, 5, Chance(1, 1))
    with pytest.raises(ValueError, match="no new token"):
        session.propose(text, 5, Chance(1, 1))


def test_hidden_states_of_several_commits_are_read_at_once():
    text = headed.target().encode(TEXT, 9)
    made = drafter()
    run = headed.target().start(made.capture)
    states = run.prefill(text[:-1]).states
    session = made.begin(run, GREEDY)
    session.commit(text[1:5], states.take(range(4)))
    session.commit(text[5:], states.take(range(4, len(text) - 1)))
    whole = start_session(text, GREEDY).propose(text, 5, Chance(1, 1))
    assert session.propose(text, 5, Chance(1, 1)).tree == whole.tree
