"""The ways of decoding that are measured, each as one call on one prompt.

A method does all its work within the call, including the prompt, and returns only counts and times
that take no time to collect. The caller times the call, and computes other counts after the clock
has stopped.

A drafter whose weights are not on this machine is left out and a sentence says so, unless it was
requested by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean, median
from time import perf_counter
from typing import Any, Final

from specviz import engine
from specviz.bench import reference
from specviz.bench.outcomes import Tally, tally_rounds
from specviz.catalog import NotAvailable, Unsuitable, entries, find, load_drafter
from specviz.drafters.draft_model import DraftModel
from specviz.engine.loop import RoundResult
from specviz.engine.protocol import Drafter
from specviz.models.fast_layers import unoptimized_copy
from specviz.models.prompt import encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.shipped import prompts
from specviz.trace import metrics
from specviz.trace.events import Committed, Proposed


def drafter_names(target: str, named: str | None) -> list[str]:
    """Return the drafter that was requested, or all that fit, with those without weights last."""
    if named:
        return [named]
    candidates = [e for e in entries() if e.kind == "drafter" and e.made_for in (None, target)]
    ranked = sorted(candidates, key=lambda e: e.made_for is None and e.folder is None)
    return [entry.name for entry in ranked]


def load_entrants(
    target: Target, names: Sequence[str], settings: Callable[[str], Settings], *, must: bool = False
) -> tuple[list[Entrant], dict[str, str]]:
    """Load the drafters of these names, each with its settings.

    Returns the drafters, and for each missing one the reason.

    Raises NotAvailable if a drafter is missing and `must` is set; Unsuitable if a drafter does not
    fit the target and `must` is set.

    Args:
        target: The target model.
        names: The drafters' names.
        settings: Returns the settings of a drafter.
        must: Whether to raise an error for a missing drafter.
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
    """Return the app's first `most` prompts of each domain, tokenized as in a run."""
    return encode_texts(
        target, {domain: texts[:most] for domain, texts in prompts().items()}, new_tokens
    )


def encode_texts(
    target: Target, texts: Mapping[str, Sequence[str]], new_tokens: int
) -> dict[str, list[Prompt]]:
    """Tokenize prompts by domain as in a run that adds at most `new_tokens` tokens."""
    settings = Settings(max_new_tokens=new_tokens)
    return {
        domain: [Prompt(text, tuple(encode_prompt(target, text, settings).ids)) for text in several]
        for domain, several in texts.items()
    }


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as text and as the target's token ids."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one call.

    Attributes:
        tokens: The number of new tokens.
        passes: The number of target passes, including the prefill.
        draft_seconds: Seconds per drafted token; None if nothing was drafted or it is unknown.
        pass_seconds: Seconds of one plain target pass after the prefill; None if there is none.
        drafting: The drafter's seconds per round after the prefill.
        checking: Seconds per round, without the prefill, for the target's pass, judging and
            committing.
        decode_seconds: Seconds from the first new token, which comes from the prompt's pass, to the
            last; None if unknown.
        later: Returns further fields, which take time to compute; called after the clock has
            stopped.
        tally: Counts of the guesses.
        held_bytes: The drafter's memory.
        spread: How much the times of equally large passes vary, see `trace.metrics.spread`.
        borrows: Whether the drafter has no weights, so it may run layers of the target, which the
            checking pass then skips.
        text: The new tokens, if the method's text is compared with plain decoding's.
    """

    tokens: int
    passes: int
    draft_seconds: float | None = None
    pass_seconds: float | None = None
    drafting: float | None = None
    checking: float | None = None
    decode_seconds: float | None = None
    later: Callable[[], Mapping[str, Any]] = dict
    tally: Tally | None = None
    held_bytes: int | None = None
    spread: float | None = None
    borrows: bool = False
    text: tuple[int, ...] | None = None

    @property
    def speed_after_prompt(self) -> float | None:
        """New tokens per second after the prompt's pass; None if it is unknown."""
        after = self.tokens - 1
        return after / self.decode_seconds if self.decode_seconds and after > 0 else None

    def finalize(self) -> Outcome:
        """Return the outcome with the result of `later`, which keeps the run in memory."""
        return replace(self, later=dict, **self.later())


@dataclass(frozen=True, slots=True)
class Method:
    """A way of decoding. one_by_one: whether each token takes a pass; see limit.py."""

    name: str
    decode: Callable[[Prompt], Outcome]
    settings: Settings
    counterpart: str | None = None
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class Entrant:
    """A drafter and the settings that it is measured with."""

    drafter: Drafter
    settings: Settings

    @property
    def name(self) -> str:
        """The drafter's name in rows."""
        return self.drafter.card.name


