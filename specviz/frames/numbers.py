"""Numbers as text, with as many digits as it takes for the shown ones to agree with each other.

A reader who divides the p and q on screen gets the chance on screen, and the coin on screen lies
on the side of it that the verdict says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from specviz.frames.scene import Scene
from specviz.trace.events import Judged
from specviz.trace.rule_specs import RULE_SPECS


def numbers(scene: Scene, judged: Judged) -> Shown:
    """p, q (if there is one), the threshold and the coin, in digits that agree.

    Where judging goes from the leaf up, also the reach, or what is weighed in place of p and q.
    """
    p = judged.inputs["p"]
    promise = RULE_SPECS.get(scene.header.rule)
    if promise is not None and promise.leaf_first:
        return share_test(judged) if "left" in judged.inputs else reach_test(judged)
    if promise is not None and not promise.has_alpha:
        return seen_apart(p, judged.inputs.get("q"), judged.threshold, judged.u)
    if "q" in judged.inputs:
        return ratio_test(p, judged.inputs["q"], judged.threshold, judged.u)
    return mass_test(p, judged.threshold, judged.u)


Form = Callable[[float], str]


FEWEST: Final = 2
MOST: Final = 6
LEAST: Final = 0.001  # what comes less often than once in a thousand nobody can weigh


_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED: Final = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def fixed(digits: int) -> Form:
    """`digits` decimals; a bare 0 or 1 only where the number is exactly that.

    >>> fixed(2)(0.3), fixed(2)(1.0), fixed(2)(0.0004)
    ('0.30', '1', '0.00')
    """

    def form(value: float) -> str:
        return str(int(value)) if value in (0.0, 1.0) else f"{value:.{digits}f}"

    return form


def significant(digits: int) -> Form:
    """`digits` significant figures, for numbers that plain decimals cannot tell apart.

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


def read(text: str) -> float:
    """The number that a text from this module says.

    >>> read("1.2×10⁻⁵")
    1.2e-05
    """
    mantissa, power, exponent = text.replace("−", "-").partition("×10")
    return float(mantissa + "e" + exponent.translate(_LOWERED) if power else mantissa)


def forms() -> Iterator[tuple[int, Form]]:
    """Ways to write a set of numbers, the shortest first; the last tells any two floats apart."""
    for digits in range(FEWEST, MOST + 1):
        yield digits, fixed(digits)
    for digits in range(3, 18):
        yield digits, significant(digits)


@dataclass(frozen=True, slots=True)
class Shown:
    """Numbers as they are shown, by name, and how many digits that took."""

    text: Mapping[str, str]
    digits: int


def first(fits: Callable[[Form], bool]) -> tuple[int, Form]:
    """The shortest form that fits, and its digits; the longest where none does."""
    found = next(((digits, form) for digits, form in forms() if fits(form)), None)
    return found or (17, significant(17))


def visible(value: float) -> str:
    """A number with as many digits as it takes not to look like 0 or 1 when it is not."""
    return first(lambda form: read(form(value)) > 0 or value == 0)[1](value)


def spoken(value: float, text: str = "") -> str:
    """A number as a sentence says it, `text` being how it is shown elsewhere: exactly 0 and 1 are
    said so, and what is next to them is about 0 or about 1.

    >>> spoken(0.000357), spoken(0.997), spoken(0.45), spoken(1.0)
    ('about 0', 'about 1', '0.45', '1')
    """
    shown = text or visible(value)
    if 0 < value < LEAST:
        return "about 0"
    return "about 1" if value < 1 and read(shown) == 1 else shown


def coin_forms(threshold: float, u: float) -> tuple[Form, Form]:
    """How to write a threshold and a coin: u visibly on its side of it, below 1, and 0 only if so.

    A tiny threshold takes many digits; the coin only as many as it takes to tell the two apart.
    """
    shown = [form for _, form in forms()]
    seen = [(read(form(threshold)) > 0) == (threshold > 0) for form in shown]
    least = seen.index(True)

    def fit(bar_form: Form, form: Form) -> bool:
        bar, at = read(bar_form(threshold)), read(form(u))
        apart = at == bar if u == threshold else at != bar and (at < bar) == (u < threshold)
        return apart and at < 1 and (at > 0) == (u > 0)

    pairs = [(shown[max(least, i)], form) for i, form in enumerate(shown)]
    return next((pair for pair in pairs if fit(*pair)), pairs[-1])


