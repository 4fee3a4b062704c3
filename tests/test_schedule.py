"""The engine chooses γ for every drafter; a session sees it only as `max_tokens`."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
from families import KNOWING_NOTHING, target_of

from specviz.engine.loop import Decoding
from specviz.settings.settings import Sampling, Settings, max_gamma

pytestmark = pytest.mark.slow

COLD = Settings(Sampling(0), gamma=2, max_new_tokens=20, exit_layer=1)
SETTINGS = [
    replace(COLD, sampling=Sampling(temperature), schedule=kind, siblings=siblings)
    for temperature in (0, 0.9)
    for kind in ("fixed", "learning")
    for siblings in ([], [3, 2])
]


def pair(name):
    """Return a new target and a drafter of that family."""
    if name == "draft-model":
        return tiny.target(), tiny.draft()
    target = target_of(name)
    return target, KNOWING_NOTHING[name](target)


def played(target, drafter, settings):
    """Return for each round its max_tokens, its tokens left, its depth and its accepted length."""
    ids = target.encode(tiny.PROMPT, settings.max_new_tokens)
    decoding, rooms = Decoding(target, drafter, ids, settings), []
    propose = decoding.session.propose

    def spied(context, room, chance):
        rooms.append((room, len(ids) + settings.max_new_tokens - len(context)))
        return propose(context, room, chance)

    decoding.session.propose = spied
    _, *rounds = decoding.rounds()
    for given, turn in zip(rooms, rounds, strict=True):
        yield *given, max(turn.proposal.tree.depths), len(turn.verdict.path)


@pytest.mark.parametrize("name", [*KNOWING_NOTHING, "draft-model"])
def test_max_tokens_is_gamma_plus_1_and_gamma_adapts_to_acceptance(name):
    target, drafter = pair(name)
    for settings in SETTINGS:
        gamma = settings.gamma
        for room, left, deep, kept in played(target, drafter, settings):
            assert room == min(left, gamma + 1)
            assert kept <= deep <= room - 1
            if deep and settings.schedule == "learning":
                step = 2 if kept == deep else -1
                gamma = min(max_gamma(settings.siblings), max(1, gamma + step))


def test_full_acceptance_raises_gamma_and_rejection_lowers_it():
    learning = replace(COLD, schedule="learning", max_new_tokens=40)
    for name, rooms in [("oracle", [3, 5, 7]), ("uniform", [3, 2, 2])]:
        assert [room for room, *_ in played(*pair(name), learning)][:3] == rooms
        fixed = replace(learning, schedule="fixed")
        assert [room for room, *_ in played(*pair(name), fixed)][:3] == [3, 3, 3]


def test_accepted_path_to_a_leaf_counts_as_full_acceptance():
    settings = replace(COLD, siblings=[2, 2], schedule="learning", max_new_tokens=40)
    rooms = [room for room, *_ in played(*pair("oracle"), settings)]
    assert rooms[:3] == [3, 5, 7]
