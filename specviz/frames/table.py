"""Table of p, q and the residual: one row per token, and a last row for all other tokens.

The sums in the last row are computed token by token, because the minimum of two sums is not the sum
of the minima. Totals come from the trace and cover the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NotRequired, TypedDict

from specviz.frames.numbers import FEWEST, format_nonzero, format_verdict, parse_number
from specviz.frames.scene import Scene, Word
from specviz.trace.events import Drew, Judged, Rows
from specviz.trace.rule_specs import AfterRejection

# A column's header. "in" (a keyword of Python, such as "is") is a shorter header for narrow
# screens, "of" says whose number it is, "left" marks what remains after rejections, and "term" is
# the glossary entry.
Head = TypedDict(
    "Head",
    {
        "t": str,
        "in": NotRequired[str],
        "of": NotRequired[Literal["p", "q"]],
        "left": NotRequired[Literal["yes"]],
        "term": NotRequired[str],
    },
)
Marked = TypedDict("Marked", {"is": NotRequired[Literal["trial", "drawn"]]})


class Cells(Marked):
    """Texts and bars of a row.

    Attributes:
        t: Texts of p, q, p − q, the positive part of p − q, and this scaled to sum to 1.
        m: Lengths of the bars for p, q, the positive part of p − q, and this scaled to sum to 1.
    """

    t: tuple[str, str, str, str, str]
    m: tuple[float, float, float, float]
    soft: NotRequired[float]


class TokenRow(Cells):
    """A token's row."""

    w: Word


class RestRow(Cells):
    """The row of all other tokens."""

    rest: int


TableRow = TokenRow | RestRow


class Fold(TypedDict):
    """A row that a lower table leaves out, and the row of all other tokens after that.

    Attributes:
        at: Index of the row among the rows of the whole table.
        rest: The row of all other tokens, with this row and those of the folds before it.
    """

    at: int
    rest: RestRow


class Totals(TypedDict):
    """Totals over the whole vocabulary. apart: total of p − q, if it is not 0."""

    apart: NotRequired[str]
    p: str
    q: str
    both: str
    left: str
    scaled: str


class Table(TypedDict):
    """The table of p, q and the residual.

    Attributes:
        full: Whether it has the columns of a rejection.
        folds: The rows that can be left out if there is no space, in the order of leaving out.
    """

    full: bool
    heads: list[Head]
    digits: int
    rows: list[TableRow]
    folds: list[Fold]
    total: Totals


MOST_ROWS: Final = 8
MOST_DIGITS: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table.

    Attributes:
        token: The token; None in the row for all other tokens.
        p: The target's probability, times the reach.
        q: The drafter's probability.
        above: max(p − q, 0), summed over tokens.
        soft: The target's softmax at temperature 1, if it is shown.
    """

    token: int | None
    p: float
    q: float
    above: float
    soft: float | None = None


def lines(rows: Rows, candidate: int) -> tuple[list[Line], Line]:
    """Return one row for each token that the trace lists, and one row for all other tokens."""
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
    """Add the masses of some tokens to a row, or subtract them if `sign` is -1."""
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


def table(scene: Scene, judged: Judged, drew: Drew | None = None) -> Table:
    """Return the table of a verdict; if `drew` is given, with a row for the recovered token."""
    candidate = scene.guesses[judged.node - 1].token
    listed, rest = lines(judged.rows, candidate)
    shown = select_lines(listed, candidate)
    others = judged.rows.rest_tokens + len(listed) - len(shown)
    rest = combine_masses(rest, [line for line in listed if line not in shown])
    if drew is not None and all(line.token != drew.token for line in shown):
        line = _drawn_line(listed, drew, judged.rows.share)
        shown = sorted([*shown, line], key=lambda line: -line.p)
        rest, others = combine_masses(rest, [line], -1), others - 1
    needed = {candidate, drew.token if drew else None}
    digits = table_digits(scene, judged, drew)
    cells: list[TableRow] = [
        _token_row(scene, line, _cells(line, judged.rows, digits), candidate, drew)
        for line in shown
    ]
    if others > 0:
        cells.append({**_cells(rest, judged.rows, digits), "rest": others})
    return {
        "full": shows_residual(scene, judged),
        "heads": column_heads(scene, judged, drew),
        "digits": digits,
        "rows": cells,
        "folds": [
            {"at": at, "rest": {**_cells(mass, judged.rows, digits), "rest": others + number}}
            for number, (at, mass) in enumerate(_fold(shown, rest, needed), 1)
        ],
        "total": _totals(scene, judged, drew, digits),
    }


def _fold(shown: Sequence[Line], rest: Line, needed: set[int | None]) -> Iterator[tuple[int, Line]]:
    # Least probable first, each with the sum without it.
    masses = {at: max(line.p, line.q, line.soft or 0.0) for at, line in enumerate(shown)}
    for at in sorted(masses, key=lambda at: (masses[at], -at)):
        if shown[at].token not in needed:
            rest = combine_masses(rest, [shown[at]])
            yield at, rest


def column_heads(scene: Scene, judged: Judged, drew: Drew | None = None) -> list[Head]:
    """Return the column headers; without q there are no columns for q and p − q."""
    p, q = scene.uses_p_remainder(judged), scene.uses_q_remainder(judged)
    one, other = _scaled_name(judged, "p′" if p else "p"), "q′" if q else "q"
    shared = one not in ("p", "p′")
    named = [_distribution_head("p", p)]
    if shared:
        named[0]["t"] = one
    if judged.rows.q is None:
        steps: list[Head] = [{"t": "without guess", "in": "rest", "term": "above"}]
        named.append({"t": ""})
    else:
        named.append(_distribution_head("q", q))
        short = f"{one},{other}" if p else f"{one}, {other}"  # each prime is as wide as a space
        wide = "both" if shared else f"{one} and {other}"
        named.append({"t": wide, "in": "p, q" if shared else short, "term": "both"})
        apart: Head = {"t": f"{one} − {other}", "term": "difference"}
        if shared:
            apart["in"] = f"− {other}"
        steps = [apart, {"t": "above 0", "in": "> 0", "term": "above"}]
    if not shows_residual(scene, judged):
        return named
    left = residual_text(scene, judged, drew)
    brief = f"÷ {parse_number(left):.2f}" if parse_number(left) >= 0.01 else f"÷ {left}"
    return [*named, *steps, {"t": f"÷ {left}", "in": brief, "term": "residual"}]


def shows_residual(scene: Scene, judged: Judged) -> bool:
    """Return whether the residual is sampled after this verdict, a rejection."""
    return not judged.accepted and scene.after_rejection is AfterRejection.RESIDUAL


def _scaled_name(judged: Judged, p: str) -> str:
    share = format_nonzero(judged.rows.share)
    return p if parse_number(share) == 1.0 else f"{share} {p}"


def _distribution_head(name: Literal["p", "q"], is_left: bool) -> Head:
    if is_left:
        return {"t": f"{name}′", "left": "yes", "of": name, "term": "remainder"}
    return {"t": name, "of": name, "term": name}


def _drawn_line(listed: Sequence[Line], drew: Drew, share: float) -> Line:
    known = next((line for line in listed if line.token == drew.token), None)
    if known is not None:
        return known
    p, q = share * (drew.at_p or 0.0), drew.at_q or 0.0
    return Line(drew.token, p, q, max(p - q, 0.0))


def table_digits(scene: Scene, judged: Judged, drew: Drew | None = None) -> int:
    """Return how many decimals a reader needs to recompute the most important rows.

    These are the rows of the candidate, of the sampled token, and of the token with the largest
    residual. That token is sampled most often, so the number of decimals rarely changes. The
    sentence never has more decimals.
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
    """Format the mass of the residual as it is shown in the sentence and the table."""
    text = format_mass_cell(judged.rows.residual, table_digits(scene, judged, drew))
    return format_nonzero(judged.rows.residual) if float(text) == 0 else text


