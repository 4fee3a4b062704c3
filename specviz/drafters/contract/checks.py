"""The checks of the contract.

Some check whole runs: the text, its distribution, and where it ends. The others check sessions:
what a draft may contain, what it may depend on, and which inputs raise errors.
"""

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
    RecordingSession,
    distribution_after,
    distributions_agree,
    end_positions,
    end_reason,
    expect,
    first_rounds,
    first_rows,
    greedy_tokens,
    guess_evidence,
    inner_guesses,
    nan_weights,
    networks,
    rounds_of,
    run_trace,
    same_numbers,
    start_session,
    summarize,
)
from specviz.engine.loop import Decoding, plain
from specviz.engine.protocol import draft_cut
from specviz.models.passes import CaptureSpec, States
from specviz.settings.chance import DRAFT, FINAL, u_key
from specviz.trace.check import check
from specviz.trace.metrics import token_ids
from specviz.verification import Cut, Drawn
from specviz.verification.distributions import BadScores
from specviz.verification.exact import g_test, plain_distribution

LIMITS: Final = (1, 2, 3, 7)
FALSE_ALARM: Final = 1e-3  # probability that a correct drafter fails the G-test
COUNTED_NEW: Final = 4  # max_new_tokens for the G-test: three tokens, so drafts are two deep
CUT_NODES: Final = 5  # how many guesses are sampled again with other random numbers
CUT_COINS: Final = (0.02, 0.5, 0.85, 0.99)  # small u give likely tokens; see `distributions.draw`
FEWEST: Final = 20  # number of accepted and of rejected guesses that the G-test needs


def greedy_equals_generate(case: Case) -> None:
    """At temperature 0, the text is the same as from transformers' `generate`.

    All settings of the case are run on every prompt. Runs alternate between a fixed γ followed by
    plain decoding, and a schedule that adapts γ.
    """
    target = case.target()
    drafter = case.drafter(target)
    for turn, prompt in enumerate(case.prompts):
        wanted = greedy_tokens(target, prompt, NEW)
        for at, shape in enumerate(case.shapes):
            fixed = (turn + at) % 2 == 0
            schedule: Literal["fixed", "learning"] = "fixed" if fixed else "learning"
            settings = replace(shape, sampling=GREEDY, max_new_tokens=NEW, schedule=schedule)
            trace = run_trace(target, drafter, prompt, settings, baseline=fixed)
            expect(token_ids(trace) == wanted, f"It changed the continuation of {prompt!r}.")
            plain_too = not trace.baseline or trace.baseline.token_ids == wanted
            changed = f"After it, plain decoding changed the continuation of {prompt!r}."
            expect(plain_too and (trace.baseline is not None) == fixed, changed)
            check(trace)


def sampled_runs_replay(case: Case) -> None:
    """A sampled run's trace passes `check`, and a second run with the same u equals it."""
    target = case.target()
    drafter = case.drafter(target)
    for seed, (prompt, shape) in enumerate(product(case.prompts[:2], case.shapes)):
        settings = replace(shape, sampling=case.sampling, max_new_tokens=NEW, seed=seed)
        first = run_trace(target, drafter, prompt, settings, baseline=False)
        check(first)
        ids = target.encode(prompt, NEW)
        again = [token for r in rounds_of(target, drafter, ids, settings) for token in r.tokens]
        expect(token_ids(first) == again, "The same random numbers gave another text.")


