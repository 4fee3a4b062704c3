"""The ways of decoding that are measured, each as one call on one prompt.

Rule: a method does its whole work inside the call, prompt included, and reports only counts and
clocks that it had anyway; the caller times the call, and counts what is left once it has stopped.

Who takes part: a drafter whose weights are not on this machine is left out with a sentence, unless
it was the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median
from typing import Final

from specviz import engine
from specviz.bench import reference
from specviz.bench.outcomes import Tally, tally_rounds
from specviz.catalog import NotAvailable, Unsuitable, entries, find, load_drafter
from specviz.drafters.draft_model import DraftModel
from specviz.engine.loop import RoundResult
from specviz.engine.protocol import Drafter
from specviz.models.fast_linear import unoptimized_copy
from specviz.models.prompt import encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import prompts
from specviz.trace.events import Committed, Proposed


def drafter_names(target: str, named: str | None) -> list[str]:
    """The drafter that was named; else all that suit the target, last those that fit any and have
    no weights.
    """
    if named:
        return [named]
    those = [e for e in entries() if e.kind == "drafter" and e.made_for in (None, target)]
    ranked = sorted(those, key=lambda e: e.made_for is None and e.folder is None)
    return [entry.name for entry in ranked]


def load_entrants(
    target: Target, names: Sequence[str], settings: Callable[[str], Settings], *, must: bool = False
) -> tuple[list[Entrant], dict[str, str]]:
    """The drafters of these names, each with its settings; and by name, why one is not among them.

    Raises NotAvailable or Unsuitable where all of them `must` take part.
    """
    found, absent = [], {}
    for name in names:
        try:
            found.append(Entrant(load_drafter(name, target), settings(name)))
        except (NotAvailable, Unsuitable) as error:
            if must:
                raise
            absent[name] = str(error)
    return found, absent


def encode_prompts(target: Target, most: int, new_tokens: int) -> dict[str, list[Prompt]]:
    """The first `most` of the app's prompts of each domain, as the target reads them in a run."""
    room = Settings(max_new_tokens=new_tokens)
    return {
        domain: [
            Prompt(text, tuple(encode_prompt(target, text, room).ids)) for text in texts[:most]
        ]
        for domain, texts in prompts().items()
    }


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as text and as the target's token ids."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one call made.

    tokens: new ones. passes: of the target, the prefill included. draft_seconds: per drafted
    token; None where nothing was drafted or where it cannot be known. drafting, checking: seconds
    a round after the prefill: of the drafter; of the target's pass, judging and keeping.
    pass_seconds: of one plain target pass after the prefill; None where there is none. look, weigh:
    make the tally of the guesses out of the rounds, and say what the drafter holds in memory, for
    which the clock must have stopped; tally, held_bytes: those. text: the new tokens, where the
    way's text is compared with plain decoding's.
    """

    tokens: int
    passes: int
    draft_seconds: float | None = None
    pass_seconds: float | None = None
    drafting: float | None = None
    checking: float | None = None
    count_tally: Callable[[], Tally] | None = None
    measure_memory: Callable[[], int] | None = None
    tally: Tally | None = None
    held_bytes: int | None = None
    text: tuple[int, ...] | None = None

    def finalize(self) -> Outcome:
        """The same with the numbers instead of the run, whose rounds hold whole laws."""
        tally = self.count_tally() if self.count_tally else self.tally
        held = self.measure_memory() if self.measure_memory else self.held_bytes
        return replace(self, count_tally=None, measure_memory=None, tally=tally, held_bytes=held)


@dataclass(frozen=True, slots=True)
class Method:
    """A way of decoding. counterpart: the name of transformers' way of doing the same.

    one_by_one: whether each token takes a pass, so that its speed has a limit: see limit.py.
    """

    name: str
    decode: Callable[[Prompt], Outcome]
    settings: Settings
    counterpart: str | None = None
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class Entrant:
    """A drafter, and the settings that it is measured with."""

    drafter: Drafter
    settings: Settings

    @property
    def name(self) -> str:
        """What its rows are called."""
        return self.drafter.card.name


PLAIN: Final = "plain"
GENERATE: Final = "transformers generate"
ASSISTED: Final = "transformers assisted generation"
LOOKUP: Final = "transformers prompt lookup"
EARLY_EXIT: Final = "transformers early exit"
MTP: Final = "transformers MTP"


Call = Callable[[Target, Sequence[int], Settings], reference.Counts]


def all_methods(target: Target, entrants: Sequence[Entrant], settings: Settings) -> list[Method]:
    """Ours first, then transformers', each with the settings of the drafter that does the same.

    settings: of what drafts nothing, and of a way of transformers that no entrant stands beside.
    """
    found = [plain_method(target, settings)]
    for entrant in entrants:
        found += [drafter_method(target, entrant), _traced(target, entrant)]
    return found + _theirs(target, entrants, settings)


def plain_method(target: Target, settings: Settings) -> Method:
    """Plain decoding, the measure of all."""
    return Method(
        PLAIN,
        lambda prompt: _plainly(target, prompt, settings),
        settings,
        GENERATE,
        one_by_one=True,
    )


def drafter_method(target: Target, entrant: Entrant) -> Method:
    """A drafter's loop, unrecorded."""

    def decode(prompt: Prompt) -> Outcome:
        return _rounds(target, entrant, prompt)

    return Method(entrant.name, decode, entrant.settings, counterpart_of(entrant.drafter))


