"""Sentences of the page, kept in Jinja2 templates that can be read from top to bottom.

Each tab or subject has one file of macros, such as `step.jinja`, and each macro is one sentence.
Python chooses the macro and formats the numbers; the template has all the words:

    {% macro bonus(kept, coin, token) %} All {{ kept|count("guess", "guesses") }} were accepted. The
    coin u = {{ coin }} selects {{ token }} from p. {% endmacro %}

    say("step", "bonus", kept=3, coin=number("0.43", "u"), token=word(pieces))

A value may be a part (a number with its colour, a token's chip) or a list of parts; the result
contains parts unchanged. Line ends and indentation count as one space. Integers get thousands
separators; floats must be formatted by the caller.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict, final

if TYPE_CHECKING:
    from jinja2 import Environment


__all__ = [
    "FEW",
    "GlyphName",
    "NumberPart",
    "Part",
    "Piece",
    "Whose",
    "WordPart",
    "count",
    "evaluate",
    "listed",
    "macros",
    "number",
    "render_text",
    "say",
    "term",
    "text",
    "word",
]


GlyphName = Literal["space", "newline", "tab", "return"]
Whose = Literal["p", "q", "both", "residual", "u"]


@final
class GlyphPiece(TypedDict):
    """White space made visible."""

    g: GlyphName


@final
class CodePiece(TypedDict):
    """A byte that is not text, or an invisible character, shown by its number."""

    c: str


@final
class NamePiece(TypedDict):
    """A special token, shown by its name."""

    s: str


Piece = str | GlyphPiece | CodePiece | NamePiece


class WordPart(TypedDict):
    """A chip that shows a token."""

    w: list[Piece]


class TermPart(TypedDict):
    """A text that opens a glossary entry when clicked."""

    t: str
    term: str


# "as" is a keyword of Python. `term` is its glossary entry, if that differs from the entry of its
# colour.
NumberPart = TypedDict("NumberPart", {"n": str, "as": Whose, "term": NotRequired[str]})
Part = str | WordPart | NumberPart | TermPart

FEW: Final = 3


def number(text: str, whose: Whose, entry: str = "") -> NumberPart:
    """Return a number in the colour of its distribution.

    Args:
        text: The number as text.
        whose: The distribution that it belongs to.
        entry: Its glossary entry, if that differs from the entry of its colour.
    """
    return {"n": text, "as": whose, "term": entry} if entry else {"n": text, "as": whose}


def word(pieces: list[Piece]) -> WordPart:
    """Return the chip of a token, given its pieces from `specviz.frames.scene.word`."""
    return {"w": pieces}


def term(text: str, entry: str) -> TermPart:
    """Return a text that opens the glossary entry `entry` when clicked."""
    return {"t": text, "term": entry}


def listed(parts: Sequence[Part]) -> list[Part]:
    """Join parts as in "A, B and C"; if there are more than `FEW`, count the rest."""
    shown, more = list(parts[:FEW]), len(parts) - FEW
    if more > 0:
        shown.append(f"{more} more")
    joined: list[Part] = []
    for index, part in enumerate(shown):
        if index:
            joined.append(" and " if index == len(shown) - 1 else ", ")
        joined.append(part)
    return joined


FOLDER: Final = Path(__file__).parent
OPEN, CLOSE = "\x02", "\x03"
_MARKER: Final = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")
_SPACE: Final = re.compile(r"[ \t\n]+")


def say(template: str, macro: str, /, **values: Any) -> list[Part]:
    """Render one sentence into parts.

    template: a file of this folder without its ending, such as "step" or "evidence". Raises
    KeyError if the template has no such macro; TypeError if an argument is unknown or cannot be
    printed; see `marked`; UndefinedError if an argument is missing.
    """
    return parted(_render(template, macro, values))


def render_text(source: str, values: Mapping[str, Any]) -> list[Part]:
    """Render a paragraph of a lesson, a template, into parts; raises what `say` does."""
    return parted(_environment().from_string(source).render(values))


def evaluate(expression: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression of a lesson, such as "run.numbers.speedup > 1"."""
    return _environment().compile_expression(expression, undefined_to_none=False)(**values)


def parted(rendered: str) -> list[Part]:
    """Split a rendered macro into text, with single spaces, and parts."""
    pieces = _MARKER.split(rendered)
    last = len(pieces) - 1
    parts: list[Part] = []
    for index, piece in enumerate(pieces):
        if index % 2:
            parts.append(json.loads(piece))
            continue
        written = _SPACE.sub(" ", piece)
        written = written if index else written.lstrip(" ")
        written = written if index < last else written.rstrip(" ")
        if written:
            parts.append(written)
    return parts


def text(template: str, macro: str, /, **values: Any) -> str:
    """Render one sentence without parts into a string; see `say`."""
    parts = say(template, macro, **values)
    if not all(isinstance(part, str) for part in parts):
        raise TypeError(f"{template}.jinja: {macro} has parts that are not text")
    return "".join(map(str, parts))


def macros(template: str) -> Mapping[str, Callable[..., str]]:
    """Return the macros of a template by name, in the order of the file."""
    return _macros(template)


def count(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun: 1 token, 4 tokens.

    Args:
        number: The number.
        noun: The singular.
        plural: The plural, if it is not the singular plus "s".

    >>> count(1, "pass", "passes"), count(4, "pass", "passes")
    ('1 pass', '4 passes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _render(template: str, macro: str, values: Mapping[str, Any]) -> str:
    found = _macros(template).get(macro)
    if found is None:
        raise KeyError(f"{template}.jinja has no sentence {macro}")
    return str(found(**values))


@cache
def _macros(template: str) -> Mapping[str, Callable[..., str]]:
    module = _environment().get_template(f"{template}.jinja").module
    return {name: value for name, value in vars(module).items() if callable(value)}


@cache
def _environment() -> Environment:
    # Imported late, because most commands import this module without rendering a sentence.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER),
        undefined=StrictUndefined,
        finalize=marked,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # parts are data; strings are escaped by the page
        auto_reload=False,
    )
    made.filters["count"] = count
    made.filters["listed"] = lambda parts: marked(listed(parts))
    made.filters["bold"] = lambda words: marked({"b": _SPACE.sub(" ", words).strip()})
    return made


def marked(value: Any) -> str:
    """Convert a value for a template: to text, or to a marker; TypeError if never printed."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return OPEN + json.dumps(value, ensure_ascii=False, separators=(",", ":")) + CLOSE
    if isinstance(value, list | tuple):
        return "".join(marked(part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _undefined(value)


def _undefined(value: Any) -> str:
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        return str(value)  # raises an error that names what is missing
    raise TypeError(f"a sentence cannot print {value!r}")
