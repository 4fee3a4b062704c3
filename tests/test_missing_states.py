"""Sessions notice if the states that they were given do not fit the text."""

from __future__ import annotations

import dflash_made
import driven
import headed
import moa_made
import pytest

from specviz.drafters.contract.harness import start_session
from specviz.settings.chance import Chance
from specviz.settings.settings import Settings

CHANCE = Chance(1, 1)
MADE = {
    "DFlash": lambda: (headed.target(), dflash_made.drafter()),
    "MoA": lambda: (headed.target(), moa_made.drafter()),
    "EAGLE": lambda: (target := driven.deep_target(), driven.drafter(target)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_number_of_hidden_states_must_match_the_text(name):
    target, drafter = MADE[name]()
    text = target.encode("The cat saw the", 9)
    session = start_session(target, drafter, text, Settings(gamma=3))
    with pytest.raises(ValueError, match="states for a text of"):
        session.propose([*text, 7], 5, CHANCE)


@pytest.mark.slow
def test_moa_needs_a_new_token_for_each_draft():
    target, drafter = MADE["MoA"]()
    text = target.encode("The cat saw the", 9)
    session = start_session(target, drafter, text, Settings(gamma=3))
    session.propose(text, 5, CHANCE)
    with pytest.raises(ValueError, match="no new token"):
        session.propose(text, 5, CHANCE)
