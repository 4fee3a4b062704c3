"""A prompt as a conversation: its turns, and the text that the chat template added around them.

The text that the model read is stored in pieces with one author each, so programs that read a trace
know which tokens a person typed. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, Literal

Role = Literal["system", "user", "assistant"]
ROLES: Final[tuple[Role, ...]] = ("system", "user", "assistant")
PieceKind = Literal["special", "template", "typed"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation, as it was typed."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the prompt that was written by one author.

    Attributes:
        kind: "special" for a special token and "template" for ordinary text, both written by the
            template; "typed" for text that a person typed.
        text: The characters.
        tokens: The number of its tokens. A token with characters of both the person and the
            template counts as typed.
        turn: The index of its turn. The answer has the index after the last turn's. None: the piece
            comes before all turns (for example a default system turn).
    """

    kind: PieceKind
    text: str
    tokens: int
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """The turns of a chat, and the whole prompt in pieces."""

    turns: list[Turn]
    pieces: list[Piece]

    @property
    def text(self) -> str:
        """The text that the model read."""
        return "".join(piece.text for piece in self.pieces)

    def tokens(self, ids: Sequence[int]) -> Iterator[tuple[Piece, list[int]]]:
        """Yield each piece with its tokens; `ids` are the whole prompt's token ids."""
        bounds = pairwise(accumulate((piece.tokens for piece in self.pieces), initial=0))
        for piece, (start, end) in zip(self.pieces, bounds, strict=True):
            yield piece, list(ids[start:end])

    def special(self, ids: Sequence[int]) -> set[int]:
        """Return the special tokens that the template wrote; `ids` are the prompt's token ids."""
        found = self.tokens(ids)
        return {token for piece, own in found if piece.kind == "special" for token in own}
