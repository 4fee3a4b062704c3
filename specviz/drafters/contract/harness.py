"""Helpers of the contract's checks: cases, runs, sessions, comparisons and NaN weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, Final

import torch
from torch import Tensor

from specviz.engine.decode import run
from specviz.engine.loop import Decoding, RoundResult
from specviz.engine.protocol import Drafter, DraftSession, Proposal, draft_cut
from specviz.models.passes import ExtraRows, States
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Header
from specviz.trace.file import Trace
from specviz.verification.distributions import logits_to_probs

GREEDY: Final = Sampling(0.0)
WARM: Final = Sampling(1.3, top_k=4, top_p=0.97)
NEW: Final = 16  # new tokens of a run: several rounds, the last with few tokens left


class ContractBroken(AssertionError):
    """Raised if a drafter fails a check of the contract; the message says which check and why."""


@dataclass(frozen=True, slots=True)
class Case:
    """A drafter to check.

    Attributes:
        target: Returns the target; some checks copy it and change its end-of-text tokens.
        drafter: Builds the drafter for a target.
        prompts: Two or more prompts; on each, some drafts must be two tokens deep.
        shapes: Settings to check it with; each check sets temperature, seed and number of tokens.
        sampling: Sampling settings of sampled runs. A few tokens must have most of the probability,
            or the G-test cannot detect errors.
        remembers: Whether its guesses depend on earlier rounds, not on the text alone (such as a
            pool of n-grams).
        runs: Number of runs for the G-test.
    """

    target: Callable[[], Target]
    drafter: Callable[[Target], Drafter]
    prompts: Sequence[str]
    shapes: Sequence[Settings] = (Settings(gamma=4),)
    sampling: Sampling = WARM
    remembers: bool = False
    runs: int = 300

    def settings(self, new: int = NEW) -> Iterator[Settings]:
        """Yield all shapes, first at temperature 0 and then sampled, for `new` tokens."""
        for sampling in (GREEDY, self.sampling):
            for shape in self.shapes:
                yield replace(shape, sampling=sampling, max_new_tokens=new)

    def ending(self, *end_positions: int) -> Target:
        """Return a copy of the target whose only end-of-text tokens are these."""
        target = copy(self.target())
        target.eos = end_positions
        return target


def expect(holds: bool, sentence: str) -> None:
    """Raise ContractBroken with the sentence unless `holds`."""
    if not holds:
        raise ContractBroken(sentence)


ROUNDING: Final = 1e-5  # tolerance of q: rows computed together and alone
SCORE_TOLERANCE: Final = 1e-4  # tolerance of scores and of recorded data


class RecordingSession:
    """A session that records its proposals and their arguments."""

    def __init__(self, session: DraftSession) -> None:
        self.session = session
        self.drawn, self.cut = session.drawn, draft_cut(session)
        self.calls: list[tuple[list[int], int, Chance, Proposal]] = []

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """Implement `DraftSession.propose`."""
        proposal = self.session.propose(context, max_tokens, chance)
        self.calls.append((list(context), max_tokens, chance, proposal))
        return proposal

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """Implement `DraftSession.commit`."""
        self.session.commit(tokens, states, extra_rows)


def run_trace(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, baseline: bool = True
) -> Trace:
    """Run on raw text and return the whole trace in memory."""
    raw = replace(settings, chat="raw", system="")
    header, *events = run(target, drafter, prompt, raw, baseline=baseline)
    assert isinstance(header, Header)
    return Trace(header, events)


def end_reason(trace: Trace) -> str | None:
    """Return why the run ended, as recorded in the trace."""
    return None if trace.finished is None else trace.finished.reason


def rounds_of(
    target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
) -> list[RoundResult]:
    """Return all rounds of a run."""
    return list(Decoding(target, drafter, ids, settings).rounds())


def first_rounds(decoding: Decoding, count: int) -> list[RoundResult]:
    """Return the first `count` rounds of a run, the prefill included."""
    return [played for played, _ in zip(decoding.rounds(), range(count), strict=False)]


def summarize(rounds: Iterable[RoundResult]) -> list[tuple[tuple[int, ...], ...]]:
    """Return the guessed tokens and the new tokens of each round, for comparison."""
    return [(played.proposal.tree.tokens, played.tokens) for played in rounds]


def first_rows(rows: int, states: States) -> States:
    """Return the first `rows` states."""
    return states.take(range(rows))


def start_session(
    target: Target,
    drafter: Drafter,
    text: Sequence[int],
    settings: Settings,
    select: Callable[[States], States] = lambda states: states,
) -> DraftSession:
    """Start a session that reads a whole text at once; the newest token has no state yet.

    Args:
        target: The target.
        drafter: The drafter.
        text: Token ids.
        settings: Settings of the session.
        select: Selects which of the states are passed to the session.
    """
    cache = target.start(drafter.capture)
    states = cache.prefill(text[:-1]).states
    session = drafter.begin(cache, settings)
    session.commit(text[1:], select(states))
    return session


def greedy_tokens(target: Target, prompt: str, new: int) -> list[int]:
    """Return the tokens that transformers' greedy generation adds to a prompt."""
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
    new_ids: list[int] = whole[0].tolist()[len(ids) :]
    return new_ids


