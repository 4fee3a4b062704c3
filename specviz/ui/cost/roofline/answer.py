"""Answer a question about the roofline: sentences, a round's numbers and three figures.

Everything here is simulated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import Final, Literal, TypedDict

from specviz.cost import roofline as batches
from specviz.cost import sources
from specviz.cost.figures.roofline import (
    BATCH_STOPS,
    MAX_GAMMA,
    gamma_figure,
    pass_figure,
    speed_figure,
)
from specviz.cost.formatting import describe_machines, format_speedup
from specviz.cost.measured_costs_text import nearest_report, unstated_facts
from specviz.cost.roofline import Prediction, free_tokens, memory_needed, pass_time, predict
from specviz.cost.sources import at_extremes, speedup_range
from specviz.frames.scene import Figure
from specviz.texts import Part, number, say, text
from specviz.ui.cost import published
from specviz.ui.cost.roofline.question import Ask

LARGEST: Final = 512  # the largest batch size tried
SOME: Final = (1, 8, 64, 512)  # batch sizes in a short list
BOUND: Final = {"memory": "memory bandwidth", "compute": "arithmetic"}


FigureName = Literal["speed", "pass", "gamma"]


class Report(TypedDict):
    """The nearest published measurement.

    Attributes:
        place: Values of the table of published numbers that list it.
    """

    number: str
    about: str
    notes: str
    place: dict[str, str]


class Beside(TypedDict):
    """What limits the pass, the result with the best γ, and the nearest published measurement."""

    called: str
    speedup: str
    best: str
    report: Report | None


class Round(TypedDict):
    """A round in tokens and plain passes.

    Attributes:
        said: What it adds and costs, as a sentence.
    """

    brings: float
    draft: float
    verify: float
    said: tuple[str, str]
    costs: str
    speedup: str


class Answer(TypedDict):
    """Everything that the page shows.

    Attributes:
        facts: Rows of name, value for plain decoding, value for speculative decoding.
    """

    said: list[Part]
    brief: str
    beside: Beside
    alert: str | None
    round: Round
    facts: list[tuple[str, str, str]]
    figures: dict[FigureName, Figure]
    descriptions: dict[FigureName, str]


@lru_cache(maxsize=256)
def answer(ask: Ask) -> Answer:
    """Return everything that the page shows; the result is cached, so do not modify it."""
    serving, guessing, batch = ask.serving, ask.guessing, ask.batch
    found = predict(serving, guessing, batch)
    loss = batches.first_losing_batch(serving, guessing, LARGEST)
    checked = 1 + sum(guessing.widths)
    return {
        "said": sentence(ask, found, loss),
        "brief": brief(ask),
        "beside": {
            "called": called(ask),
            "speedup": format_speedup(found.speedup),
            "best": best_sentence(ask),
            "report": reported(ask),
        },
        "alert": None if found.fits else alert(ask),
        "round": bars(found, len(guessing.widths) > 0),
        "facts": facts(ask, found),
        "figures": {
            "pass": pass_figure(serving, batch, checked),
            "speed": speed_figure(serving, guessing, batch, loss),
            "gamma": gamma_figure(serving, guessing, ask.alpha, batch),
        },
        "descriptions": answer_facts(ask),
    }


def answer_facts(ask: Ask) -> dict[FigureName, str]:
    """Return the figures in words, for screen readers."""
    serving, guessing, batch = ask.serving, ask.guessing, ask.batch
    gains = [predict(serving, guessing, b).speedup for b in batches.BATCHES]
    passes = [duration(pass_time(serving, batch, n).seconds) for n in (1, 4, 16, 64)]
    best = [batches.best_gamma(serving, ask.alpha, b, guessing.draft, MAX_GAMMA) for b in SOME]
    return {
        "speed": "Speed-up by batch size: " + listed(batches.BATCHES, map(format_speedup, gains)),
        "pass": f"Time of a target pass at batch {batch} by tokens: "
        + listed((1, 4, 16, 64), passes),
        "gamma": "Best γ by batch size: " + listed(SOME, map(str, best)),
    }


def listed(places: Iterable[int], values: Iterable[str]) -> str:
    """Format values with their keys, such as "1.31 × at 64 and 1.1 × at 128"."""
    return (
        ", ".join(f"{value} at {place}" for place, value in zip(places, values, strict=True)) + "."
    )


def sentence(ask: Ask, found: Prediction, loss: int | None) -> list[Part]:
    """Answer the question in two sentences.

    Args:
        ask: The question.
        found: The prediction for the question's batch size.
        loss: The smallest batch size at which speculative decoding is slower, if any.
    """
    tokens = 1 + sum(ask.guessing.widths)
    setup = {
        "devices": describe_machines(ask.machine.title, ask.cards),
        "batch": ask.batch,
        "model": sources.models()[ask.model].title,
    }
    if tokens == 1:
        time = number(duration(found.plain), "p")
        return say("cost", "roofline_nothing_drafted", **setup, time=time)
    return say(
        "cost",
        "roofline_answer",
        **setup,
        tokens=tokens,
        ratio=number(f"{found.verify / found.plain:.2f}", "p"),
        verification=verification(ask, tokens),
        outcome=outcome(ask, found, loss),
    )


def called(ask: Ask) -> str:
    """Return the draft, the efficiency and the overhead as words for a sentence."""
    overhead = f", {ask.overhead:g} ms overhead" if ask.overhead else ""
    return f"{drafting(ask)}, {ask.reading}% bandwidth, {ask.computing}% arithmetic{overhead}"


def brief(ask: Ask) -> str:
    """Return the answer in one sentence, with everything that the speed-up depends on."""
    low, high = speedup_range(ask.serving, ask.guessing, ask.batch)
    return text(
        "cost",
        "roofline_brief",
        devices=describe_machines(ask.machine.title, ask.cards),
        model=sources.models()[ask.model].title,
        batch=ask.batch,
        drafting=drafting(ask),
        alpha=f"{ask.alpha:.2f}",
        speedup=format_speedup(predict(ask.serving, ask.guessing, ask.batch).speedup),
        span=_span(low, high),
    )


def _span(low: float, high: float) -> str:
    """Format a range of speed-ups; empty if its ends are equal as shown."""
    ends = [format_speedup(end) for end in (low, high)]
    return f"{ends[0].removesuffix(' ×')} to {ends[1]}" if ends[0] != ends[1] else ""


def best_sentence(ask: Ask) -> str:
    """Return which draft length up to MAX_GAMMA would be best, and the range over efficiencies."""
    best = batches.best_chain(ask.serving, ask.alpha, ask.batch, ask.guessing.draft, MAX_GAMMA)
    known = [
        batches.best_gamma(serving, ask.alpha, ask.batch, ask.guessing.draft, MAX_GAMMA)
        for serving in at_extremes(ask.serving)
    ]
    span = f"{min(known)} to {max(known)}" if min(known) < max(known) else ""
    if not best.gamma:
        return text("cost", "roofline_never_pays", span=span)
    widths = ask.guessing.widths
    if len(widths) == best.gamma == sum(widths):
        return text("cost", "roofline_yours_is_best", gamma=best.gamma, span=span)
    return text(
        "cost",
        "roofline_best",
        span=span,
        gamma=best.gamma,
        speedup=format_speedup(best.speedup),
        longest=best.gamma == MAX_GAMMA,
        chain=sum(widths) > len(widths),
    )


def reported(ask: Ask) -> Report | None:
    """Return the nearest published measurement with its conditions; None if there is none."""
    found = nearest_report(ask.wanted)
    if found is None:
        return None
    said = [fact for fact in (found.model, found.hardware) if fact != sources.NOT_STATED]
    missing = unstated_facts(found)
    notes = [text("cost", "report_unstated", facts=" or the ".join(missing))] if missing else []
    if found.batch and found.batch != ask.batch:
        notes.append(text("cost", "report_other_batch", theirs=found.batch, ours=ask.batch))
    low, _ = speedup_range(ask.serving, ask.guessing, ask.batch)
    if _factor(found.number) < low:
        notes.append(text("cost", "report_below", low=format_speedup(low)))
    return {
        "number": found.number,
        "about": f"{found.method}: {', '.join([*said, found.conditions])}.",
        "notes": " ".join(notes),
        "place": published.values_of(found),
    }


def _factor(published: str) -> float:
    """Parse a published speed-up: "1.38 ×", "1.4 × slower", or the higher end of a range."""
    numbers = re.findall(r"\d+(?:\.\d+)?", published) if "×" in published else []
    factor = max(map(float, numbers), default=inf)
    return 1 / factor if published.endswith("slower") else factor


def verification(ask: Ask, tokens: int) -> str:
    """Return a sentence on whether draft tokens are verified without extra time."""
    free = free_tokens(ask.serving, ask.batch)
    if free >= tokens:
        return text("cost", "verification_memory_bound")
    if free >= 2:
        return text("cost", "verification_past_the_ridge", free=free)
    return text("cost", "verification_compute_bound")


def outcome(ask: Ask, found: Prediction, loss: int | None) -> list[Part]:
    """Say whether speculative decoding is faster, and from which batch size it is slower.

    If it is slower with the chosen draft length but not with a shorter one, the sentence mentions
    this.
    """
    best = batches.best_chain(ask.serving, ask.alpha, ask.batch, ask.guessing.draft, MAX_GAMMA)
    low, high = speedup_range(ask.serving, ask.guessing, ask.batch)
    return say(
        "cost",
        "roofline_outcome",
        drafting=drafting(ask),
        faster=found.speedup >= 1,
        speedup=number(format_speedup(found.speedup), "u"),
        span=_span(low, high),
        uncertain=low < 1 < high,
        best=best.gamma,
        best_speedup=format_speedup(best.speedup),
        rest=slower_at(ask, loss),
    )


def drafting(ask: Ask) -> str:
    """Return the chosen chain or tree as words: "γ = 4", or "This tree"."""
    widths = ask.guessing.widths
    return f"γ = {len(widths)}" if sum(widths) == len(widths) else "This tree"


def slower_at(ask: Ask, loss: int | None) -> str:
    """Return at which batch sizes speculative decoding is slower."""
    if loss is None:
        return text("cost", "never_slower", limit=LARGEST)
    larger = [predict(ask.serving, ask.guessing, b).speedup for b in BATCH_STOPS if b > loss]
    always = all(gain < 1 for gain in larger)
    if loss == 1 and always:
        return text("cost", "always_slower")
    return text("cost", "slower_from", batch=loss, always=always)


def alert(ask: Ask) -> str:
    """Return the warning that weights and KV caches do not fit in memory."""
    needed, available = memory(ask)
    return text(
        "cost",
        "does_not_fit",
        needed=quantity(needed, "B"),
        devices=ask.cards,
        memory=room_in(available),
    )


def memory(ask: Ask) -> tuple[float, float]:
    """Return the bytes that target and drafter need, and the bytes available."""
    serving, guessing = ask.serving, ask.guessing
    number = 1 + sum(guessing.widths)
    needed = memory_needed(serving, ask.batch, number)
    if guessing.draft and guessing.widths:
        needed += memory_needed(replace(serving, shape=guessing.draft), ask.batch, number)
    return needed, ask.cards * ask.machine.memory


def bars(found: Prediction, drafts: bool) -> Round:
    """Return a round's tokens and its cost in plain passes, for the bars."""
    draft, verify = found.draft / found.plain, found.verify / found.plain
    split = f"{plain(draft)} for drafting, {plain(verify)} for verification"
    costs = split if drafts else "one plain pass"
    return {
        "brings": found.tokens,
        "draft": draft,
        "verify": verify,
        "said": (plain(found.tokens), plain(draft + verify)),
        "costs": costs,
        "speedup": format_speedup(found.speedup),
    }


