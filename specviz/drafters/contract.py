"""The contract of a drafter: eleven laws, as plain functions that need no test runner.

Rule: a law sees a drafter through its protocol alone, so it holds for one written elsewhere too.
Each law returns in silence or raises ContractBroken with a sentence; `check_drafter` tries all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from math import isclose
from typing import Any, Final

import torch
from torch import Tensor

from specviz.engine.decode import run
from specviz.engine.loop import Decoding, plain
from specviz.engine.protocol import Drafter, DraftSession, Proposal
from specviz.engine.round import Played
from specviz.models.passes import Riders, States, Taps
from specviz.models.target import Target
from specviz.settings.chance import FINAL, Chance, key
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.trace.events import Header
from specviz.trace.file import Trace
from specviz.trace.metrics import token_ids
from specviz.verification.distributions import BadScores, law
from specviz.verification.exact import g_test, plain_law

GREEDY: Final = Sampling(0.0)
WARM: Final = Sampling(1.3, top_k=4, top_p=0.97)
LIMITS: Final = (1, 2, 3, 7)
FALSE_ALARM: Final = 1e-3  # how often a true drafter would fail the G-test, seeds being luck
FEWEST: Final = 20  # verdicts without which a G-test would show nothing
ROUNDING: Final = 1e-5  # of q, between rows that were read at once and one after another


class ContractBroken(AssertionError):
    """A drafter broke a law of the contract; the message says which and how."""


@dataclass(frozen=True, slots=True)
class Case:
    """A drafter on trial.

    target: gives the target; laws copy it where they change how its texts end. drafter: makes
    the drafter for it. prompts: two or more, on which it guesses two tokens deep at times.
    shapes: settings to try it with; laws lay temperature, seed and limit themselves.
    sampling: how warm runs draw; few tokens must carry most of the law, or no statistics will
    tell. remembers: its guesses depend on rounds gone by and not on the text alone (a pool of
    n-grams). runs: how many the G-test counts.
    """

    target: Callable[[], Target]
    drafter: Callable[[Target], Drafter]
    prompts: Sequence[str]
    shapes: Sequence[Settings] = (Settings(gamma=4),)
    sampling: Sampling = WARM
    remembers: bool = False
    runs: int = 250

    def settings(self, new: int = 24) -> Iterator[Settings]:
        """Every shape at temperature 0, then warm, for so many new tokens."""
        for sampling in (GREEDY, self.sampling):
            for shape in self.shapes:
                yield replace(shape, sampling=sampling, max_new_tokens=new)

    def ending(self, *ends: int) -> Target:
        """The target, but its texts end with one of these tokens only."""
        target = copy(self.target())
        target.eos = ends
        return target


Law = Callable[[Case], None]


def check_drafter(case: Case, laws: Iterable[str] | None = None) -> None:
    """Try all laws on a drafter, or those named. Raises ContractBroken at the first it breaks."""
    for name in LAWS if laws is None else laws:
        check_law(name, case)


def check_law(name: str, case: Case) -> None:
    """Try one law. Raises ContractBroken, also where the drafter failed in any other way."""
    try:
        LAWS[name](case)
    except ContractBroken as broken:
        raise ContractBroken(f"Broken: {name}. {broken}") from broken
    except Exception as error:
        raise ContractBroken(f"Broken: {name}. {type(error).__name__}: {error}") from error


def greedy_is_generate(case: Case) -> None:
    """At temperature 0 the text is the one that transformers' own `generate` makes."""
    target = case.target()
    drafter = case.drafter(target)
    for prompt in case.prompts:
        wanted = _generated(target, prompt, 24)
        for shape in case.shapes:
            for schedule in ("fixed", "learning"):
                settings = replace(shape, sampling=GREEDY, max_new_tokens=24, schedule=schedule)
                trace = _trace(target, drafter, prompt, settings)
                _demand(token_ids(trace) == wanted, f"It changed what {prompt!r} goes on with.")
                _demand(
                    trace.baseline is not None and trace.baseline.token_ids == wanted,
                    f"After it, plain decoding changed what {prompt!r} goes on with.",
                )
                check(trace)