def tokens_follow_target_distribution(case: Case) -> None:
    """After a forced first token, the next two follow the target's distribution (G-test)."""
    target = case.ending()
    drafter, ids = case.drafter(target), target.encode(case.prompts[0], COUNTED_NEW)
    counts: Counter[tuple[int, ...]] = Counter()
    accepted, rejected, first = 0, 0, 0
    for seed in range(case.runs):
        shape = case.shapes[seed % len(case.shapes)]
        coins = {u_key(0, FINAL, 0): 0.1}
        settings = replace(
            shape, sampling=case.sampling, max_new_tokens=COUNTED_NEW, seed=seed, coins=coins
        )
        text: list[int] = []
        for played in Decoding(target, drafter, ids, settings).rounds():
            text += played.tokens
            passed = [decision.accepted for decision in played.verdict.decisions]
            accepted, rejected = accepted + sum(passed), rejected + passed.count(False)
            if len(text) > 2:
                break
        first = text[0]
        counts[tuple(text[1:3])] += 1
    too_few = f"Only {accepted} guesses were accepted and {rejected} rejected in {case.runs} runs."
    expect(min(accepted, rejected) >= FEWEST, too_few)
    distributions = plain_distribution(
        lambda more: distribution_after(target, [*ids, first, *more], case.sampling), 2
    )
    expect(set(counts) <= set(distributions), "It gave tokens of probability 0 there.")
    cells = sorted(distributions)
    result = g_test([counts[cell] for cell in cells], [distributions[cell] for cell in cells])
    expect(result.degrees > 0, "The target is certain there; choose a higher temperature.")
    chance = f"(p = {result.p_value:.1e})"
    sentence = f"The tokens of {case.runs} runs do not follow the target {chance}."
    expect(result.p_value > FALSE_ALARM, sentence)


def guess_does_not_decide_itself(case: Case) -> None:
    """Whether a guess is proposed does not depend on its token, so the token is a sample of q.

    Each guess, and the one that would follow the last, is sampled with several random numbers while
    the earlier guesses stay the same. It must be proposed with all of these numbers or with none.
    """
    target = case.ending()
    drafter, text = case.drafter(target), target.encode(case.prompts[0], NEW)
    for settings in case.settings():
        session = start_session(target, drafter, text, settings)
        if session.drawn is Drawn.POINT_MASS or draft_cut(session) is Cut.AFTER_SAMPLING:
            continue
        for node in range(1, CUT_NODES + 1):
            proposed = set()
            for u in CUT_COINS:
                coins = {u_key(1, DRAFT, node): u}
                again = start_session(target, drafter, text, settings)
                proposal = again.propose(text, 5, replace(settings, coins=coins).chance(1))
                proposed.add(len(proposal.tree) > node)
            expect(
                len(proposed) == 1,
                f"Guess {node} is proposed or left out depending on the token sampled for it, so "
                "it is not a sample of q. Decide before it is sampled, or announce "
                "`cut = Cut.AFTER_SAMPLING`.",
            )


def run_stops_at_limit(case: Case) -> None:
    """A run has exactly as many new tokens as requested."""
    target = case.ending()
    drafter = case.drafter(target)
    for limit in LIMITS:
        for settings in case.settings(limit):
            trace = run_trace(target, drafter, case.prompts[0], settings)
            count = len(token_ids(trace))
            expect(count == limit, f"{count} new tokens were made, and the limit was {limit}.")
            expect(end_reason(trace) == "limit", "The run does not report that its limit ended it.")
            check(trace)


def text_ends_at_end_token(case: Case) -> None:
    """A text ends at its first end-of-text token, guessed or not, as in plain decoding."""
    for shape in case.shapes:
        settings = replace(shape, sampling=GREEDY, max_new_tokens=NEW)
        for prompt in case.prompts[:2]:
            free = case.ending()
            ids = free.encode(prompt, NEW)
            text = [step.token for step in plain(free, ids, settings)]
            rounds = rounds_of(free, case.drafter(free), ids, settings)
            for at, position in enumerate(end_positions(rounds, text)[:4]):
                target = case.ending(text[position])
                trace = run_trace(target, case.drafter(target), prompt, settings, baseline=not at)
                right = token_ids(trace) == text[: position + 1]
                expect(right, f"The text should have ended at new token {position + 1}.")
                expect(end_reason(trace) == "eos", "The run does not report that the text ended.")
                check(trace)


def drafts_no_deeper_than_allowed(case: Case) -> None:
    """With n tokens left, a draft is at most n - 1 deep, since the target adds one token."""
    target = case.ending()
    drafter, most = case.drafter(target), 0
    for settings in case.settings():
        for prompt, turns in zip(case.prompts[:2], ((4, 1), (1, 4)), strict=True):
            ids = target.encode(prompt, settings.max_new_tokens)
            # Each limit is reached early with one prompt and late with the other.
            for max_tokens, rounds in zip((1, 2, 3, 5), turns * 2, strict=True):
                decoding = Decoding(target, drafter, ids, settings)
                chance = [
                    settings.chance(turn.number + 1) for turn in first_rounds(decoding, rounds)
                ][-1]
                proposal = decoding.session.propose(list(decoding.text), max_tokens, chance)
                session = decoding.session
                proposal.check(session.drawn, max_tokens, (), draft_cut(session))
                most = max(most, *proposal.tree.depths)
    expect(most > 1, "It never drafted two tokens deep; give prompts on which it does.")


