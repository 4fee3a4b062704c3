"""Format numbers with enough digits that they agree with each other on screen.

A reader who divides p by q, as shown, gets the probability that is shown; and u (the coin), as
shown, is below or above it, as the verdict says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from specviz.frames.scene import Scene
from specviz.trace.events import Judged
from specviz.trace.rule_specs import RULE_SPECS


def format_verdict(scene: Scene, judged: Judged) -> Formatted:
    """Format p, q, the threshold, u, and what a leaf-first rule adds, with digits that agree."""
    p = judged.inputs["p"]
    spec = RULE_SPECS.get(scene.header.rule)
    if spec is not None and spec.leaf_first:
        return format_residual(judged) if "left" in judged.inputs else format_reach(judged)
    if spec is not None and not spec.has_alpha:
        return format_apart(p, judged.inputs.get("q"), judged.threshold, judged.u)
    if "q" in judged.inputs:
        return format_ratio(p, judged.inputs["q"], judged.threshold, judged.u)
    return format_mass(p, judged.threshold, judged.u)


Format = Callable[[float], str]


FEWEST: Final = 2  # minimum number of decimals
MOST: Final = 6  # maximum number of decimals; if too few, significant figures are used
NEGLIGIBLE: Final = 0.001  # a probability below this is shown as "about 0"


_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def fixed(digits: int) -> Format:
    """Return a format with `digits` decimals; only an exact 0 or 1 has none.

    >>> fixed(2)(0.3), fixed(2)(1.0), fixed(2)(0.0004)
    ('0.30', '1', '0.00')
    """

    def form(value: float) -> str:
        return str(int(value)) if value in (0.0, 1.0) else f"{value:.{digits}f}"

    return form


def significant(digits: int) -> Format:
    """Return a format with `digits` significant figures, for small differences.

    >>> significant(2)(0.000012)
    '1.2×10⁻⁵'
    """

    def form(value: float) -> str:
        if value in (0.0, 1.0):
            return str(int(value))
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        power = int(exponent)
        if -4 < power <= 0:
            return f"{value:.{digits - 1 - power}f}"
        return f"{mantissa}×10{str(power).translate(_RAISED)}"

    return form


def parse_number(text: str) -> float:
    """Parse a number that this module has formatted.

    >>> parse_number("1.2×10⁻⁵")
    1.2e-05
    """
    mantissa, power, exponent = text.replace("−", "-").partition("×10")
    return float(mantissa + "e" + exponent.translate(_LOWERED) if power else mantissa)


def formats() -> Iterator[tuple[int, Format]]:
    """Yield formats from the shortest to the longest, which distinguishes any two floats."""
    for digits in range(FEWEST, MOST + 1):
        yield digits, fixed(digits)
    for digits in range(3, 18):
        yield digits, significant(digits)


@dataclass(frozen=True, slots=True)
class Formatted:
    """Numbers as they are shown, by name, and the digits that they needed."""

    text: Mapping[str, str]
    digits: int


def shortest_format(fits: Callable[[Format], bool]) -> tuple[int, Format]:
    """Return the shortest format for which `fits` is true, and its digits; else the longest."""
    found = next(((digits, form) for digits, form in formats() if fits(form)), None)
    return found or (17, significant(17))


def format_nonzero(value: float) -> str:
    """Format a number so that it does not look like 0 unless it is 0."""
    return shortest_format(lambda form: parse_number(form(value)) > 0 or value == 0)[1](value)


def round_for_text(value: float, text: str = "") -> str:
    """Format a number for a sentence: "about 0" or "about 1" if it is close to 0 or 1.

    Args:
        value: The exact number.
        text: The number's text elsewhere on screen, if it is shown there.

    >>> round_for_text(0.000357), round_for_text(0.997), round_for_text(0.45), round_for_text(1.0)
    ('about 0', 'about 1', '0.45', '1')
    """
    shown = text or format_nonzero(value)
    if 0 < value < NEGLIGIBLE:
        return "about 0"
    return "about 1" if value < 1 and parse_number(shown) == 1 else shown


def coin_formats(threshold: float, u: float) -> tuple[Format, Format]:
    """Choose formats of a threshold and of u that show which of the two is larger.

    A tiny threshold needs many digits, and one below 1 as many as differ from 1, unless it is very
    near. u gets only enough to distinguish the two. It is never shown as 1, and shown as 0 only if
    it is 0.
    """
    shown = [form for _, form in formats()]
    below_one = threshold <= 1 - NEGLIGIBLE
    seen = [
        (parse_number(form(threshold)) > 0) == (threshold > 0)
        and not (below_one and parse_number(form(threshold)) == 1)
        for form in shown
    ]
    least = seen.index(True)

    def fit(bar_form: Format, form: Format) -> bool:
        bar, at = parse_number(bar_form(threshold)), parse_number(form(u))
        apart = at == bar if u == threshold else at != bar and (at < bar) == (u < threshold)
        return apart and at < 1 and (at > 0) == (u > 0)

    pairs = [(shown[max(least, i)], form) for i, form in enumerate(shown)]
    return next((pair for pair in pairs if fit(*pair)), pairs[-1])


def format_ratio(
    p: float, q: float, threshold: float, u: float, subtracts: bool = False
) -> Formatted:
    """Format p, q, their ratio and u, so that p ÷ q as shown gives the threshold shown.

    Args:
        p: The target's probability.
        q: The drafter's.
        threshold: The acceptance probability.
        u: The random number.
        subtracts: Whether q − p as shown is also right, in whole percents.
    """
    bar, coin = coin_formats(threshold, u)
    percents = "{:.2f}".format

    def divides(form: Format) -> bool:
        shown_p, shown_q = parse_number(form(p)), parse_number(form(q))
        if shown_q <= 0 or (p > 0) != (shown_p > 0):
            return False
        if subtracts and percents(shown_q - shown_p) != percents(q - p):
            return False
        return bar(min(1.0, shown_p / shown_q)) == bar(threshold)

    digits, form = shortest_format(divides)
    return Formatted(
        {"p": form(p), "q": form(q), "threshold": bar(threshold), "u": coin(u)}, digits
    )


def format_reach(judged: Judged) -> Formatted:
    """Format the reach, p, q and u, so that reach × p ÷ q as shown gives the threshold shown.

    If the threshold is negligible, the numbers need not agree.
    """
    bar, coin = coin_formats(judged.threshold, judged.u)
    reach, p, q = judged.rows.share, judged.inputs["p"], judged.inputs.get("q", 1.0)
    values = {
        "reach": reach,
        **{name: judged.inputs[name] for name in "pq" if name in judged.inputs},
    }
    ends = {"threshold": bar(judged.threshold), "u": coin(judged.u)}
    if judged.threshold < NEGLIGIBLE:
        return Formatted(
            {name: format_nonzero(value) for name, value in values.items()} | ends, FEWEST
        )

    def divides(form: Format) -> bool:
        shown = [parse_number(form(value)) for value in (reach, p, q)]
        if shown[2] <= 0 or (p > 0) != (shown[1] > 0) or (reach < 1) != (shown[0] < 1):
            return False
        return bar(min(1.0, shown[0] * shown[1] / shown[2])) == bar(judged.threshold)

    digits, form = shortest_format(divides)
    return Formatted({name: form(value) for name, value in values.items()} | ends, digits)


def format_residual(judged: Judged) -> Formatted:
    """Format the uncovered probability, the drafter's excess, their sum and u.

    The uncovered probability ÷ the sum, as shown, gives the threshold shown, unless it is
    negligible.
    """
    bar, coin = coin_formats(judged.threshold, judged.u)
    left, beyond = judged.inputs["left"], 1.0 - judged.inputs["reach"]
    ends = {"threshold": bar(judged.threshold), "u": coin(judged.u)}
    if judged.threshold < NEGLIGIBLE:
        values = {"left": left, "beyond": beyond, "all": left + beyond}
        return Formatted(
            {name: format_nonzero(value) for name, value in values.items()} | ends, FEWEST
        )

    def both(form: Format) -> float:
        return parse_number(form(left)) + parse_number(form(beyond))

    def divides(form: Format) -> bool:
        if (left > 0) != (parse_number(form(left)) > 0):
            return False
        if both(form) <= 0 or abs(parse_number(form(both(form))) - both(form)) > 1e-12:
            return both(form) <= 0 and left + beyond <= 0
        return bar(parse_number(form(left)) / both(form)) == bar(judged.threshold)

    digits, form = shortest_format(divides)
    text = {"left": form(left), "beyond": form(beyond), "all": form(both(form))}
    return Formatted(text | ends, digits)


def format_mass(p: float, threshold: float, u: float) -> Formatted:
    """Format p, which is the threshold here, and u."""
    bar, coin = coin_formats(threshold, u)
    digits = len(bar(0.5)) - 2
    return Formatted({"p": bar(p), "threshold": bar(threshold), "u": coin(u)}, digits)


def format_apart(p: float, q: float | None, threshold: float, u: float) -> Formatted:
    """Format p, q and a threshold that cannot be computed from these two alone."""
    bar, coin = coin_formats(threshold, u)
    text = {"p": format_nonzero(p), "threshold": bar(threshold), "u": coin(u)}
    return Formatted(text if q is None else text | {"q": format_nonzero(q)}, FEWEST)


def format_draw(u: float, lo: float, hi: float) -> Formatted:
    """Format a draw, so that lo ≤ u < hi as shown, and hi − lo gives the share shown."""
    hi = min(hi, 1.0)

    def inside(form: Format) -> bool:
        low, at, high = parse_number(form(lo)), parse_number(form(u)), parse_number(form(hi))
        if not (low < at if lo < u else low == at) or not at < high:
            return False
        return abs(high - low - parse_number(form(hi - lo))) < 1e-12

    digits, form = shortest_format(inside)
    return Formatted({"u": form(u), "lo": form(lo), "hi": form(hi), "share": form(hi - lo)}, digits)


def format_seconds(value: float) -> str:
    """Format a duration: 31 ms, 0.76 s, 12.3 s."""
    if value < 0.1:
        return f"{value * 1000:.{0 if value >= 0.01 else 1}f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def format_bytes(number: float) -> str:
    """Format a number of bytes in two or three digits.

    >>> format_bytes(0), format_bytes(33_000), format_bytes(7_649_280)
    ('none', '33 kB', '7.6 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 999.5 and len(units) > 1:
        number, units = number / 1000, units[1:]
    digits = 0 if number >= 9.95 or units[0] == "B" else 1
    return f"{number:.{digits}f} {units[0]}" if number else "none"
