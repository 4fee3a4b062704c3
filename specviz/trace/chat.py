"""A prompt as a conversation: who said what, and what the tokenizer's template wrote around it.

One rule: the text that the model read is kept in pieces by their author, so that nobody has to
guess later which tokens a person typed. Standard library only.
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
    """A stretch of the prompt that has one author.

    kind: a special token or ordinary text that the template wrote, or what was typed. text: the
    letters. tokens: how many of the prompt's tokens are counted here; a token with typed letters
    and the template's counts as typed. turn: to which turn it belongs, by its place in the list;
    one more than the last is the answer's, None stands before all (a default system turn, say).
    """

    kind: PieceKind
    text: str
    tokens: int
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class Chat:
    """The turns that were asked for, and the whole prompt in pieces."""

    turns: list[Turn]
    pieces: list[Piece]

    @property
    def text(self) -> str:
        """What the model read."""
        return "".join(piece.text for piece in self.pieces)

    def tokens(self, ids: Sequence[int]) -> Iterator[tuple[Piece, list[int]]]:
        """Each piece with its tokens. ids: the whole prompt's."""
        bounds = pairwise(accumulate((piece.tokens for piece in self.pieces), initial=0))
        for piece, (start, end) in zip(self.pieces, bounds, strict=True):
            yield piece, list(ids[start:end])

    def special(self, ids: Sequence[int]) -> set[int]:
        """The special tokens that the template wrote. ids: the whole prompt's."""
        found = self.tokens(ids)
        return {token for piece, own in found if piece.kind == "special" for token in own}