def nothing_follows_end_token(case: Case) -> None:
    """End-of-text guesses have no children."""
    shown = False
    for settings in case.settings():
        for prompt in case.prompts[:2]:
            for token in islice(inner_guesses(case, prompt, settings), 2):
                target = case.ending(token)
                ids = target.encode(prompt, settings.max_new_tokens)
                for played in Decoding(target, case.drafter(target), ids, settings).rounds():
                    made = played.proposal
                    made.check(made.drawn, len(played.p) + 1, target.eos, made.cut)
                    shown |= token in made.tree.tokens[1:]
    expect(shown, "It never guessed an end of text; give prompts on which it drafts two deep.")


def sessions_are_independent(case: Case) -> None:
    """Two interleaved runs over the same weights equal the two separate runs."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        texts = [target.encode(prompt, NEW) for prompt in case.prompts[:2]]
        alone = [summarize(rounds_of(target, drafter, ids, settings)) for ids in texts]
        one, other = (Decoding(target, drafter, ids, settings).rounds() for ids in texts)
        turns = list(zip_longest(one, other))
        both = [summarize([pair[i] for pair in turns if pair[i] is not None]) for i in (0, 1)]
        expect(both == alone, "Two interleaved runs differ from the two separate runs.")


def fresh_session_proposes_the_same(case: Case) -> None:
    """A session keeps the states of accepted guesses and drops the states of rejected guesses.

    In the middle of a run, it must propose the same as a new session that reads the whole text at
    once. A drafter whose guesses depend on earlier rounds is checked by repeating a whole run.
    """
    target = case.ending()
    drafter = case.drafter(target)
    for settings in case.settings():
        ids = target.encode(case.prompts[0], NEW)
        if case.remembers:
            first, second = (summarize(rounds_of(target, drafter, ids, settings)) for _ in range(2))
            expect(first == second, "A second run differs from the first.")
            continue
        decoding = Decoding(target, drafter, ids, replace(settings, schedule="fixed"))
        decoding.session = recorder = RecordingSession(decoding.session)
        list(decoding.rounds())
        for text, max_tokens, chance, proposal in recorder.calls:
            fresh = start_session(target, drafter, text, settings).propose(text, max_tokens, chance)
            expect(fresh.tree == proposal.tree, f"After {len(text)} tokens a new session differs.")
            expect(
                distributions_agree(fresh.q, proposal.q),
                f"After {len(text)} tokens a new q differs.",
            )
            sure = same_numbers(fresh.score, proposal.score)
            expect(sure, f"After {len(text)} tokens a new session has other scores.")
            reasons = same_numbers(guess_evidence(fresh), guess_evidence(proposal))
            expect(reasons, f"After {len(text)} tokens a new session has other evidence.")


def nan_weights_raise(case: Case) -> None:
    """NaN weights end a run with BadScores, and its message names the network."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        with nan_weights(networks(drafter, target) or [target.model]):
            try:
                for prompt in case.prompts:
                    ids = target.encode(prompt, settings.max_new_tokens)
                    list(Decoding(target, drafter, ids, settings).rounds())
            except BadScores:
                continue
        raise ContractBroken("Its weights were NaN, and it continued.")


def missing_states_raise(case: Case) -> None:
    """Missing hidden states raise a ValueError instead of giving a worse draft."""
    target = case.ending()
    drafter = case.drafter(target)
    if drafter.capture == CaptureSpec():
        return
    for settings in case.settings():
        text = target.encode(case.prompts[0], settings.max_new_tokens)
        for select in (lambda _: States(), partial(first_rows, len(text) - 2)):
            try:
                session = start_session(target, drafter, text, settings, select)
                session.propose(text, 5, settings.chance(1))
            except ValueError as refusal:
                expect(len(str(refusal).split()) > 3, f"{refusal} is not a sentence.")
                continue
            raise ContractBroken("States were missing, and it continued.")
