"""The map of drafters and domains: numbers and shades of its cells, and its sentences.

Sentences depend only on measured cells. A domain's fastest drafter is named only if all drafters
were measured there. The words are in `texts/compare.jinja`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from specviz.catalog.entry import find, title_of
from specviz.compare.domains import Cell
from specviz.compare.lanes import join_names
from specviz.frames.numbers import format_seconds
from specviz.shipped import domain_label
from specviz.texts import text
from specviz.trace.metrics import mean_over_equal_text

MEAN: Final = "mean"  # name of the last column, the mean over all domains
GAIN: Final = 1.05  # a speed-up closer to 1 is within the noise of repeated measurements
ROUGH: Final = 1.5  # warn if plain decoding's speed varied by more than this ratio
Key = tuple[str, str]  # drafter, column
Measure = Literal["speedup", "accepted"]
Shaded = tuple[str, float, str]  # a number as it is shown, its shade from 0 to 1, and its marks


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The measured cells.

    Attributes:
        drafters: Names of the drafters, in the order shown.
        domains: Names of the domains, in the order shown.
        cells: Results for each drafter and domain.
        prompts: Number of prompts in a completely measured cell.
    """

    drafters: tuple[str, ...]
    domains: tuple[str, ...]
    cells: Mapping[Key, Cell]
    prompts: int

    @classmethod
    def from_cells(
        cls, cells: Iterable[Cell], drafters: Sequence[str], domains: Sequence[str], prompts: int
    ) -> HeatMap:
        """Build the map of these cells."""
        found = {(cell.drafter, cell.domain): cell for cell in cells}
        return cls(tuple(drafters), tuple(domains), found, prompts)

    @property
    def candidates(self) -> list[str]:
        """The drafters that can be called the fastest: all except mere references."""
        return [name for name in self.drafters if not _is_reference(name)]

    def is_complete(self, drafters: Sequence[str], domain: str) -> bool:
        """Return whether all prompts of this domain were measured with each of these drafters."""
        found = [self.cells.get((name, domain)) for name in drafters]
        return all(cell is not None and cell.prompts >= self.prompts for cell in found)

    def values(self, measure: str) -> dict[Key, float]:
        """Return each cell's value, and the mean of each drafter that was measured in all domains.

        The mean assumes equal amounts of text from each domain. Accepted lengths are averaged as
        tokens per pass.
        """
        own = 1 if measure == "accepted_length" else 0  # each pass adds one token of the target
        found = {key: getattr(cell, measure) for key, cell in self.cells.items()}
        for name in self.drafters:
            if all(self.is_complete([name], domain) for domain in self.domains):
                each = [found[name, domain] + own for domain in self.domains]
                found[name, MEAN] = mean_over_equal_text(each) - own
        return found


def _is_reference(name: str) -> bool:
    entry = find(name, "drafter")
    return entry is not None and entry.bound


def _copies(name: str) -> bool:
    entry = find(name, "drafter")
    return entry is not None and entry.copies


def _say(macro: str, **values: Any) -> str:
    return text("compare", macro, **values)


class Row(TypedDict):
    """A row of the map. bound: whether the drafter is only a reference."""

    name: str
    title: str
    bound: bool


class Column(TypedDict):
    """A column of the map: a domain, or the mean."""

    name: str
    title: str


class CellNumbers(TypedDict):
    """A cell's numbers, not rounded; see `Cell`. A mean has only the first three."""

    speedup: float
    accepted_length: float
    tokens_per_pass: float
    lowest: NotRequired[float | None]
    highest: NotRequired[float | None]
    alpha: NotRequired[float | None]
    guesses_per_round: NotRequired[float | None]
    tokens_per_second: NotRequired[float]
    prompts: NotRequired[int]
    tokens: NotRequired[int | None]
    seconds: NotRequired[float | None]


class ShownCell(TypedDict):
    """A cell as shown.

    Attributes:
        said: The text shown: the cell's title, then its details.
        part: Number of measured prompts, if not all are measured yet.
    """

    speedup: Shaded
    accepted: Shaded
    numbers: CellNumbers
    said: list[str]
    part: NotRequired[str]


class MapNumbers(TypedDict):
    """The data that change while a map is measured."""

    headline: str
    detail: str
    caution: str
    cells: dict[str, ShownCell]
    ends: dict[Measure, tuple[str, str]]


class MapView(MapNumbers):
    """The map as the page shows it."""

    rows: list[Row]
    columns: list[Column]


