"""Tokens as things that can be shown: text, visible spaces and line ends, bytes that are no text.

A word is a list of pieces and stays data: it is shown as text, never as markup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Final

Piece = str | dict[str, str]


Word = list[Piece]


GLYPHS: Final[Mapping[str, str]] = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return"}
FLAT: Final[Mapping[str, str]] = {"space": "␣", "newline": "↵", "tab": "⇥", "return": "↲"}


def word(data: bytes) -> Word:
    """A token's bytes as pieces: text, {"g": glyph} for white space, {"c": code} for the rest.

    >>> word(b" cat")
    [{'g': 'space'}, 'cat']
    >>> word(b"caf\\xc3")
    ['caf', {'c': '0xC3'}]
    """
    pieces: Word = []
    for piece in _pieces(data):
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces


def special(data: bytes) -> Word:
    """A special token, which is no text: its name as one piece."""
    return [{"s": data.decode("utf-8", "replace")}]


def _pieces(data: bytes) -> Iterator[Piece]:
    # surrogateescape keeps each byte that is no UTF-8 as one code point, so nothing is guessed.
    for char in data.decode("utf-8", "surrogateescape"):
        if char in GLYPHS:
            yield {"g": GLYPHS[char]}
        elif "\udc80" <= char <= "\udcff":
            yield {"c": f"0x{ord(char) - 0xDC00:02X}"}
        elif unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn"):
            # Invisible, or able to turn the text around it: shown by number instead.
            yield {"c": f"U+{ord(char):04X}"}
        else:
            yield char


def flat(pieces: Word) -> str:
    """A word as plain text, for names read aloud and for Plotly: ␣cat, ↵, <0xE2>."""
    return "".join(_flat(piece) for piece in pieces)


def _flat(piece: Piece) -> str:
    if isinstance(piece, str):
        return piece
    if "s" in piece:
        return piece["s"]
    return FLAT[piece["g"]] if "g" in piece else f"<{piece['c']}>"
