"""Table of p, q and the residual: one row per token, and a last row for all other tokens.

The last row has sums of its own, because the minimum of two sums is not the sum of the minima.
Totals come from the trace and cover the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from specviz.frames.numbers import FEWEST, format_nonzero, format_verdict, parse_number
from specviz.frames.scene import Scene
from specviz.trace.events import Drew, Judged, Rows
from specviz.trace.rule_specs import AfterRejection

Head = dict[str, str]


MOST_ROWS: Final = 8
MOST_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table.

    Attributes:
        token: The token; None for all others together.
        p: The target's probability, times the reach.
        q: The drafter's probability.
        above: max(p − q, 0), summed over tokens.
        soft: The target's softmax at temperature 1, if shown.
    """

    token: int | None
    p: float
    q: float
    above: float
    soft: float | None = None


def lines(rows: Rows, candidate: int) -> tuple[list[Line], Line]:
    """Return a row for every token that the trace lists, and one for all others."""
    q = rows.q or [1.0 if token == candidate else 0.0 for token in rows.tokens]
    soft: Sequence[float | None] = rows.soft or [None] * len(rows.tokens)
    listed = [
        Line(token, p, q, max(p - q, 0.0), s)
        for token, p, q, s in zip(rows.tokens, rows.claimed, q, soft, strict=True)
    ]
    rest_soft = rows.rest_soft if rows.soft else None
    return listed, Line(None, rows.share * rows.rest_p, rows.rest_q, rows.rest_residual, rest_soft)


def select_lines(listed: Sequence[Line], candidate: int) -> list[Line]:
    """Select the rows to show: the candidate, and the tokens with the largest p or q."""
    full = [line for line in listed if line.p > 0 or line.q > 0 or (line.soft or 0) > 0]
    heaviest = sorted(full, key=lambda line: -max(line.p, line.q))
    keep = [line for line in heaviest if line.token != candidate][: MOST_ROWS - 1]
    return [line for line in listed if line in keep or line.token == candidate]


def combine_masses(rest: Line, hidden: Iterable[Line], sign: int = 1) -> Line:
    """Add the masses of some tokens to a row; with sign -1, subtract them."""
    for line in hidden:
        rest = replace(
            rest,
            p=max(0.0, rest.p + sign * line.p),
            q=max(0.0, rest.q + sign * line.q),
            above=max(0.0, rest.above + sign * line.above),
        )
        if rest.soft is not None and line.soft is not None:
            rest = replace(rest, soft=max(0.0, rest.soft + sign * line.soft))
    return rest


def table(scene: Scene, judged: Judged, drew: Drew | None = None) -> dict[str, Any]:
    """Return the table of a verdict; `drew` adds the row of the recovered token."""
    candidate = scene.guesses[judged.node - 1].token
    listed, rest = lines(judged.rows, candidate)
    shown = select_lines(listed, candidate)
    others = judged.rows.rest_tokens + len(listed) - len(shown)
    rest = combine_masses(rest, [line for line in listed if line not in shown])
    if drew is not None and all(line.token != drew.token for line in shown):
        line = _drawn_line(listed, drew, judged.rows.share)
        shown = sorted([*shown, line], key=lambda line: -line.p)
        rest, others = combine_masses(rest, [line], -1), others - 1
    digits = table_digits(scene, judged, drew)
    left = judged.rows.residual
    cells = [
        _cells(line, left, digits) | _token_cell(scene, line, candidate, drew) for line in shown
    ]
    if others > 0:
        cells.append(_cells(rest, left, digits) | {"rest": others})
    if judged.rows.q is None:
        cells = [_without_q(cell) for cell in cells]
    return {
        "full": shows_residual(scene, judged),
        "heads": column_heads(scene, judged, drew),
        "digits": digits,
        "rows": cells,
        "total": _totals(scene, judged, drew, digits),
        "soft": judged.rows.soft is not None,
    }


def column_heads(scene: Scene, judged: Judged, drew: Drew | None = None) -> list[Head]:
    """Return the column headers as the page needs them.

    "t" is the header, "in" a shorter one for narrow screens, "of" the owner of the number, "term"
    its glossary entry, and "left" marks a remainder. Without q there are no columns for q and p −
    q.
    """
    p, q = scene.uses_p_remainder(judged), scene.uses_q_remainder(judged)
    one, other = _scaled_name(judged, "p′" if p else "p"), "q′" if q else "q"
    shared = one not in ("p", "p′")
    named = [_distribution_head("p", p) | ({"t": one} if shared else {})]
    if judged.rows.q is None:
        steps: list[Head] = [{"t": "without it", "in": "rest", "term": "above"}]
        named.append({"t": ""})
    else:
        named.append(_distribution_head("q", q))
        short = f"{one},{other}" if p else f"{one}, {other}"  # the primes are as wide as a space
        wide = "both" if shared else f"{one} and {other}"
        named.append({"t": wide, "in": "p, q" if shared else short, "term": "both"})
        apart = {"in": f"− {other}"} if shared else {}
        steps = [
            {"t": f"{one} − {other}", "term": "difference"} | apart,
            {"t": "above 0", "in": "> 0", "term": "above"},
        ]
    if not shows_residual(scene, judged):
        return named
    left = residual_text(scene, judged, drew)
    brief = f"÷ {parse_number(left):.2f}" if parse_number(left) >= 0.01 else f"÷ {left}"
    return [*named, *steps, {"t": f"÷ {left}", "in": brief, "term": "residual"}]