PLAIN: Final = "plain"
GENERATE: Final = "transformers generate"
ASSISTED: Final = "transformers assisted generation"
LOOKUP: Final = "transformers prompt lookup"
EARLY_EXIT: Final = "transformers early exit"
MTP: Final = "transformers MTP"


Call = Callable[[Target, Sequence[int], Settings], reference.Counts]


def all_methods(target: Target, entrants: Sequence[Entrant], settings: Settings) -> list[Method]:
    """Return our methods, then those of transformers with the settings of our counterparts.

    Args:
        target: The target model.
        entrants: The drafters.
        settings: Settings for plain decoding, and for methods of transformers without a
            counterpart.
    """
    found = [plain_method(target, settings)]
    for entrant in entrants:
        found += [drafter_method(target, entrant), _traced_method(target, entrant)]
    return found + _transformers_methods(target, entrants, settings)


def plain_method(target: Target, settings: Settings) -> Method:
    """Return plain decoding, the baseline."""
    return Method(
        PLAIN,
        lambda prompt: _run_plain(target, prompt, settings),
        settings,
        GENERATE,
        one_by_one=True,
    )


def drafter_method(target: Target, entrant: Entrant) -> Method:
    """Return the method of a drafter, without recording a trace."""

    def decode(prompt: Prompt) -> Outcome:
        return _rounds(target, entrant, prompt)

    return Method(entrant.name, decode, entrant.settings, counterpart_of(entrant.drafter))


def counterpart_of(drafter: Drafter) -> str | None:
    """Return the name of the same method in transformers; None if it has none."""
    entry = find(drafter.name, "drafter")
    return entry.counterpart or None if entry else None


def _transformers_methods(
    target: Target, entrants: Sequence[Entrant], defaults: Settings
) -> list[Method]:
    # A method that uses our drafter needs it in `entrants`.
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
        _transformers_method(
            name, stock, call, beside[name].settings if name in beside else defaults
        )
        for name, call in calls.items()
    ]


def _transformers_method(name: str, target: Target, call: Call, settings: Settings) -> Method:
    one_by_one = name == GENERATE

    def decode(prompt: Prompt) -> Outcome:
        tokens, passes, seconds = call(target, prompt.ids, settings)
        return Outcome(tokens, passes, decode_seconds=seconds if one_by_one else None)

    return Method(name, decode, settings, one_by_one=one_by_one)


def _run_plain(target: Target, prompt: Prompt, settings: Settings) -> Outcome:
    running = engine.plain(target, prompt.ids, settings)
    steps = [next(running)]
    start = perf_counter()
    steps.extend(running)
    decoding = perf_counter() - start
    after = [step.seconds for step in steps[1:]]
    return Outcome(
        len(steps),
        len(steps),
        pass_seconds=median(after) if after else None,
        decode_seconds=decoding,
        later=lambda: {"spread": metrics.spread([after])},
        text=tuple(step.token for step in steps),
    )


def _rounds(target: Target, entrant: Entrant, prompt: Prompt) -> Outcome:
    decoding = engine.Decoding(target, entrant.drafter, prompt.ids, entrant.settings)
    played = list(decoding.rounds())
    after = [round.clocks for round in played[1:]]
    return Outcome(
        tokens=sum(len(round.tokens) for round in played),
        passes=len(played),
        draft_seconds=_seconds_per_guess(played),
        drafting=fmean(c.draft for c in after) if after else None,
        checking=fmean(c.score + c.judge + c.commit for c in after) if after else None,
        later=lambda: {
            "tally": tally_rounds(played),
            "held_bytes": decoding.held_bytes,
            "spread": _spread(played[1:]),
        },
        borrows=entrant.drafter.card.parameters == 0,
    )


def _spread(played: Sequence[RoundResult]) -> float | None:
    alike: dict[int, list[float]] = {}
    for round in played:
        alike.setdefault(len(round.proposal.tree), []).append(round.clocks.score)
    return metrics.spread(list(alike.values()))


def _seconds_per_guess(played: Sequence[RoundResult]) -> float | None:
    drafted = sum(len(round.proposal.tree) - 1 for round in played)
    return sum(round.clocks.draft for round in played) / drafted if drafted else None


def _traced_method(target: Target, entrant: Entrant) -> Method:
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