def view(heat: HeatMap) -> MapView:
    """Return the data of the page: rows, columns, cells, sentences, and the ends of the scales."""
    speed, accepted = heat.values("speedup"), heat.values("accepted_length")
    fastest, longest = max([1.0, *speed.values()]), max([0.0, *accepted.values()])
    speedups = _measure(heat, speed, "{:.2f} ×", lambda v: log(max(v, 1.0)) / log(fastest))
    lengths = _measure(heat, accepted, "{:.2f}", lambda v: v / longest)
    return {
        "rows": [
            {"name": name, "title": title_of(name), "bound": name not in heat.candidates}
            for name in heat.drafters
        ],
        "columns": [{"name": name, "title": _column_title(name)} for name in (*heat.domains, MEAN)],
        "headline": headline(heat),
        "detail": detail(heat),
        "caution": caution(heat),
        "cells": {" ".join(key): _cell(heat, key, speedups[key], lengths[key]) for key in speed},
        "ends": {"speedup": ("1 ×", f"{fastest:.2f} ×"), "accepted": ("0", f"{longest:.2f}")},
    }


def _column_title(name: str) -> str:
    label = name if name == MEAN else domain_label(name)
    return label[:1].upper() + label[1:]


def _cell(heat: HeatMap, key: Key, speedup: Shaded, accepted: Shaded) -> ShownCell:
    found: ShownCell = {
        "speedup": speedup, "accepted": accepted, "numbers": _numbers(heat, key),
        "said": _details(heat, *key),
    }  # fmt: skip
    cell = heat.cells.get(key)
    if cell is not None and cell.prompts < heat.prompts:
        found["part"] = f"{cell.prompts}/{heat.prompts}"
    return found


def _numbers(heat: HeatMap, key: Key) -> CellNumbers:
    cell = heat.cells.get(key)
    if cell is None:
        speedup, accepted = (heat.values(what)[key] for what in ("speedup", "accepted_length"))
        return {
            "speedup": speedup, "accepted_length": accepted, "tokens_per_pass": accepted + 1,
        }  # fmt: skip
    names = CellNumbers.__annotations__
    return cast("CellNumbers", {name: getattr(cell, name) for name in names})


def _measure(
    heat: HeatMap, values: Mapping[Key, float], form: str, shade: Callable[[float], float]
) -> dict[Key, Shaded]:
    best = {
        column: max(values[name, column] for name in heat.candidates)
        for column in (*heat.domains, MEAN)
        if len(heat.candidates) > 1 and _is_settled(heat, column)
    }
    low = 1 if "×" in form else 0

    def marks(key: Key, value: float) -> str:
        compared = key[0] in heat.candidates and key[1] in best
        top = compared and form.format(value) == form.format(best[key[1]])
        return " ".join(["best"] * top + ["slower"] * (round(value, 2) < low))

    return {
        key: (form.format(value), round(shade(value), 2) if value > low else 0, marks(key, value))
        for key, value in values.items()
    }


def _is_settled(heat: HeatMap, column: str) -> bool:
    columns = heat.domains if column == MEAN else (column,)
    return all(heat.is_complete(heat.candidates, domain) for domain in columns)


def _details(heat: HeatMap, name: str, column: str) -> list[str]:
    if column == MEAN:
        return _mean_details(heat, name)
    cell = heat.cells[name, column]
    title = _say("cell_title", name=title_of(name), domain=domain_label(column))
    lines = [title, _speedup(cell), _accepted(cell)]
    if cell.alpha is not None:
        lines.append(_say("cell_alpha", alpha=f"{cell.alpha:.2f}"))
    return [*lines, _amount(cell)]


def _mean_details(heat: HeatMap, name: str) -> list[str]:
    speed, accepted = (heat.values(what)[name, MEAN] for what in ("speedup", "accepted_length"))
    shown = {"speedup": f"{speed:.2f}", "per_pass": f"{accepted + 1:.2f}"}
    return [
        _say("mean_title", name=title_of(name)),
        _say("mean_values", domains=len(heat.domains), **shown),
        _say("mean_method"),
    ]


def _speedup(cell: Cell) -> str:
    shown = f"{cell.speedup:.2f}"
    if cell.lowest is None or cell.highest is None or cell.prompts < 2:
        return _say("cell_speedup", speedup=shown)
    ends = {"lowest": f"{cell.lowest:.2f}", "highest": f"{cell.highest:.2f}"}
    return _say("cell_speedup_range", speedup=shown, prompts=cell.prompts, **ends)


def _accepted(cell: Cell) -> str:
    shown = {"accepted": f"{cell.accepted_length:.2f}", "per_pass": f"{cell.tokens_per_pass:.2f}"}
    if cell.guesses_per_round is None:
        return _say("cell_accepted", **shown)
    return _say("cell_guesses", guesses=f"{cell.guesses_per_round:.1f}", **shown)


def _amount(cell: Cell) -> str:
    shown: dict[str, Any] = {"prompts": cell.prompts, "speed": f"{cell.tokens_per_second:.0f}"}
    if cell.tokens is None or cell.seconds is None:
        return _say("cell_amount", **shown)
    shown |= {"tokens": cell.tokens, "seconds": format_seconds(cell.seconds)}
    return _say("cell_amount_measured", **shown)