def shows_residual(scene: Scene, judged: Judged) -> bool:
    """Whether a verdict is a rejection under a rule that then samples from the residual."""
    return not judged.accepted and scene.after_rejection is AfterRejection.RESIDUAL


def _scaled_name(judged: Judged, p: str) -> str:
    """Return "p", or "reach × p" with the number if the reach is below 1."""
    share = format_nonzero(judged.rows.share)
    return p if parse_number(share) == 1.0 else f"{share} {p}"


def _distribution_head(name: str, is_left: bool) -> Head:
    head = {"t": f"{name}′", "left": "yes"} if is_left else {"t": name}
    return head | {"of": name, "term": "remainder" if is_left else name}


def _without_q(cell: dict[str, Any]) -> dict[str, Any]:
    """Reduce a row to p, the residual and the scaled residual, for a verdict without q."""
    p, _, _, above, scaled = cell["t"]
    masses = [cell["m"][0], 0.0, *cell["m"][2:]]
    return cell | {"t": [p, "", "", above, scaled], "m": masses}


def _drawn_line(listed: Sequence[Line], drew: Drew, share: float) -> Line:
    known = next((line for line in listed if line.token == drew.token), None)
    if known is not None:
        return known
    p, q = share * (drew.at_p or 0.0), drew.at_q or 0.0
    return Line(drew.token, p, q, max(p - q, 0.0))


def _token_cell(scene: Scene, line: Line, candidate: int, drew: Drew | None) -> dict[str, Any]:
    assert line.token is not None
    named: dict[str, Any] = {"w": scene.word(line.token)}
    if line.token == candidate:
        named["is"] = "trial"
    if drew is not None and line.token == drew.token:
        named["is"] = "drawn"
    return named


def table_digits(scene: Scene, judged: Judged, drew: Drew | None = None) -> int:
    """Return the decimals with which a reader can recompute the most important rows.

    These are the rows of the candidate, of the sampled token, and of the largest residual, which is
    sampled most often, so the number of decimals rarely changes. There are at least as many
    decimals as in the sentence.
    """
    candidate = scene.guesses[judged.node - 1].token
    listed, _ = lines(judged.rows, candidate)
    checked = [line for line in listed if line.token == candidate]
    if not judged.accepted:
        checked.append(max(listed, key=lambda line: line.above))
    if drew is not None:
        checked.append(_drawn_line(listed, drew, judged.rows.share))
    fewest = FEWEST if scene.greedy else format_verdict(scene, judged).digits
    for digits in range(min(fewest, MOST_DIGITS), MOST_DIGITS):
        if all(_agrees(line, judged.rows.residual, digits) for line in checked):
            return digits
    return MOST_DIGITS


def residual_text(scene: Scene, judged: Judged, drew: Drew | None = None) -> str:
    """Format the mass of the residual as the sentence and the table show it."""
    text = format_mass_cell(judged.rows.residual, table_digits(scene, judged, drew))
    return format_nonzero(judged.rows.residual) if float(text) == 0 else text


def _agrees(line: Line, left: float, digits: int) -> bool:
    """Whether p − q, and its share of the residual, follow from the rounded numbers."""
    p, q, apart = (round(value, digits) for value in (line.p, line.q, line.p - line.q))
    if abs(p - q - apart) > 1e-9:
        return False
    if line.above <= 0:
        return True
    rounded = round(left, digits)
    share = round(apart / rounded, digits) if rounded else -1.0
    return abs(share - round(line.above / left, digits)) < 1e-9


def format_mass_cell(value: float, digits: int) -> str:
    """Format a probability for a cell: an exact 0 or 1 bare, else `digits` decimals."""
    return str(int(value)) if value in (0.0, 1.0) else f"{value:.{digits}f}"


def _cells(line: Line, left: float, digits: int) -> dict[str, Any]:
    """Return a row's texts (p, q, p − q, above 0, scaled), and its numbers for the bars."""
    scaled = line.above / left if left > 0 else 0.0
    apart = line.p - line.q
    seen = format_mass_cell(abs(apart), digits)
    sign = "" if float(seen) == 0 else "+" if apart > 0 else "−"
    texts = [
        format_mass_cell(line.p, digits),
        format_mass_cell(line.q, digits),
        sign + seen,
        format_mass_cell(line.above, digits),
        format_mass_cell(scaled, digits),
    ]
    masses = [round(value, 6) for value in (line.p, line.q, line.above, scaled)]
    cells: dict[str, Any] = {"t": texts, "m": masses}
    if line.soft is not None:
        cells["soft"] = round(line.soft, 6)
    return cells


def _totals(scene: Scene, judged: Judged, drew: Drew | None, digits: int) -> dict[str, str]:
    rows = judged.rows
    apart = {"apart": ""} if rows.share < 1.0 else {}  # not 0, and too long for the column
    return apart | {
        "p": _total([*rows.claimed, rows.share * rows.rest_p], digits),
        "q": "" if rows.q is None else _total([*rows.q, rows.rest_q], digits),
        "both": format_mass_cell(rows.overlap, digits),
        "left": residual_text(scene, judged, drew),
        "scaled": "1" if rows.residual > 0 else "0",
    }


def _total(masses: Sequence[float], digits: int) -> str:
    """Format a sum: "1" if it is 1, else with enough decimals to see that it is not."""
    total = sum(masses)
    return "1" if abs(total - 1) < 5e-5 else f"{total:.{max(digits, 4)}f}"
