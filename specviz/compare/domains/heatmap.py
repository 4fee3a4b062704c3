"""Cells as a map of drafters by domains, and what it says in words.

Rule: every sentence is worked out from the cells that are there; a domain's fastest is named only
where all drafters were measured. Standard library only.

As the page has it: numbers as they are written, shades, marks, details. A column's best is marked
only where all drafters were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final

from specviz.catalog.entry import find, title_of
from specviz.compare.domains.plan import Cell
from specviz.frames.numbers import format_seconds
from specviz.shipped import spoken
from specviz.texts import count
from specviz.trace.metrics import mean_over_equal_text


def view(heat: Heat) -> dict[str, Any]:
    """What the page shows but for where it was measured: rows, cells, sentences, ends of scales."""
    return {
        "rows": [
            {"name": name, "title": title_of(name), "bound": name not in heat.rivals}
            for name in heat.drafters
        ],
        "columns": [
            *({"name": name, "title": _capital(spoken(name))} for name in heat.domains),
            {"name": MEAN, "title": "Mean"},
        ],
        "headline": headline(heat),
        "detail": detail(heat),
        "caution": caution(heat),
    } | _cells(heat)


def _cells(heat: Heat) -> dict[str, Any]:
    """By drafter and column, what each measure shows, and the details; the ends of the scales."""
    speed, kept = heat.values("speedup"), heat.values("accepted_length")
    most, longest = max([1.0, *speed.values()]), max([0.0, *kept.values()])
    shown = {
        "speedup": _measure(heat, speed, "{:.2f} ×", lambda v: log(max(v, 1.0)) / log(most)),
        "accepted": _measure(heat, kept, "{:.2f}", lambda v: v / longest),
    }
    cells = {
        f"{name} {column}": {
            **{what: measure[name, column] for what, measure in shown.items()},
            "said": _said(heat, name, column),
            **_part(heat, name, column),
        }
        for name, column in speed
    }
    ends = {"speedup": ["1 ×", f"{most:.2f} ×"], "accepted": ["0", f"{longest:.2f}"]}
    return {"cells": cells, "ends": ends}


def _measure(
    heat: Heat, values: Mapping[Key, float], form: str, shade: Callable[[float], float]
) -> dict[Key, list[Any]]:
    """By cell: the number as it is written, its shade from 0 to 1, and its marks, if any.

    Marks: "best" of the drafters one would use, where all of them were measured; "slower" than
    plain decoding, as written. shade: called only with a value above the scale's low end.
    """
    best = {
        column: max(values[name, column] for name in heat.rivals)
        for column in (*heat.domains, MEAN)
        if len(heat.rivals) > 1 and _settled(heat, column)
    }
    low = 1 if "×" in form else 0

    def marks(key: Key, value: float) -> str:
        rival = key[0] in heat.rivals and key[1] in best
        top = rival and form.format(value) == form.format(best[key[1]])
        return " ".join(["best"] * top + ["slower"] * (round(value, 2) < low))

    return {
        key: [form.format(value), round(shade(value), 2) if value > low else 0, marks(key, value)]
        for key, value in values.items()
    }


def _settled(heat: Heat, column: str) -> bool:
    """Whether a column's best is known: nothing of it is still to be measured."""
    columns = heat.domains if column == MEAN else (column,)
    return all(heat.whole(heat.rivals, domain) for domain in columns)


def _part(heat: Heat, name: str, column: str) -> dict[str, str]:
    """How much of a cell was measured, where that is not all."""
    cell = heat.cells.get((name, column))
    return {"part": f"{cell.prompts}/{heat.asked}"} if cell and cell.prompts < heat.asked else {}


def _said(heat: Heat, name: str, column: str) -> list[str]:
    """A cell's details, line by line; the first is its title."""
    if column == MEAN:
        return [f"{title_of(name)}, all domains", *_means(heat, name)]
    cell = heat.cells[name, column]
    lines = [f"{title_of(name)} on {spoken(column)}", _speed(cell), _kept(cell)]
    if cell.alpha is not None:
        lines.append(f"α {cell.alpha:.2f}: the chance that a judged position keeps a guess")
    return [*lines, _amount(cell)]