def sampled_runs_check_and_replay(case: Case) -> None:
    """A warm run's trace follows from its coins, and a second run is the first again."""
    target = case.target()
    drafter = case.drafter(target)
    for seed, shape in enumerate([*case.shapes] * 2):
        settings = replace(shape, sampling=case.sampling, max_new_tokens=24, seed=seed)
        for prompt in case.prompts[:2]:
            first = _trace(target, drafter, prompt, settings, baseline=False)
            again = _trace(target, drafter, prompt, settings, baseline=False)
            check(first)
            same = token_ids(first) == token_ids(again)
            _demand(same, "The same coins gave another text the second time.")


def tokens_follow_the_target(case: Case) -> None:
    """Two tokens after one laid by hand come as often as the target's law has them (G-test)."""
    target = case.ending()
    drafter, ids = case.drafter(target), target.encode(case.prompts[0], 6)
    counts: Counter[tuple[int, ...]] = Counter()
    judged, first = 0, 0
    for seed in range(case.runs):
        shape = case.shapes[seed % len(case.shapes)]
        coins = {key(0, FINAL, 0): 0.1}
        settings = replace(shape, sampling=case.sampling, max_new_tokens=6, seed=seed, coins=coins)
        text: list[int] = []
        for played in Decoding(target, drafter, ids, settings).rounds():
            text += played.tokens
            judged += len(played.verdict.decisions)
            if len(text) > 2:
                break
        first = text[0]
        counts[tuple(text[1:3])] += 1
    _demand(judged >= FEWEST, f"Only {judged} guesses were judged in {case.runs} runs.")
    laws = plain_law(lambda more: _law_after(target, [*ids, first, *more], case.sampling), 2)
    _demand(set(counts) <= set(laws), "It brought tokens that the target never says there.")
    cells = sorted(laws)
    result = g_test([counts[cell] for cell in cells], [laws[cell] for cell in cells])
    _demand(result.degrees > 0, "The target always says the same there; choose a warmer sampling.")
    chance = f"(p = {result.p_value:.1e})"
    sentence = f"The tokens of {case.runs} runs do not follow the target {chance}."
    _demand(result.p_value > FALSE_ALARM, sentence)


def stops_at_its_limit(case: Case) -> None:
    """A run has exactly as many new tokens as were asked for, however few."""
    target = case.ending()
    drafter = case.drafter(target)
    for limit in LIMITS:
        for settings in case.settings(limit):
            trace = _trace(target, drafter, case.prompts[0], settings)
            many = len(token_ids(trace))
            _demand(many == limit, f"{many} new tokens came where {limit} were asked for.")
            _demand(_reason(trace) == "limit", "The run does not say that its limit ended it.")
            check(trace)


def keeps_to_the_room(case: Case) -> None:
    """With room for n tokens a draft is at most n - 1 deep: one place is the target's own."""
    target = case.ending()
    drafter, most = case.drafter(target), 0
    for settings in case.settings():
        for prompt in case.prompts:
            ids = target.encode(prompt, settings.max_new_tokens)
            for room, rounds in ((room, rounds) for room in (1, 2, 3, 5) for rounds in (1, 4)):
                decoding = Decoding(target, drafter, ids, settings)
                chance = [settings.chance(turn.number + 1) for turn in _few(decoding, rounds)][-1]
                proposal = decoding.session.propose(list(decoding.text), room, chance)
                proposal.check(decoding.session.drawn, room, ())
                most = max(most, *proposal.tree.depths)
    _demand(most > 1, "It never guessed two tokens deep; give prompts on which it does.")


def nothing_follows_an_end(case: Case) -> None:
    """No guess stands under one that ends the text."""
    shown = False
    for settings in (replace(s, max_new_tokens=16) for s in case.settings()):
        for prompt in case.prompts:
            for token in _followed(case, prompt, settings)[:3]:
                target = case.ending(token)
                ids = target.encode(prompt, settings.max_new_tokens)
                for played in Decoding(target, case.drafter(target), ids, settings).rounds():
                    played.proposal.check(played.proposal.drawn, len(played.p) + 1, target.eos)
                    shown |= token in played.proposal.tree.tokens[1:]
    _demand(shown, "It never guessed an end of text; give prompts on which it goes two deep.")