def _agrees(line: Line, left: float, digits: int) -> bool:
    # Whether the rounded numbers give p − q, and its share of the residual, as shown.
    p, q, apart = (round(value, digits) for value in (line.p, line.q, line.p - line.q))
    if abs(p - q - apart) > 1e-9:
        return False
    if line.above <= 0:
        return True
    rounded = round(left, digits)
    share = round(apart / rounded, digits) if rounded else -1.0
    return abs(share - round(line.above / left, digits)) < 1e-9


def format_mass_cell(value: float, digits: int) -> str:
    """Format a probability for a cell: an exact 0 or 1 without decimals, else `digits` decimals."""
    return str(int(value)) if value in (0.0, 1.0) else f"{value:.{digits}f}"


def _token_row(
    scene: Scene, line: Line, cells: Cells, candidate: int, drew: Drew | None
) -> TokenRow:
    assert line.token is not None
    row: TokenRow = {**cells, "w": scene.word(line.token)}
    if line.token == candidate:
        row["is"] = "trial"
    if drew is not None and line.token == drew.token:
        row["is"] = "drawn"
    return row


def _cells(line: Line, rows: Rows, digits: int) -> Cells:
    scaled = line.above / rows.residual if rows.residual > 0 else 0.0
    apart, has_q = line.p - line.q, rows.q is not None
    seen = format_mass_cell(abs(apart), digits)
    sign = "" if float(seen) == 0 else "+" if apart > 0 else "−"
    q = round(line.q, 6) if has_q else 0.0
    cells: Cells = {
        "t": (
            format_mass_cell(line.p, digits),
            format_mass_cell(line.q, digits) if has_q else "",
            sign + seen if has_q else "",
            format_mass_cell(line.above, digits),
            format_mass_cell(scaled, digits),
        ),
        "m": (round(line.p, 6), q, round(line.above, 6), round(scaled, 6)),
    }
    if line.soft is not None:
        cells["soft"] = round(line.soft, 6)
    return cells


def _totals(scene: Scene, judged: Judged, drew: Drew | None, digits: int) -> Totals:
    rows = judged.rows
    totals: Totals = {
        "p": _total([*rows.claimed, rows.share * rows.rest_p], digits),
        "q": "" if rows.q is None else _total([*rows.q, rows.rest_q], digits),
        "both": format_mass_cell(rows.overlap, digits),
        "left": residual_text(scene, judged, drew),
        "scaled": "1" if rows.residual > 0 else "0",
    }
    if rows.share < 1.0:
        totals["apart"] = ""  # not 0, and too long for the column
    return totals


def _total(masses: Sequence[float], digits: int) -> str:
    # "1" if it is 1, otherwise with enough decimals to see that it is not.
    total = sum(masses)
    return "1" if abs(total - 1) < 5e-5 else f"{total:.{max(digits, 4)}f}"