def _means(heat: Heat, name: str) -> list[str]:
    """What a drafter comes to over all domains, and how."""
    speed, kept = (heat.values(what)[name, MEAN] for what in ("speedup", "accepted_length"))
    every = f"as much text of each of {count(len(heat.domains), 'domain')}"
    return [
        f"Over {every}: speed-up {speed:.2f} ×, {kept + 1:.2f} tokens a pass",
        "Plain decoding's time for it by the drafter's: the harmonic mean of the speed-ups",
    ]


def _speed(cell: Cell) -> str:
    """The speed-up, and how it varied over prompts."""
    said = f"Speed-up {cell.speedup:.2f} ×"
    if cell.lowest is None or cell.highest is None or cell.prompts < 2:
        return said
    return f"{said}: {cell.lowest:.2f} to {cell.highest:.2f} over {cell.prompts} prompts"


def _kept(cell: Cell) -> str:
    """The accepted length, and the tokens a pass."""
    said = (
        f"Accepted length {cell.accepted_length:.2f}, so {cell.tokens_per_pass:.2f} tokens a pass"
    )
    many = cell.guesses_per_round
    return said if many is None else f"{said}; {many:.1f} guesses a round"


def _amount(cell: Cell) -> str:
    """How much text the cell stands on."""
    said = f"{count(cell.prompts, 'prompt')}, {cell.tokens_per_second:.0f} tokens a second"
    if cell.tokens is None or cell.seconds is None:
        return said
    return f"{said}: {count(cell.tokens, 'token')} in {format_seconds(cell.seconds)}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


MEAN: Final = "mean"  # the last column: over the domains
GAIN: Final = 1.05  # a speed-up below this is no gain: two measurements of one drafter differ so
ROUGH: Final = 1.5  # said where plain decoding was so many times faster in one run than another
NONE_WHOLE: Final = "No domain has all its cells, so none has a winner."


Key = tuple[str, str]  # drafter, column


@dataclass(frozen=True, slots=True)
class Heat:
    """The map. drafters, domains: in the order shown. asked: prompts of a whole cell."""

    drafters: tuple[str, ...]
    domains: tuple[str, ...]
    cells: Mapping[Key, Cell]
    asked: int

    @classmethod
    def of(
        cls, cells: Iterable[Cell], drafters: Sequence[str], domains: Sequence[str], asked: int
    ) -> Heat:
        """The map of these cells."""
        found = {(cell.drafter, cell.domain): cell for cell in cells}
        return cls(tuple(drafters), tuple(domains), found, asked)

    @property
    def rivals(self) -> list[str]:
        """The drafters that one would decode with."""
        return [name for name in self.drafters if not _is_bound(name)]

    def whole(self, drafters: Sequence[str], domain: str) -> bool:
        """Whether each of these was measured on as many prompts of this domain as was asked."""
        found = [self.cells.get((name, domain)) for name in drafters]
        return all(cell is not None and cell.prompts >= self.asked for cell in found)

    def values(self, what: str) -> dict[Key, float]:
        """A measure by cell; the mean stands only where a drafter was measured in all domains.

        It is over as much text of each: of lengths kept, through the tokens that a pass brings.
        """
        own = 1 if what == "accepted_length" else 0  # the target's token of each pass
        found = {key: getattr(cell, what) for key, cell in self.cells.items()}
        for name in self.drafters:
            if all(self.whole([name], domain) for domain in self.domains):
                each = [found[name, domain] + own for domain in self.domains]
                found[name, MEAN] = mean_over_equal_text(each) - own
        return found


def _is_bound(name: str) -> bool:
    """Whether nobody would decode with this drafter: it is an end of the scale."""
    entry = find(name, "drafter")
    return entry is not None and entry.bound


def _copies(name: str) -> bool:
    """Whether this drafter copies its guesses from the text."""
    entry = find(name, "drafter")
    return entry is not None and entry.copies


def winners(heat: Heat) -> dict[str, str]:
    """By domain where all drafters were measured, the fastest of those one would use."""
    return {
        domain: max(heat.rivals, key=lambda name: heat.cells[name, domain].speedup)
        for domain in heat.domains
        if heat.rivals and heat.whole(heat.rivals, domain)
    }


