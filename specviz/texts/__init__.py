"""Sentences of the page, kept in Jinja2 templates that can be read from top to bottom.

Each tab or subject has one file of macros, such as `step.jinja`, and each macro is one sentence.
Python chooses the macro and formats the numbers; the template has all the words:

    {% macro bonus(kept, coin, token) %}
    All {{ kept|count("guess", "guesses") }} were accepted. The coin u = {{ coin }} selects
    {{ token }} from p.
    {% endmacro %}

    say("step", "bonus", kept=3, coin=number("0.43", "u"), token=word(pieces))

A value may be a part (a number with its colour, a token's chip) or a list of parts, which appear
unchanged in the result. Line ends and indentation count as one space. Integers get thousands
separators; floats must be formatted by the caller.
"""

from specviz.texts.render import (
    FEW,
    GlyphName,
    NumberPart,
    Part,
    Piece,
    Whose,
    WordPart,
    count,
    listed,
    macros,
    number,
    say,
    term,
    text,
    word,
)

__all__ = [
    "FEW",
    "GlyphName",
    "NumberPart",
    "Part",
    "Piece",
    "Whose",
    "WordPart",
    "count",
    "listed",
    "macros",
    "number",
    "say",
    "term",
    "text",
    "word",
]