def counterpart_of(drafter: Drafter) -> str | None:
    """transformers' way of doing what this drafter does, by its row; None where it has none."""
    entry = find(drafter.name, "drafter")
    return entry.counterpart or None if entry else None


def _theirs(target: Target, entrants: Sequence[Entrant], usual: Settings) -> list[Method]:
    """transformers' own decoding: what needs a drafter of ours only where that takes part."""
    beside = {counterpart_of(entrant.drafter): entrant for entrant in reversed(entrants)}
    small = beside[ASSISTED].drafter if ASSISTED in beside else None
    assert small is None or isinstance(small, DraftModel)
    calls: dict[str, Call] = {GENERATE: reference.generate}
    if small is not None:
        calls[ASSISTED] = partial(reference.assisted, small=unoptimized_copy(small.model))
    if EARLY_EXIT in beside:
        calls[EARLY_EXIT] = reference.early_exit
    calls[LOOKUP] = reference.prompt_lookup
    if reference.explain_no_mtp(target) is None:
        calls[MTP] = reference.mtp
    stock = Target(unoptimized_copy(target.model), target.tokenizer, target.card)
    return [
        _way(name, stock, call, beside[name].settings if name in beside else usual)
        for name, call in calls.items()
    ]


def _way(name: str, target: Target, call: Call, settings: Settings) -> Method:
    """One of transformers' ways."""
    one_by_one = name == GENERATE
    return Method(
        name, lambda p: Outcome(*call(target, p.ids, settings)), settings, one_by_one=one_by_one
    )


def _plainly(target: Target, prompt: Prompt, settings: Settings) -> Outcome:
    steps = list(engine.plain(target, prompt.ids, settings))
    after = [step.seconds for step in steps[1:]]
    return Outcome(
        len(steps),
        len(steps),
        pass_seconds=median(after) if after else None,
        text=tuple(step.token for step in steps),
    )


def _rounds(target: Target, entrant: Entrant, prompt: Prompt) -> Outcome:
    decoding = engine.Decoding(target, entrant.drafter, prompt.ids, entrant.settings)
    played = list(decoding.rounds())
    after = [round.clocks for round in played[1:]]
    return Outcome(
        tokens=sum(len(round.tokens) for round in played),
        passes=len(played),
        draft_seconds=_a_guess(played),
        drafting=fmean(c.draft for c in after) if after else None,
        checking=fmean(c.score + c.judge + c.commit for c in after) if after else None,
        count_tally=partial(tally_rounds, played),
        measure_memory=lambda: decoding.held_bytes,
    )


def _a_guess(played: Sequence[RoundResult]) -> float | None:
    """Seconds of drafting by drafted tokens."""
    drafted = sum(len(round.proposal.tree) - 1 for round in played)
    return sum(round.clocks.draft for round in played) / drafted if drafted else None


def _traced(target: Target, entrant: Entrant) -> Method:
    """A drafter's loop with the recording of a trace."""

    def decode(prompt: Prompt) -> Outcome:
        drafter, raw = entrant.drafter, replace(entrant.settings, chat="raw", system="")
        events = list(engine.run(target, drafter, prompt.text, raw, baseline=False))
        rounds = [event for event in events if isinstance(event, Committed)]
        proposed = [event for event in events if isinstance(event, Proposed)]
        drafted = sum(len(event.guesses) for event in proposed)
        seconds = sum(event.seconds for event in proposed)
        tokens = sum(len(event.tokens) for event in rounds)
        return Outcome(tokens, len(rounds), seconds / drafted if drafted else None)

    name, settings = f"{entrant.name}, traced", entrant.settings
    return Method(name, decode, settings, counterpart_of(entrant.drafter))
