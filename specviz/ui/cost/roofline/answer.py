"""What the roofline says to a question: a sentence, a round's numbers, three figures.

Everything here is simulated. A sentence is parts: text, and numbers as {n: text, as: whose}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from specviz.cost import roofline as batches
from specviz.cost import sources
from specviz.cost.figures.roofline import (
    BATCH_STOPS,
    MAX_GAMMA,
    gamma_figure,
    pass_figure,
    speed_figure,
)
from specviz.cost.figures.roofline import tokens as counted
from specviz.cost.formatting import describe_machines, format_speedup
from specviz.cost.nearest_report import nearest_report, unstated_facts
from specviz.cost.roofline import Prediction, free_tokens, memory_needed, pass_time, predict
from specviz.ui.cost.roofline.question import Ask

Part = str | dict[str, str]


LARGEST: Final = 512  # sequences
SOME: Final = (1, 8, 64, 512)  # of them, where a list in words has to be short
BOUND: Final = {"memory": "waits for memory", "compute": "waits for arithmetic"}


@lru_cache(maxsize=256)
def answer(ask: Ask) -> dict[str, Any]:
    """Everything that the page shows of a question, as plain data; kept, so not to be changed."""
    serving, guessing, batch = ask.serving, ask.guessing, ask.batch
    found = predict(serving, guessing, batch)
    loss = batches.first_losing_batch(serving, guessing, LARGEST)
    checked = 1 + sum(guessing.widths)
    return {
        "said": sentence(ask, found, loss),
        "beside": {
            "called": "At best" if ask.at_peak else "With this efficiency",
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
        "told": answer_facts(ask),
    }


def answer_facts(ask: Ask) -> dict[str, str]:
    """The figures in words, for who does not see them."""
    serving, guessing, batch = ask.serving, ask.guessing, ask.batch
    gains = [predict(serving, guessing, b).speedup for b in batches.BATCHES]
    passes = [duration(pass_time(serving, batch, n).seconds) for n in (1, 4, 16, 64)]
    best = [batches.best_gamma(serving, ask.alpha, b, guessing.draft, MAX_GAMMA) for b in SOME]
    return {
        "speed": "Speed-up by batch size: " + listed(batches.BATCHES, map(format_speedup, gains)),
        "pass": f"Time of a target pass at batch {batch} by tokens: "
        + listed((1, 4, 16, 64), passes),
        "gamma": "Best number of guesses by batch size: " + listed(SOME, map(str, best)),
    }


def listed(places: Iterable[int], values: Iterable[str]) -> str:
    """Values by place: 1.31 × at 64, …"""
    return (
        ", ".join(f"{value} at {place}" for place, value in zip(places, values, strict=True)) + "."
    )


def sentence(ask: Ask, found: Prediction, loss: int | None) -> list[Part]:
    """The answer in two sentences."""
    number = 1 + sum(ask.guessing.widths)
    start = f"On {describe_machines(ask.machine.title, ask.cards)} at batch {ask.batch}, "
    if number == 1:
        return [
            f"{start}a plain pass of {sources.models()[ask.model].title} takes ",
            {"n": duration(found.plain), "as": "p"},
            ". Nothing is drafted, so nothing is won.",
        ]
    ratio = {"n": f"{found.verify / found.plain:.2f}", "as": "p"}
    title = sources.models()[ask.model].title
    pass_of = f"{start}a pass of {title} with {counted(number)} a sequence takes "
    return [pass_of, ratio, f" plain passes: {checking(ask, number)}. ", *outcome(ask, found, loss)]


def best_sentence(ask: Ask) -> str:
    """What the best draft length would give here, of chains up to LONGEST."""
    best = batches.best_chain(ask.serving, ask.alpha, ask.batch, ask.guessing.draft, MAX_GAMMA)
    if not best.gamma:
        return "No γ pays here: plain decoding is best."
    widths = ask.guessing.widths
    if len(widths) == best.gamma == sum(widths):
        return f"Your γ {best.gamma} is the best here."
    longest = ", the longest looked at," if best.gamma == MAX_GAMMA else ""
    chain = "chain" if sum(widths) > len(widths) else "γ"
    return f"The best {chain} here is {best.gamma}{longest} and would give {format_speedup(best.speedup)}."


def reported(ask: Ask) -> dict[str, Any] | None:
    """The nearest published measurement with its conditions; None where there is none."""
    found = nearest_report(ask.wanted)
    if found is None:
        return None
    said = [text for text in (found.model, found.hardware) if text != sources.NOT_STATED]
    missing = unstated_facts(found)
    notes = [f"What was read leaves out the {' and the '.join(missing)}."] if missing else []
    if found.batch and found.batch != ask.batch:
        notes.append(f"Its batch was {found.batch}, here it is {ask.batch}.")
    return {
        "number": found.number,
        "about": f"{found.method}: {', '.join([*said, found.conditions])}.",
        "notes": " ".join(notes),
        "place": found.place,
    }


def checking(ask: Ask, number: int) -> str:
    """Whether guesses are checked for free."""
    free = free_tokens(ask.serving, ask.batch)
    if free >= number:
        return "reading takes longer than arithmetic, so checking guesses is all but free"
    if free >= 2:
        return f"checking guesses is free up to {counted(free)}, and no longer free here"
    return "checking guesses is not free, arithmetic is the limit from the first guess on"


def outcome(ask: Ask, found: Prediction, loss: int | None) -> list[Part]:
    """Whether speculation wins here, and from which batch size on it loses."""
    gain: Part = {"n": format_speedup(found.speedup), "as": "u"}
    word = "loses" if found.speedup < 1 else "wins"
    bound = "at best " if ask.at_peak else ""
    return [f"Speculation {word} here, {bound}", gain, later(ask, found, loss)]


def later(ask: Ask, found: Prediction, loss: int | None) -> str:
    """The end of that sentence. loss: the smallest batch size that loses."""
    if loss is None:
        return f", and does not lose up to batch {LARGEST}."
    larger = [predict(ask.serving, ask.guessing, b).speedup for b in BATCH_STOPS if b > loss]
    on = " on" if all(gain < 1 for gain in larger) else ", though not at every larger one"
    if loss == 1:
        return ", as at every batch size." if on == " on" else f" and from batch 1{on}."
    return f"{', as it does' if found.speedup < 1 else ', and loses'} from batch {loss}{on}."


def alert(ask: Ask) -> str:
    """That weights and caches do not fit."""
    needed, room = memory(ask)
    cards = "one card has" if ask.cards == 1 else f"{ask.cards} cards have"
    return (
        f"This does not fit: weights and caches need {quantity(needed, 'B')}, and {cards} "
        f"{room_in(room)}. The numbers go on as if they did."
    )


def memory(ask: Ask) -> tuple[float, float]:
    """Bytes that target and drafter need, and bytes there are."""
    serving, guessing = ask.serving, ask.guessing
    number = 1 + sum(guessing.widths)
    needed = memory_needed(serving, ask.batch, number)
    if guessing.draft and guessing.widths:
        needed += memory_needed(replace(serving, shape=guessing.draft), ask.batch, number)
    return needed, ask.cards * ask.machine.memory


def bars(found: Prediction, drafts: bool) -> dict[str, Any]:
    """A round against plain passes, as Compare draws it: what it brings and what it costs."""
    draft, verify = found.draft / found.plain, found.verify / found.plain
    costs = f"{plain(draft)} to draft, {plain(verify)} to check" if drafts else "one plain pass"
    return {
        "brings": found.tokens,
        "draft": draft,
        "verify": verify,
        "said": [plain(found.tokens), plain(draft + verify)],
        "costs": costs,
        "speedup": format_speedup(found.speedup),
    }


def facts(ask: Ask, found: Prediction) -> list[list[str]]:
    """Rows of the little table: name, plain decoding, with speculation."""
    serving, number = ask.serving, 1 + sum(ask.guessing.widths)
    bounds = [BOUND[pass_time(serving, ask.batch, n).bound] for n in (1, number)]
    whole = [found.plain_tokens_per_second, found.tokens_per_second]
    needed, room = memory(ask)
    return [
        ["Whole batch, tokens/s", *map(figures, whole)],
        ["Each sequence, tokens/s", *(figures(rate / ask.batch) for rate in whole)],
        ["Target pass", duration(found.plain), duration(found.verify)],
        ["The pass", *bounds],
        [
            "Memory",
            quantity(memory_needed(serving, ask.batch), "B"),
            f"{quantity(needed, 'B')} of {room_in(room)}",
        ],
    ]


def plain(value: float) -> str:
    """Plain passes or tokens: two decimals, 0 only where there is nothing."""
    if value == 0:
        return "0"
    return f"{value:.2f}" if value >= 0.005 else "under 0.01"


def figures(value: float) -> str:
    """Three figures, or all digits before the point."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:#.3g}"


def short_figures(value: float) -> str:
    """Three figures without zeros that say nothing, as data sheets write them."""
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time from microseconds to minutes, in three figures."""
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{figures(seconds / unit)} {name}"
    return f"{figures(seconds * 1e6)} µs"


def quantity(value: float, unit: str, form: Callable[[float], str] = figures) -> str:
    """A large number with its prefix: 20.4 GB, 3.35 TB/s."""
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            return f"{form(value / size)} {prefix}{unit}"
    return f"{form(value)} {unit}"


def room_in(room: float) -> str:
    """What a data sheet says of memory: 80 GB."""
    return quantity(room, "B", short_figures)