def ratio_test(p: float, q: float, threshold: float, u: float) -> Shown:
    """p, q, their ratio and the coin, such that shown p ÷ shown q is the shown threshold."""
    bar, coin = coin_forms(threshold, u)

    def divides(form: Form) -> bool:
        shown_p, shown_q = read(form(p)), read(form(q))
        if shown_q <= 0 or (p > 0) != (shown_p > 0):
            return False
        return bar(min(1.0, shown_p / shown_q)) == bar(threshold)

    digits, form = first(divides)
    return Shown({"p": form(p), "q": form(q), "threshold": bar(threshold), "u": coin(u)}, digits)


def reach_test(judged: Judged) -> Shown:
    """The reach, p, q and the coin, such that shown reach × p ÷ q is the shown threshold,
    unless that is too little to be weighed."""
    bar, coin = coin_forms(judged.threshold, judged.u)
    reach, p, q = judged.rows.share, judged.inputs["p"], judged.inputs.get("q", 1.0)
    told = {"reach": reach, **{name: judged.inputs[name] for name in "pq" if name in judged.inputs}}
    ends = {"threshold": bar(judged.threshold), "u": coin(judged.u)}
    if judged.threshold < LEAST:
        return Shown({name: visible(value) for name, value in told.items()} | ends, FEWEST)

    def divides(form: Form) -> bool:
        shown = [read(form(value)) for value in (reach, p, q)]
        if shown[2] <= 0 or (p > 0) != (shown[1] > 0) or (reach < 1) != (shown[0] < 1):
            return False
        return bar(min(1.0, shown[0] * shown[1] / shown[2])) == bar(judged.threshold)

    digits, form = first(divides)
    return Shown({name: form(value) for name, value in told.items()} | ends, digits)


def share_test(judged: Judged) -> Shown:
    """What is owed, what was drawn too often and both, such that shown owed ÷ both is the shown
    threshold, unless that is too little to be weighed; and the coin."""
    bar, coin = coin_forms(judged.threshold, judged.u)
    left, beyond = judged.inputs["left"], 1.0 - judged.inputs["reach"]
    ends = {"threshold": bar(judged.threshold), "u": coin(judged.u)}
    if judged.threshold < LEAST:
        told = {"left": left, "beyond": beyond, "all": left + beyond}
        return Shown({name: visible(value) for name, value in told.items()} | ends, FEWEST)

    def both(form: Form) -> float:
        return read(form(left)) + read(form(beyond))

    def divides(form: Form) -> bool:
        if (left > 0) != (read(form(left)) > 0):
            return False
        if both(form) <= 0 or abs(read(form(both(form))) - both(form)) > 1e-12:
            return both(form) <= 0 and left + beyond <= 0
        return bar(read(form(left)) / both(form)) == bar(judged.threshold)

    digits, form = first(divides)
    text = {"left": form(left), "beyond": form(beyond), "all": form(both(form))}
    return Shown(text | ends, digits)


def mass_test(p: float, threshold: float, u: float) -> Shown:
    """p, which is the threshold, and the coin."""
    bar, coin = coin_forms(threshold, u)
    digits = len(bar(0.5)) - 2
    return Shown({"p": bar(p), "threshold": bar(threshold), "u": coin(u)}, digits)


def seen_apart(p: float, q: float | None, threshold: float, u: float) -> Shown:
    """p, q and a threshold that does not follow from these alone: each so that it can be seen."""
    bar, coin = coin_forms(threshold, u)
    text = {"p": visible(p), "threshold": bar(threshold), "u": coin(u)}
    return Shown(text if q is None else text | {"q": visible(q)}, FEWEST)


def interval(u: float, lo: float, hi: float) -> Shown:
    """A draw: shown lo ≤ shown u < shown hi, and their difference is the shown share."""
    hi = min(hi, 1.0)

    def inside(form: Form) -> bool:
        low, at, high = read(form(lo)), read(form(u)), read(form(hi))
        if not (low < at if lo < u else low == at) or not at < high:
            return False
        return abs(high - low - read(form(hi - lo))) < 1e-12

    digits, form = first(inside)
    return Shown({"u": form(u), "lo": form(lo), "hi": form(hi), "share": form(hi - lo)}, digits)


def seconds(value: float) -> str:
    """A duration for people: 31 ms, 0.76 s, 12.3 s."""
    if value < 0.1:
        return f"{value * 1000:.{0 if value >= 0.01 else 1}f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def size(number: float) -> str:
    """Bytes for people, in two or three digits.

    >>> size(0), size(33_000), size(7_649_280), size(176_000_000)
    ('none', '33 kB', '7.6 MB', '176 MB')
    """
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 999.5 and len(units) > 1:
        number, units = number / 1000, units[1:]
    digits = 0 if number >= 9.95 or units[0] == "B" else 1
    return f"{number:.{digits}f} {units[0]}" if number else "none"
