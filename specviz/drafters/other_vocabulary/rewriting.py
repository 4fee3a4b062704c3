"""One text in two tokenizers: the target's tokens as the draft model reads them, and back.

Rule: between the two lie bytes, never text, since a token may end within a character.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from specviz.drafters.other_vocabulary.shared import Shared
from specviz.models.prompt_encoder import prompt_encoder, special_ids
from specviz.models.target import Target

LOOKED_BACK: Final = 8  # tokens of the text that are encoded again before a guess


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text as the draft model reads it. rest: its last bytes, where they are no character yet."""

    ids: list[int]
    rest: bytes


class Rewriting:
    """Between a target's tokenizer and that of a draft model. Both say where a token stands."""

    def __init__(self, target: Target, tokenizer: Any, shared: Shared) -> None:
        self.target = target
        self.tokenizer = tokenizer
        self.shared = shared
        self._special = special_ids(target.tokenizer)

    def own(self, context: Sequence[int]) -> OwnText:
        """The whole text in the draft model's tokens. Raises BadPrompt.

        Of special tokens only those that both have are there (a chat's turns, where both write
        them alike): another's letters would be noise.
        """
        decoder = getincrementaldecoder("utf-8")("ignore")
        text = "".join(
            decoder.decode(b"", final=True) + self._mark(token)
            if token in self._special
            else decoder.decode(self.shared.spelled.get(token, b""))
            for token in context
        )
        return OwnText(prompt_encoder(self.tokenizer).raw(text), decoder.getstate()[0])

    def _mark(self, special: int) -> str:
        own = self.shared.own.get(special)
        if own is None:
            return ""
        return prompt_encoder(self.tokenizer).mark(self.tokenizer.convert_ids_to_tokens(own))

    def guesses(self, context: Sequence[int], rest: bytes, own: Sequence[int]) -> list[int]:
        """What the draft model wrote after a text, in the target's tokens; [] where it cannot be.

        The last tokens of the text are encoded again with them, so that both stand as the target
        would write them; where that would write the text itself otherwise, fewer are.
        """
        said = b"".join(self.shared.own_spelled.get(token, b"") for token in own)
        if not said.startswith(rest):
            return []
        whole = self._characters(rest, said)
        spans = [self.shared.spelled.get(token, b"") for token in self._plain_end(context)]
        for back in range(len(spans), -1, -1):
            before = b"".join(spans[len(spans) - back :])
            found = self._after(before, whole)
            if found is not None:
                return list(takewhile(self.shared.size.__gt__, found))
        return []

    def _characters(self, rest: bytes, said: bytes) -> bytes:
        """What is said beyond `rest`, without a last character that is not whole."""
        cut = getincrementaldecoder("utf-8")("ignore")
        cut.decode(said)
        return said[len(rest) : len(said) - len(cut.getstate()[0])]

    def _plain_end(self, context: Sequence[int]) -> list[int]:
        """The last tokens of the text, as far back as none is special."""
        end = list(context[-LOOKED_BACK:])
        last = max((at for at, token in enumerate(end) if token in self._special), default=-1)
        return end[last + 1 :]

    def _after(self, before: bytes, then: bytes) -> list[int] | None:
        """The target's tokens of `then`, encoded after `before`; None where one spans both."""
        try:
            text = (before + then).decode()
        except UnicodeDecodeError:
            return None
        ids = [each.id for each in prompt_encoder(self.target.tokenizer).coded(text)]
        spans = [self.shared.spelled.get(token, b"") for token in ids]
        left = sum(map(len, spans))
        if not b"".join(spans).endswith(before + then):
            return None
        for at in range(len(ids) + 1):
            if left == len(then):
                return ids[at:]
            if at < len(ids):
                left -= len(spans[at])
        return None
