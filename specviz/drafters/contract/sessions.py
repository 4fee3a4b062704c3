"""Laws of sessions: what a draft may hold, what it rests on, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice, zip_longest

from specviz.drafters.contract.case import NEW, Case, ContractBroken, demand
from specviz.drafters.contract.trial import (
    Listening,
    begun,
    close,
    evidence,
    few,
    first_rows,
    followed,
    networks,
    rounds_of,
    same_numbers,
    spoiled,
    story,
)
from specviz.engine.loop import Decoding
from specviz.models.passes import CaptureSpec, States
from specviz.verification.distributions import BadScores


def keeps_to_the_room(case: Case) -> None:
    """With room for n tokens a draft is at most n - 1 deep: one place is the target's own."""
    target = case.ending()
    drafter, most = case.drafter(target), 0
    for settings in case.settings():
        for prompt, turns in zip(case.prompts[:2], ((4, 1), (1, 4)), strict=True):
            ids = target.encode(prompt, settings.max_new_tokens)
            # Each room is tried early on one prompt and late on the other.
            for max_tokens, rounds in zip((1, 2, 3, 5), turns * 2, strict=True):
                decoding = Decoding(target, drafter, ids, settings)
                chance = [settings.chance(turn.number + 1) for turn in few(decoding, rounds)][-1]
                proposal = decoding.session.propose(list(decoding.text), max_tokens, chance)
                proposal.check(decoding.session.drawn, max_tokens, ())
                most = max(most, *proposal.tree.depths)
    demand(most > 1, "It never guessed two tokens deep; give prompts on which it does.")


def nothing_follows_an_end(case: Case) -> None:
    """No guess stands under one that ends the text."""
    shown = False
    for settings in case.settings():
        for prompt in case.prompts[:2]:
            for token in islice(followed(case, prompt, settings), 2):
                target = case.ending(token)
                ids = target.encode(prompt, settings.max_new_tokens)
                for played in Decoding(target, case.drafter(target), ids, settings).rounds():
                    played.proposal.check(played.proposal.drawn, len(played.p) + 1, target.eos)
                    shown |= token in played.proposal.tree.tokens[1:]
    demand(shown, "It never guessed an end of text; give prompts on which it goes two deep.")


def sessions_do_not_disturb_each_other(case: Case) -> None:
    """Two runs in turns over the same weights are the runs that each would be alone."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        texts = [target.encode(prompt, NEW) for prompt in case.prompts[:2]]
        alone = [story(rounds_of(target, drafter, ids, settings)) for ids in texts]
        one, other = (Decoding(target, drafter, ids, settings).rounds() for ids in texts)
        turns = list(zip_longest(one, other))
        both = [story([pair[i] for pair in turns if pair[i] is not None]) for i in (0, 1)]
        demand(both == alone, "Two runs in turns are not the two runs alone.")


def a_fresh_session_says_the_same(case: Case) -> None:
    """Nothing of a rejected guess stays behind, and nothing of a kept one is missing.

    A session in the middle of a run proposes what a new one does that reads the text at once. One
    that remembers rounds gone by is compared with a whole second run instead.
    """
    target = case.ending()
    drafter = case.drafter(target)
    for settings in case.settings():
        ids = target.encode(case.prompts[0], NEW)
        if case.remembers:
            first, second = (story(rounds_of(target, drafter, ids, settings)) for _ in range(2))
            demand(first == second, "A second run is not the first again.")
            continue
        decoding = Decoding(target, drafter, ids, replace(settings, schedule="fixed"))
        decoding.session = heard = Listening(decoding.session)
        list(decoding.rounds())
        for text, max_tokens, chance, proposal in heard.asked:
            fresh = begun(target, drafter, text, settings).propose(text, max_tokens, chance)
            demand(fresh.tree == proposal.tree, f"After {len(text)} tokens a new session differs.")
            demand(close(fresh.q, proposal.q), f"After {len(text)} tokens a new q differs.")
            sure = same_numbers(fresh.score, proposal.score)
            demand(sure, f"After {len(text)} tokens a new session is as sure of other guesses.")
            reasons = same_numbers(evidence(fresh), evidence(proposal))
            demand(reasons, f"After {len(text)} tokens a new session has other evidence.")


def nan_is_a_sentence(case: Case) -> None:
    """Weights that are no numbers end a run with BadScores, which says whose they are."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        with spoiled(networks(drafter, target) or [target.model]):
            try:
                for prompt in case.prompts:
                    ids = target.encode(prompt, settings.max_new_tokens)
                    list(Decoding(target, drafter, ids, settings).rounds())
            except BadScores:
                continue
        raise ContractBroken("Its weights were no numbers, and it went on.")


def missing_states_are_refused(case: Case) -> None:
    """Tokens that come without the states its taps ask for are a ValueError, not a worse draft."""
    target = case.ending()
    drafter = case.drafter(target)
    if drafter.capture == CaptureSpec():
        return
    for settings in case.settings():
        text = target.encode(case.prompts[0], settings.max_new_tokens)
        for some in (lambda _: States(), partial(first_rows, len(text) - 2)):
            try:
                session = begun(target, drafter, text, settings, some)
                session.propose(text, 5, settings.chance(1))
            except ValueError as refusal:
                demand(len(str(refusal).split()) > 3, f"{refusal} is no sentence.")
                continue
            raise ContractBroken("States were missing, and it went on.")
