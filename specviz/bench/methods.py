"""The ways of decoding that are measured, each as one call on one prompt.

Rule: a method does its whole work inside the call, prompt included, and reports only counts and
clocks that it had anyway; the caller times the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from specviz import engine
from specviz.bench.reference import assisted, generate, prompt_lookup
from specviz.drafters.base import Drafter
from specviz.drafters.draft_model import DraftModel
from specviz.drafters.ngram import NGram
from specviz.settings import Settings
from specviz.target import Target
from specviz.trace import Committed, Proposed


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as text and as the target's token ids."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call made.

    tokens: new ones. passes: of the target, the prefill included. draft_seconds: per drafted
    token; None where nothing was drafted or where it cannot be known. pass_seconds: of one plain
    target pass after the prefill; None where there is none.
    """

    tokens: int
    passes: int
    draft_seconds: float | None = None
    pass_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A way of decoding. counterpart: the name of transformers' way of doing the same."""

    name: str
    decode: Callable[[Prompt], Outcome]
    counterpart: str | None = None


GENERATE = "transformers generate"
ASSISTED = "transformers assisted generation"
LOOKUP = "transformers prompt lookup"


def methods(target: Target, drafters: Sequence[Drafter], settings: Settings) -> list[Method]:
    """Ours first, then transformers': assisted generation takes the first draft model."""
    found = [Method("plain", lambda prompt: _plain(target, prompt, settings), GENERATE)]
    for drafter in drafters:
        found += _ours(target, drafter, settings)
    found.append(Method(GENERATE, lambda p: Outcome(*generate(target, p.ids, settings))))
    small = next((drafter for drafter in drafters if isinstance(drafter, DraftModel)), None)
    if small is not None:
        found.append(
            Method(ASSISTED, lambda p: Outcome(*assisted(target, small.model, p.ids, settings)))
        )
    found.append(Method(LOOKUP, lambda p: Outcome(*prompt_lookup(target, p.ids, settings))))
    return found


def _ours(target: Target, drafter: Drafter, settings: Settings) -> list[Method]:
    """A drafter's loop without and with the recording of a trace."""
    other = {DraftModel: ASSISTED, NGram: LOOKUP}.get(type(drafter))
    name = drafter.card.name
    return [
        Method(name, lambda prompt: _rounds(target, drafter, prompt, settings), other),
        Method(f"{name}, traced", lambda prompt: _traced(target, drafter, prompt, settings), other),
    ]


def _plain(target: Target, prompt: Prompt, settings: Settings) -> Outcome:
    seconds = [step.seconds for step in engine.plain(target, prompt.ids, settings)]
    return Outcome(len(seconds), len(seconds), pass_seconds=_median(seconds[1:]))


def _rounds(target: Target, drafter: Drafter, prompt: Prompt, settings: Settings) -> Outcome:
    tokens = passes = drafted = 0
    seconds = 0.0
    for played in engine.rounds(target, drafter, prompt.ids, settings):
        tokens += len(played.tokens)
        passes += 1
        drafted += len(played.proposal.tree) - 1
        seconds += played.clocks.draft
    return Outcome(tokens, passes, seconds / drafted if drafted else None)


def _traced(target: Target, drafter: Drafter, prompt: Prompt, settings: Settings) -> Outcome:
    events = list(engine.run(target, drafter, prompt.text, settings, baseline=False))
    rounds = [event for event in events if isinstance(event, Committed)]
    proposed = [event for event in events if isinstance(event, Proposed)]
    drafted = sum(len(event.guesses) for event in proposed)
    seconds = sum(event.seconds for event in proposed)
    tokens = sum(len(event.tokens) for event in rounds)
    return Outcome(tokens, len(rounds), seconds / drafted if drafted else None)


def _median(seconds: Sequence[float]) -> float | None:
    return median(seconds) if seconds else None
