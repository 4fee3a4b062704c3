"""What is on trial: a drafter, a target for it, and what they are tried with."""

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
from specviz.engine.protocol import Drafter, DraftSession, Proposal
from specviz.models.passes import ExtraRows, States
from specviz.models.target import Target
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import Header
from specviz.trace.file import Trace
from specviz.verification.distributions import logits_to_probs

GREEDY: Final = Sampling(0.0)
WARM: Final = Sampling(1.3, top_k=4, top_p=0.97)
NEW: Final = 16  # tokens of a usual run: some rounds, and room at its end for the shortest drafts


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
    runs: int = 300

    def settings(self, new: int = NEW) -> Iterator[Settings]:
        """Every shape at temperature 0, then warm, for so many new tokens."""
        for sampling in (GREEDY, self.sampling):
            for shape in self.shapes:
                yield replace(shape, sampling=sampling, max_new_tokens=new)

    def ending(self, *ends: int) -> Target:
        """The target, but its texts end with one of these tokens only."""
        target = copy(self.target())
        target.eos = ends
        return target


def demand(holds: bool, sentence: str) -> None:
    """Raise ContractBroken with the sentence unless it holds."""
    if not holds:
        raise ContractBroken(sentence)


ROUNDING: Final = 1e-5  # of q, between rows that were read at once and one after another
SURENESS: Final = 1e-4  # of scores and evidence, likewise


class Listening:
    """A session that notes what it was asked and what it proposed."""

    def __init__(self, session: DraftSession) -> None:
        self.session = session
        self.drawn = session.drawn
        self.asked: list[tuple[list[int], int, Chance, Proposal]] = []

    def propose(self, context: Sequence[int], max_tokens: int, chance: Chance) -> Proposal:
        """See `DraftSession`."""
        proposal = self.session.propose(context, max_tokens, chance)
        self.asked.append((list(context), max_tokens, chance, proposal))
        return proposal

    def commit(
        self, tokens: Sequence[int], states: States, extra_rows: ExtraRows | None = None
    ) -> None:
        """See `DraftSession`."""
        self.session.commit(tokens, states, extra_rows)


def traced(
    target: Target, drafter: Drafter, prompt: str, settings: Settings, baseline: bool = True
) -> Trace:
    """A whole run on raw text, as a trace in memory."""
    raw = replace(settings, chat="raw", system="")
    header, *events = run(target, drafter, prompt, raw, baseline=baseline)
    assert isinstance(header, Header)
    return Trace(header, events)


def reason(trace: Trace) -> str | None:
    """Why the run ended, as it says itself."""
    return None if trace.finished is None else trace.finished.reason


def rounds_of(
    target: Target, drafter: Drafter, ids: Sequence[int], settings: Settings
) -> list[RoundResult]:
    """All rounds of a run."""
    return list(Decoding(target, drafter, ids, settings).rounds())


def few(decoding: Decoding, many: int) -> list[RoundResult]:
    """The first rounds of a run, the prefill being one."""
    return [played for played, _ in zip(decoding.rounds(), range(many), strict=False)]


def story(rounds: Iterable[RoundResult]) -> list[tuple[tuple[int, ...], ...]]:
    """What was guessed and what came, round by round."""
    return [(played.proposal.tree.tokens, played.tokens) for played in rounds]


def first_rows(rows: int, states: States) -> States:
    """So many states from the first on."""
    return states.take(range(rows))


def begun(
    target: Target,
    drafter: Drafter,
    text: Sequence[int],
    settings: Settings,
    some: Callable[[States], States] = lambda states: states,
) -> DraftSession:
    """A new session that reads a whole text at once; its newest token has no state.

    some: of all states, those that are given.
    """
    cache = target.start(drafter.capture)
    states = cache.prefill(text[:-1]).states
    session = drafter.begin(cache, settings)
    session.commit(text[1:], some(states))
    return session


def generated(target: Target, prompt: str, new: int) -> list[int]:
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
def law_after(target: Target, text: Sequence[int], sampling: Sampling) -> Tensor:
    """The target's law (V,) of what follows a text, by a pass without a cache."""
    return logits_to_probs(
        target.model(torch.tensor([text], device=target.device)).logits[0, -1], sampling
    )


def followed(case: Case, prompt: str, settings: Settings) -> Iterator[int]:
    """Tokens that were guessed with guesses under them, before the text had them; each once."""
    target = case.ending()
    text = target.encode(prompt, settings.max_new_tokens)
    known: set[int] = set()
    for played in Decoding(target, case.drafter(target), text, settings).rounds():
        tree = played.proposal.tree
        inner = [t for t, kids in zip(tree.tokens, tree.children, strict=True) if kids]
        fresh = [token for token in dict.fromkeys(inner[1:]) if token not in known]
        yield from fresh
        known |= {*fresh, *played.tokens}


def ends(rounds: Sequence[RoundResult], text: Sequence[int]) -> list[int]:
    """Places of a text whose token is new there: those of kept guesses first."""
    kept, at = set(), 0
    for played in rounds:
        kept |= set(range(at, at + len(played.verdict.path)))
        at += len(played.tokens)
    fresh = [i for i, token in enumerate(text) if token not in text[:i]]
    return sorted(fresh, key=lambda place: place not in kept)


def close(one: Any, other: Any) -> bool:
    """Whether two sets of laws agree up to rounding."""
    return one.keys() == other.keys() and all(
        torch.allclose(one[node], other[node], rtol=0, atol=ROUNDING) for node in one
    )


def evidence(proposal: Proposal) -> dict[int, dict[str, Any]]:
    """What is said of each guess; not the remark on the whole try, which may count what was."""
    return {node: said for node, said in proposal.evidence.items() if node}


def same_numbers(one: Any, other: Any) -> bool:
    """Whether two pieces of plain data are the same, their floats up to rounding."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_numbers(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_numbers, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, abs_tol=SURENESS)
    return bool(one == other)


def networks(drafter: Drafter, target: Target) -> list[torch.nn.Module]:
    """The networks that a drafter holds, the target's own left out."""
    held = vars(drafter).values()
    return [part for part in held if isinstance(part, torch.nn.Module) and part is not target.model]


@contextmanager
def spoiled(networks: Sequence[torch.nn.Module]) -> Iterator[None]:
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