def fastest_by_domain(heat: HeatMap) -> dict[str, str]:
    """Return the fastest drafter of each domain in which all candidates were measured."""
    return {
        domain: max(heat.candidates, key=lambda name: heat.cells[name, domain].speedup)
        for domain in heat.domains
        if heat.candidates and heat.is_complete(heat.candidates, domain)
    }


def headline(heat: HeatMap) -> str:
    """Return one sentence that summarizes the map."""
    fastest = fastest_by_domain(heat)
    if not fastest:
        return _say("map_incomplete" if heat.cells else "map_empty")
    if len(heat.candidates) == 1:
        return _single_drafter(heat, heat.candidates[0], list(fastest))
    if all(heat.cells[name, domain].speedup < GAIN for domain, name in fastest.items()):
        return _say("map_no_gain")
    so_far = len(fastest) < len(heat.domains)
    copied = _copied_domains(heat, fastest)
    if copied and len(copied) < len(fastest):
        domains = join_names([domain_label(domain) for domain in copied])
        return _say("map_copying", domains=domains, so_far=so_far)
    if len(set(fastest.values())) > 1:
        return _say("map_depends")
    return _say("map_fastest", name=title_of(next(iter(fastest.values()))), so_far=so_far)


def _copied_domains(heat: HeatMap, fastest: Mapping[str, str]) -> list[str]:
    # "best" only in columns in which all drafters were measured; "slower" than plain decoding. Both
    # follow from the numbers as they are shown.
    kinds = {_copies(name) for name in heat.candidates}
    gains = [d for d, name in fastest.items() if heat.cells[name, d].speedup >= GAIN]
    return [d for d in gains if _copies(fastest[d])] if len(kinds) == 2 else []


def _single_drafter(heat: HeatMap, name: str, domains: Sequence[str]) -> str:
    speeds = {domain: heat.cells[name, domain].speedup for domain in domains}
    worst, best = (pick(domains, key=lambda domain: speeds[domain]) for pick in (min, max))
    shown = {"name": title_of(name)}
    if len(domains) == 1:
        return _say("map_alone", speedup=f"{speeds[best]:.2f}", domain=domain_label(best), **shown)
    ends = {"most": f"{speeds[best]:.2f}", "least": f"{speeds[worst]:.2f}"}
    return _say(
        "map_alone_range", best=domain_label(best), worst=domain_label(worst), **ends, **shown
    )


def detail(heat: HeatMap) -> str:
    """Return which drafter is fastest where, and how many cells are slower than plain decoding."""
    sentences = []
    if len(heat.candidates) > 1:
        fastest = fastest_by_domain(heat)
        sentences += [_winners(heat, fastest)] if fastest else []
        if len(heat.domains) > 1 and _is_settled(heat, MEAN):
            sentences.append(_over_all(heat))
    cells = [cell for cell in heat.cells.values() if cell.drafter in heat.candidates]
    slower = sum(round(cell.speedup, 2) < 1 for cell in cells)
    if slower:
        references = len(cells) < len(heat.cells)
        counts = {"slower": slower, "cells": len(cells)}
        sentences.append(_say("map_slower", references=references, **counts))
    return " ".join(filter(None, sentences))


def _winners(heat: HeatMap, fastest: Mapping[str, str]) -> str:
    # For example "Fastest: A on x (1.53 ×) and y (2.03 ×); B on z (1.20 ×).".
    by_name: dict[str, list[str]] = {}
    for domain, name in fastest.items():
        ratio = heat.cells[name, domain].speedup
        by_name.setdefault(name, []).append(f"{domain_label(domain)} ({ratio:.2f}\u00a0×)")
    winners = [
        _say("map_winner", name=title_of(name), domains=join_names(domains))
        for name, domains in by_name.items()
    ]
    return _say("map_winners", winners="; ".join(winners))


def _over_all(heat: HeatMap) -> str:
    # Empty if its gain is within the noise.
    mean = heat.values("speedup")
    best = max(heat.candidates, key=lambda name: mean[name, MEAN])
    if mean[best, MEAN] < GAIN:
        return ""
    return _say("map_over_all", name=title_of(best), speedup=f"{mean[best, MEAN]:.2f}")


def caution(heat: HeatMap) -> str:
    """Return a warning if plain decoding's speed varied between domains; otherwise empty."""
    slow = [cell.plain_slowest for cell in heat.cells.values() if cell.plain_slowest]
    fast = [cell.plain_fastest for cell in heat.cells.values() if cell.plain_fastest]
    if not slow or not fast or max(fast) < ROUGH * min(slow):
        return ""
    return _say("map_caution", slowest=f"{min(slow):.0f}", fastest=f"{max(fast):.0f}")
