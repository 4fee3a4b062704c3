"""The map by domain as the page has it: numbers as they are written, shades, marks, details.

Rule: a column's best is marked only where all drafters were measured. Standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

from specviz.catalog.known import title_of
from specviz.compare.domains import Cell, spoken
from specviz.compare.heat import MEAN, Heat, Key, caution, detail, headline
from specviz.frames.numbers import count, seconds


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
        mean = f"Mean over {count(len(heat.domains), 'domain')}, each counted the same"
        return [f"{title_of(name)}, all domains", mean]
    cell = heat.cells[name, column]
    lines = [f"{title_of(name)} on {spoken(column)}", _speed(cell), _kept(cell)]
    if cell.alpha is not None:
        lines.append(f"α {cell.alpha:.2f}: the chance that a judged guess is kept")
    return [*lines, _amount(cell)]


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
    return f"{said}: {count(cell.tokens, 'token')} in {seconds(cell.seconds)}"


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]