@torch.inference_mode()
def distribution_after(target: Target, text: Sequence[int], sampling: Sampling) -> Tensor:
    """Return the target's distribution (V,) after a text, computed without a cache."""
    return logits_to_probs(
        target.model(torch.tensor([text], device=target.device)).logits[0, -1], sampling
    )


def inner_guesses(case: Case, prompt: str, settings: Settings) -> Iterator[int]:
    """Yield each guess that has guesses below it, once, unless the text contains it already."""
    target = case.ending()
    text = target.encode(prompt, settings.max_new_tokens)
    known: set[int] = set()
    for played in Decoding(target, case.drafter(target), text, settings).rounds():
        tree = played.proposal.tree
        inner = [t for t, kids in zip(tree.tokens, tree.children, strict=True) if kids]
        fresh = [token for token in dict.fromkeys(inner[1:]) if token not in known]
        yield from fresh
        known |= {*fresh, *played.tokens}


def end_positions(rounds: Sequence[RoundResult], text: Sequence[int]) -> list[int]:
    """Return the positions of tokens that occur in the text for the first time.

    Positions of accepted guesses come first.
    """
    accepted, at = set(), 0
    for played in rounds:
        accepted |= set(range(at, at + len(played.verdict.path)))
        at += len(played.tokens)
    fresh = [i for i, token in enumerate(text) if token not in text[:i]]
    return sorted(fresh, key=lambda position: position not in accepted)


def distributions_agree(one: Any, other: Any) -> bool:
    """Return whether two lists of distributions agree up to rounding."""
    return one.keys() == other.keys() and all(
        torch.allclose(one[node], other[node], rtol=0, atol=ROUNDING) for node in one
    )


def guess_evidence(proposal: Proposal) -> dict[int, dict[str, Any]]:
    """Return the recorded data of each guess, without that of the whole proposal.

    The proposal's own data may depend on earlier rounds.
    """
    return {node: shown for node, shown in proposal.evidence.items() if node}


def same_numbers(one: Any, other: Any) -> bool:
    """Return whether two values of plain data are equal, floats up to rounding."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_numbers(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_numbers, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, abs_tol=SCORE_TOLERANCE)
    return bool(one == other)


def networks(drafter: Drafter, target: Target) -> list[torch.nn.Module]:
    """Return the networks among a drafter's attributes, except the target's."""
    values = vars(drafter).values()
    return [
        part for part in values if isinstance(part, torch.nn.Module) and part is not target.model
    ]


@contextmanager
def nan_weights(networks: Sequence[torch.nn.Module]) -> Iterator[None]:
    """Set all weights to NaN inside a `with` block."""
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