def ends_exactly_there(case: Case) -> None:
    """A text ends with its first end-of-text token, kept guess or not, as plain decoding has it."""
    for shape in case.shapes:
        settings = replace(shape, sampling=GREEDY, max_new_tokens=24)
        for prompt in case.prompts[:2]:
            free = case.ending()
            ids = free.encode(prompt, 24)
            text = [step.token for step in plain(free, ids, settings)]
            for place in _ends(_played(free, case.drafter(free), ids, settings), text)[:4]:
                target = case.ending(text[place])
                trace = _trace(target, case.drafter(target), prompt, settings)
                right = token_ids(trace) == text[: place + 1]
                _demand(right, f"The text should have ended at new token {place + 1}.")
                _demand(_reason(trace) == "eos", "The run does not say that the text ended.")
                check(trace)


def sessions_do_not_disturb_each_other(case: Case) -> None:
    """Two runs in turns over the same weights are the runs that each would be alone."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        texts = [target.encode(prompt, 24) for prompt in case.prompts[:2]]
        alone = [_story(_played(target, drafter, ids, settings)) for ids in texts]
        one, other = (Decoding(target, drafter, ids, settings).rounds() for ids in texts)
        turns = list(zip_longest(one, other))
        both = [_story([pair[i] for pair in turns if pair[i] is not None]) for i in (0, 1)]
        _demand(both == alone, "Two runs in turns are not the two runs alone.")


def a_fresh_session_says_the_same(case: Case) -> None:
    """Nothing of a rejected guess stays behind, and nothing of a kept one is missing.

    A session in the middle of a run proposes what a new one does that reads the text at once. One
    that remembers rounds gone by is compared with a whole second run instead.
    """
    target = case.ending()
    drafter = case.drafter(target)
    for settings in case.settings():
        ids = target.encode(case.prompts[0], 24)
        if case.remembers:
            first, second = (_story(_played(target, drafter, ids, settings)) for _ in range(2))
            _demand(first == second, "A second run is not the first again.")
            continue
        decoding = Decoding(target, drafter, ids, replace(settings, schedule="fixed"))
        decoding.session = heard = _Listening(decoding.session)
        list(decoding.rounds())
        for text, room, chance, proposal in heard.asked:
            fresh = _told(target, drafter, text, settings).propose(text, room, chance)
            _demand(fresh.tree == proposal.tree, f"After {len(text)} tokens a new session differs.")
            _demand(_close(fresh.q, proposal.q), f"After {len(text)} tokens a new q differs.")
            sure = all(isclose(fresh.score[n], s, abs_tol=1e-4) for n, s in proposal.score.items())
            _demand(sure, f"After {len(text)} tokens a new session is as sure of other guesses.")


def nan_is_a_sentence(case: Case) -> None:
    """Weights that are no numbers end a run with BadScores, which says whose they are."""
    target = case.target()
    drafter = case.drafter(target)
    for settings in case.settings():
        with _spoiled(_networks(drafter, target) or [target.model]):
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
    if drafter.taps == Taps():
        return
    for settings in case.settings():
        text = target.encode(case.prompts[0], settings.max_new_tokens)
        for some in (lambda _: States(), partial(_first, len(text) - 2)):
            try:
                session = _told(target, drafter, text, settings, some)
                session.propose(text, 5, settings.chance(1))
            except ValueError as refusal:
                _demand(len(str(refusal).split()) > 3, f"{refusal} is no sentence.")
                continue
            raise ContractBroken("States were missing, and it went on.")


LAWS: Final[dict[str, Law]] = {
    "greedy is `generate` token for token": greedy_is_generate,
    "sampled runs check and replay": sampled_runs_check_and_replay,
    "tokens of real runs follow the target": tokens_follow_the_target,
    "a run stops exactly at its limit": stops_at_its_limit,
    "a draft keeps to the room": keeps_to_the_room,
    "nothing follows an end of text": nothing_follows_an_end,
    "a text ends exactly there": ends_exactly_there,
    "two sessions do not disturb each other": sessions_do_not_disturb_each_other,
    "a fresh session says the same": a_fresh_session_says_the_same,
    "NaN is a sentence": nan_is_a_sentence,
    "missing states are refused": missing_states_are_refused,
}


class _Listening:
    """A session that notes what it was asked and what it proposed."""

    def __init__(self, session: DraftSession) -> None:
        self.session = session
        self.drawn = session.drawn
        self.asked: list[tuple[list[int], int, Chance, Proposal]] = []

    def propose(self, context: Sequence[int], room: int, chance: Chance) -> Proposal:
        proposal = self.session.propose(context, room, chance)
        self.asked.append((list(context), room, chance, proposal))
        return proposal

    def commit(self, tokens: Sequence[int], states: States, riders: Riders | None = None) -> None:
        self.session.commit(tokens, states, riders)


def _demand(holds: bool, sentence: str) -> None:
    if not holds:
        raise ContractBroken(sentence)


def _trace(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, baseline: bool = True
) -> Trace:
    header, *events = run(target, drafter, prompt, settings, baseline=baseline)
    assert isinstance(header, Header)
    return Trace(header, events)


def _reason(trace: Trace) -> str | None:
    return None if trace.finished is None else trace.finished.reason


def _played(
    target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
) -> list[Played]:
    return list(Decoding(target, drafter, ids, settings).rounds())


def _few(decoding: Decoding, many: int) -> list[Played]:
    """The first rounds of a run, the prefill being one."""
    return [played for played, _ in zip(decoding.rounds(), range(many), strict=False)]


def _story(rounds: Iterable[Played]) -> list[tuple[tuple[int, ...], ...]]:
    """What was guessed and what came, round by round."""
    return [(played.proposal.tree.tokens, played.tokens) for played in rounds]


def _first(rows: int, states: States) -> States:
    return states.take(range(rows))


def _told(
    target: Target,
    drafter: Drafter,
    text: Sequence[int],
    settings: Settings,
    some: Callable[[States], States] = lambda states: states,
) -> DraftSession:
    """A new session that reads a whole text at once; its newest token has no state.

    some: of all states, those that are given.
    """
    cache = target.start(drafter.taps)
    states = cache.prefill(text[:-1]).states
    session = drafter.begin(cache, settings)
    session.commit(text[1:], some(states))
    return session


def _generated(target: Target, prompt: str, new: int) -> list[int]:
    """What transformers' own greedy generation adds to a prompt."""
    ids = target.encode(prompt, new)
    words = torch.tensor([ids], device=target.device)
    with torch.inference_mode():
        whole = target.model.generate(
            words,
            attention_mask=torch.ones_like(words),
            max_new_tokens=new,
            do_sample=False,
            eos_token_id=list(target.eos) or None,
            pad_token_id=0,
        )
    made: list[int] = whole[0].tolist()[len(ids) :]
    return made


