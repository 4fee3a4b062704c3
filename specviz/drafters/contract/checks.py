"""Laws of whole runs: what text comes, by which law, and where it ends."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import islice, product, zip_longest
from typing import Final, Literal

from specviz.drafters.contract.harness import (
    GREEDY,
    NEW,
    Case,
    ContractBroken,
    Listening,
    begun,
    close,
    demand,
    ends,
    evidence,
    few,
    first_rows,
    followed,
    generated,
    law_after,
    networks,
    reason,
    rounds_of,
    same_numbers,
    spoiled,
    story,
    traced,
)
from specviz.engine.loop import Decoding, plain
from specviz.models.passes import CaptureSpec, States
from specviz.settings.chance import FINAL, u_key
from specviz.trace.check import check
from specviz.trace.metrics import token_ids
from specviz.verification.distributions import BadScores
from specviz.verification.exact import g_test, plain_distribution

LIMITS: Final = (1, 2, 3, 7)
FALSE_ALARM: Final = 1e-3  # how often a true drafter would fail the G-test, seeds being luck
ROOM: Final = 4  # new tokens of a run that is counted: three, and guesses two deep
FEWEST: Final = 20  # guesses kept, and fallen, without which a G-test would show nothing


def greedy_is_generate(case: Case) -> None:
    """At temperature 0 the text is the one that transformers' own `generate` makes.

    With every shape on every prompt; by turns at a fixed γ, plain decoding following, and at one
    that learns.
    """
    target = case.target()
    drafter = case.drafter(target)
    for turn, prompt in enumerate(case.prompts):
        wanted = generated(target, prompt, NEW)
        for at, shape in enumerate(case.shapes):
            fixed = (turn + at) % 2 == 0
            schedule: Literal["fixed", "learning"] = "fixed" if fixed else "learning"
            settings = replace(shape, sampling=GREEDY, max_new_tokens=NEW, schedule=schedule)
            trace = traced(target, drafter, prompt, settings, baseline=fixed)
            demand(token_ids(trace) == wanted, f"It changed what {prompt!r} goes on with.")
            plain_too = not trace.baseline or trace.baseline.token_ids == wanted
            changed = f"After it, plain decoding changed what {prompt!r} goes on with."
            demand(plain_too and (trace.baseline is not None) == fixed, changed)
            check(trace)


def sampled_runs_check_and_replay(case: Case) -> None:
    """A warm run's trace follows from its coins, and a second run is the first again."""
    target = case.target()
    drafter = case.drafter(target)
    for seed, (prompt, shape) in enumerate(product(case.prompts[:2], case.shapes)):
        settings = replace(shape, sampling=case.sampling, max_new_tokens=NEW, seed=seed)
        first = traced(target, drafter, prompt, settings, baseline=False)
        check(first)
        ids = target.encode(prompt, NEW)
        again = [token for r in rounds_of(target, drafter, ids, settings) for token in r.tokens]
        demand(token_ids(first) == again, "The same coins gave another text the second time.")


def tokens_follow_the_target(case: Case) -> None:
    """Two tokens after one laid by hand come as often as the target's law has them (G-test)."""
    target = case.ending()
    drafter, ids = case.drafter(target), target.encode(case.prompts[0], ROOM)
    counts: Counter[tuple[int, ...]] = Counter()
    kept, fallen, first = 0, 0, 0
    for seed in range(case.runs):
        shape = case.shapes[seed % len(case.shapes)]
        coins = {u_key(0, FINAL, 0): 0.1}
        settings = replace(
            shape, sampling=case.sampling, max_new_tokens=ROOM, seed=seed, coins=coins
        )
        text: list[int] = []
        for played in Decoding(target, drafter, ids, settings).rounds():
            text += played.tokens
            accepted = [decision.accepted for decision in played.verdict.decisions]
            kept, fallen = kept + sum(accepted), fallen + accepted.count(False)
            if len(text) > 2:
                break
        first = text[0]
        counts[tuple(text[1:3])] += 1
    few = f"Only {kept} guesses were kept and {fallen} fell in {case.runs} runs."
    demand(min(kept, fallen) >= FEWEST, few)
    laws = plain_distribution(
        lambda more: law_after(target, [*ids, first, *more], case.sampling), 2
    )
    demand(set(counts) <= set(laws), "It brought tokens that the target never says there.")
    cells = sorted(laws)
    result = g_test([counts[cell] for cell in cells], [laws[cell] for cell in cells])
    demand(result.degrees > 0, "The target always says the same there; choose a warmer sampling.")
    chance = f"(p = {result.p_value:.1e})"
    sentence = f"The tokens of {case.runs} runs do not follow the target {chance}."
    demand(result.p_value > FALSE_ALARM, sentence)


def stops_at_its_limit(case: Case) -> None:
    """A run has exactly as many new tokens as were asked for, however few."""
    target = case.ending()
    drafter = case.drafter(target)
    for limit in LIMITS:
        for settings in case.settings(limit):
            trace = traced(target, drafter, case.prompts[0], settings)
            many = len(token_ids(trace))
            demand(many == limit, f"{many} new tokens came where {limit} were asked for.")
            demand(reason(trace) == "limit", "The run does not say that its limit ended it.")
            check(trace)


def ends_exactly_there(case: Case) -> None:
    """A text ends with its first end-of-text token, kept guess or not, as plain decoding has it."""
    for shape in case.shapes:
        settings = replace(shape, sampling=GREEDY, max_new_tokens=NEW)
        for prompt in case.prompts[:2]:
            free = case.ending()
            ids = free.encode(prompt, NEW)
            text = [step.token for step in plain(free, ids, settings)]
            rounds = rounds_of(free, case.drafter(free), ids, settings)
            for at, place in enumerate(ends(rounds, text)[:4]):
                target = case.ending(text[place])
                trace = traced(target, case.drafter(target), prompt, settings, baseline=not at)
                right = token_ids(trace) == text[: place + 1]
                demand(right, f"The text should have ended at new token {place + 1}.")
                demand(reason(trace) == "eos", "The run does not say that the text ended.")
                check(trace)


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
