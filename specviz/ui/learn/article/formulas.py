"""The formulas of the article in MathML, which browsers draw without a library."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _name(letter: str, whose: str = "") -> str:
    return f'<mi class="n-{whose}">{letter}</mi>' if whose else f"<mi>{letter}</mi>"


def _number(digits: str) -> str:
    return f"<mn>{digits}</mn>"


def _sign(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _fraction(above: str, below: str) -> str:
    return f"<mfrac>{above}{below}</mfrac>"


def _power(base: str, exponent: str) -> str:
    return f"<msup>{base}{exponent}</msup>"


def _of(letter: str, whose: str, argument: str = "x") -> str:
    return _row(
        _name(letter, whose), '<mo stretchy="false">(</mo>', _name(argument), _CLOSE,
    )  # fmt: skip


def _function(name: str, *arguments: str) -> str:
    inside = _sign(",").join(arguments)
    return _row(f"<mi>{name}</mi>", _sign("("), inside, _sign(")"))


def _sum(over: str, term: str) -> str:
    return _row(f"<munder>{_sign('∑')}{_name(over)}</munder>", term)


_CLOSE: Final = '<mo stretchy="false">)</mo>'
_P, _Q = _of("p", "p"), _of("q", "q")
_RATIO = _row(_P, _sign("÷"), _Q)
_ONE = _number("1")
_ALPHA, _GAMMA = _name("α", "both"), _name("γ")
_MISSING = _function("max", _number("0"), _row(_P, _sign("−"), _Q))
_MISSING_Y = _function(
    "max", _number("0"), _row(_of("p", "p", "y"), _sign("−"), _of("q", "q", "y"))
)
_BOTH = _function("min", _P, _Q)
_RESIDUAL = _of("r", "residual")
_TOKENS = _fraction(
    _row(_ONE, _sign("−"), _power(_ALPHA, _row(_GAMMA, _sign("+"), _ONE))),
    _row(_ONE, _sign("−"), _ALPHA),
)
_TERMS = _row(
    _ONE, _sign("+"), _ALPHA, _sign("+"), _power(_ALPHA, _number("2")),
    _sign("+"), _sign("…"), _sign("+"), _power(_ALPHA, _GAMMA),
)  # fmt: skip
_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "accept": (_function("min", _ONE, _RATIO),),
    "kept": (_Q, _sign("×"), _function("min", _ONE, _RATIO), _sign("="), _BOTH),
    "alpha": (_ALPHA, _sign("="), _sum("x", _BOTH)),
    "residual": (_RESIDUAL, _sign("="), _fraction(_MISSING, _sum("y", _MISSING_Y))),
    "exact": (
        _BOTH, _sign("+"),
        _row(_sign("("), _ONE, _sign("−"), _ALPHA, _sign(")")), _sign("×"), _RESIDUAL,
        _sign("="), _P,
    ),
    "tokens": ("<mtext>tokens per round</mtext>", _sign("="), _TERMS),
    "geometric": (_TERMS, _sign("="), _TOKENS),
    "speedup": (
        "<mtext>speed-up</mtext>", _sign("="),
        _fraction(_TERMS, _row(_ONE, _sign("+"), _GAMMA, _name("c", "q"))),
    ),
}  # fmt: skip


FORMULAS: Final = MappingProxyType(
    {
        name: f'<math display="block"><mrow>{"".join(parts)}</mrow></math>'
        for name, parts in _PARTS.items()
    }
)