@torch.inference_mode()
def _law_after(target: Target, text: Sequence[int], sampling: Sampling) -> Tensor:
    """The target's law (V,) of what follows a text, by a pass without a cache."""
    return law(target.model(torch.tensor([text], device=target.device)).logits[0, -1], sampling)


def _followed(case: Case, prompt: str, settings: Settings) -> list[int]:
    """Tokens that were guessed with guesses under them, before the text had them."""
    target = case.ending()
    text = target.encode(prompt, settings.max_new_tokens)
    new: list[int] = []
    found: list[int] = []
    for played in _played(target, case.drafter(target), text, settings):
        tree = played.proposal.tree
        inner = [t for t, kids in zip(tree.tokens, tree.children, strict=True) if kids]
        found += [token for token in inner[1:] if token not in new]
        new += played.tokens
    return list(dict.fromkeys(found))


def _ends(rounds: Sequence[Played], text: Sequence[int]) -> list[int]:
    """Places of a text whose token is new there: those of kept guesses first."""
    kept, at = set(), 0
    for played in rounds:
        kept |= set(range(at, at + len(played.verdict.path)))
        at += len(played.tokens)
    fresh = [i for i, token in enumerate(text) if token not in text[:i]]
    return sorted(fresh, key=lambda place: place not in kept)


def _close(one: Any, other: Any) -> bool:
    """Whether two sets of laws agree up to rounding."""
    return one.keys() == other.keys() and all(
        torch.allclose(one[node], other[node], rtol=0, atol=ROUNDING) for node in one
    )


def _networks(drafter: Drafter, target: Target) -> list[torch.nn.Module]:
    """The networks that a drafter holds, the target's own left out."""
    held = vars(drafter).values()
    return [part for part in held if isinstance(part, torch.nn.Module) and part is not target.model]


@contextmanager
def _spoiled(networks: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Weights that are NaN for a while."""
    weights = [weight for network in networks for weight in network.parameters()]
    before = [weight.detach().clone() for weight in weights]
    try:
        with torch.no_grad():
            for weight in weights:
                weight.fill_(torch.nan)
        yield
    finally:
        with torch.no_grad():
            for weight, old in zip(weights, before, strict=True):
                weight.copy_(old)