def facts(ask: Ask, found: Prediction) -> list[tuple[str, str, str]]:
    """Return the rows of the table: name, plain decoding, speculative decoding."""
    serving, number = ask.serving, 1 + sum(ask.guessing.widths)
    one, many = (BOUND[pass_time(serving, ask.batch, n).bound] for n in (1, number))
    baseline, ours = found.plain_tokens_per_second, found.tokens_per_second
    needed, room = memory(ask)
    return [
        ("Whole batch, tokens/s", figures(baseline), figures(ours)),
        ("Per sequence, tokens/s", figures(baseline / ask.batch), figures(ours / ask.batch)),
        ("Target pass", duration(found.plain), duration(found.verify)),
        ("Limited by", one, many),
        (
            "Memory",
            quantity(memory_needed(serving, ask.batch), "B"),
            f"{quantity(needed, 'B')} of {room_in(room)}",
        ),
    ]


def plain(value: float) -> str:
    """Format plain passes or tokens with two decimals; 0 is shown only if the value is 0."""
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 0.005 else "under 0.01"


def figures(value: float) -> str:
    """Format three significant figures, or all digits before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:#.3g}"


def short_figures(value: float) -> str:
    """Format three significant figures without trailing zeros, as data sheets do."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Format a time in s, ms or µs with three significant figures."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{figures(seconds / unit)} {name}"
    return f"{figures(seconds * 1e6)} µs"


def quantity(value: float, unit: str, form: Callable[[float], str] = figures) -> str:
    """Format a large number with its SI prefix: 20.4 GB, 3.35 TB/s."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{form(value / size)} {prefix}{unit}"
    return f"{form(value)} {unit}"


def room_in(room: float) -> str:
    """Format memory as data sheets do: 80 GB."""
    return quantity(room, "B", short_figures)