def headline(heat: Heat) -> str:
    """The map in one sentence."""
    won = winners(heat)
    if not won:
        return NONE_WHOLE if heat.cells else "Nothing is measured yet."
    if len(heat.rivals) == 1:
        return _alone(heat, heat.rivals[0], list(won))
    if all(heat.cells[name, domain].speedup < GAIN for domain, name in won.items()):
        return "Nothing here is faster than plain decoding."
    copied = _copied(heat, won)
    if copied and len(copied) < len(won):
        where = listed([spoken(domain) for domain in copied])
        yet = "" if len(won) == len(heat.domains) else " so far"
        won_there = f"a drafter that copies is fastest on {where}, and only there{yet}"
        return f"Same models, other text: {won_there}."
    if len(set(won.values())) > 1:
        return "Same models, other text: which drafter is fastest changes with it."
    where = "every domain" if len(won) == len(heat.domains) else "every domain measured so far"
    return f"{title_of(next(iter(won.values())))} is the fastest in {where}."


def _copied(heat: Heat, won: Mapping[str, str]) -> list[str]:
    """The domains where a drafter that copies gains most, if others were there to beat."""
    kinds = {_copies(name) for name in heat.rivals}
    gains = [d for d, name in won.items() if heat.cells[name, d].speedup >= GAIN]
    return [d for d in gains if _copies(won[d])] if len(kinds) == 2 else []


def _alone(heat: Heat, name: str, domains: Sequence[str]) -> str:
    """One drafter's best and worst domain."""

    def said(domain: str) -> str:
        return f"{heat.cells[name, domain].speedup:.2f} × plain decoding on {spoken(domain)}"

    ordered = sorted(domains, key=lambda domain: heat.cells[name, domain].speedup)
    if len(ordered) == 1:
        return f"{title_of(name)} runs at {said(ordered[0])}."
    return f"{title_of(name)} runs at {said(ordered[-1])}, and at {said(ordered[0])}."


def detail(heat: Heat) -> str:
    """Who is fastest where, and how many cells lose; empty where nothing can be compared."""
    won = winners(heat)
    said = [_fastest(heat, won)] if won and len(heat.rivals) > 1 else []
    if len(heat.rivals) > 1 and len(heat.domains) > 1 and _settled(heat, MEAN):
        said.append(_over_all(heat))
    cells = [cell for cell in heat.cells.values() if cell.drafter in heat.rivals]
    slow = sum(round(cell.speedup, 2) < 1 for cell in cells)
    if slow:
        are = "is" if slow == 1 else "are"
        of = f"{slow} of {count(len(cells), 'cell')}"
        aside = " (the ends of the scale not counted)" if len(cells) < len(heat.cells) else ""
        said.append(f"{of} {are} slower than no drafter at all{aside}.")
    return " ".join(filter(None, said))


def _fastest(heat: Heat, won: Mapping[str, str]) -> str:
    """Fastest: A on x (1.53 ×) and y (2.03 ×); B on z (1.2 ×)."""
    by_name: dict[str, list[str]] = {}
    for domain, name in won.items():
        ratio = heat.cells[name, domain].speedup
        by_name.setdefault(name, []).append(f"{spoken(domain)} ({ratio:.2f}\u00a0×)")
    parts = [f"{title_of(name)} on {listed(where)}" for name, where in by_name.items()]
    return f"Fastest: {'; '.join(parts)}."


def _over_all(heat: Heat) -> str:
    """Who is fastest over as much text of each domain."""
    mean = heat.values("speedup")
    best = max(heat.rivals, key=lambda name: mean[name, MEAN])
    each = f"as much text of each: {title_of(best)} ({mean[best, MEAN]:.2f}\u00a0×)"
    return f"Over {each}." if mean[best, MEAN] >= GAIN else ""


def caution(heat: Heat) -> str:
    """Said where plain decoding, which does the same everywhere, took unlike times; else empty."""
    slow = [cell.plain_slowest for cell in heat.cells.values() if cell.plain_slowest]
    fast = [cell.plain_fastest for cell in heat.cells.values() if cell.plain_fastest]
    if not slow or not fast or max(fast) < ROUGH * min(slow):
        return ""
    return (
        f"Plain decoding ran at {min(slow):.0f} to {max(fast):.0f} tokens a second meanwhile: this "
        "machine did other things too, so the speeds here are rough. Measure again when it is idle."
    )


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1] if names else ""]))
