"""Two vocabularies: the tokens they share, and one text in both.

Conversion between them goes through bytes, since a token may end within a character.
"""

from __future__ import annotations

from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

import torch
from torch import Tensor

from specviz.models.prompt_encoder import prompt_encoder, special_ids
from specviz.models.target import Target
from specviz.models.token_bytes import vocabulary_bytes


@dataclass(frozen=True)
class Shared:
    """The tokens that two vocabularies spell with the same bytes.

    Attributes:
        own: By token of the target, the draft model's token.
        size: Size of the target's vocabulary.
        spelled: By token of the target, its bytes.
        own_spelled: By token of the draft model, its bytes.
    """

    own: Mapping[int, int]
    size: int
    spelled: Mapping[int, bytes]
    own_spelled: Mapping[int, bytes]

    @cached_property
    def _rows(self) -> Tensor:
        return torch.tensor([list(self.own), list(self.own.values())])

    @cached_property
    def _own(self) -> Tensor:
        return torch.zeros(self.size, dtype=torch.long).index_copy_(0, *self._rows)

    def own_of(self, tokens: Tensor) -> Tensor:
        """Return the draft model's tokens (n,) for shared tokens (n,) of the target."""
        return self._own.to(tokens.device)[tokens]

    def fit(self, logits: Tensor) -> Tensor:
        """Map the draft model's logits (n, W) to the target's tokens (n, V), -inf where not shared.

        Sampling from the result is sampling from the draft model's distribution given a shared
        token (TLI, token-level intersection, 2502.05202, algorithm 4).
        """
        theirs, own = self._rows.to(logits.device)
        fitted = logits.new_full((logits.shape[0], self.size), -torch.inf)
        fitted[:, theirs] = logits[:, own]
        return fitted


def shared(tokenizer: Any, size: int, own_tokenizer: Any, own_size: int, end: int | None) -> Shared:
    """Return the tokens that a target's tokenizer and a draft model's share.

    A special token is shared only with a special token of the same name. Of tokens with the same
    bytes, the first is taken.

    Args:
        tokenizer: The target's tokenizer.
        size: Number of the target's token ids.
        own_tokenizer: The draft model's tokenizer.
        own_size: Number of the draft model's token ids.
        end: Token that ends the target's texts, or None; it is paired with the one that ends the
            draft model's texts.
    """
    spelled, own_spelled = (
        vocabulary_bytes(tokenizer, size),
        vocabulary_bytes(own_tokenizer, own_size),
    )
    specials = special_ids(tokenizer), special_ids(own_tokenizer)
    known: dict[tuple[bytes, bool], int] = {}
    for token, spelling in sorted(own_spelled.items()):
        known.setdefault((spelling, token in specials[1]), token)
    found: dict[int, int] = {}
    for token, spelling in sorted(spelled.items()):
        own = known.pop((spelling, token in specials[0]), None)
        if own is not None:
            found[token] = own
    ends = own_tokenizer.eos_token_id
    unpaired_end = ends is not None and ends < own_size and ends not in found.values()
    if unpaired_end and end is not None:
        found.setdefault(end, ends)
    return Shared(found, size, spelled, own_spelled)


LOOKED_BACK: Final = 8  # tokens of the text that are encoded again before a guess


@dataclass(frozen=True, slots=True)
class OwnText:
    """A text as the draft model reads it.

    Attributes:
        ids: The draft model's tokens.
        rest: Last bytes of the text that do not form a whole character yet.
    """

    ids: list[int]
    rest: bytes


class Rewriting:
    """Converts text between the target's tokenizer and the draft model's."""

    def __init__(self, target: Target, tokenizer: Any, shared: Shared) -> None:
        self.target = target
        self.tokenizer = tokenizer
        self.shared = shared
        self._special = special_ids(target.tokenizer)

    def own(self, context: Sequence[int]) -> OwnText:
        """Return the whole text in the draft model's tokens.

        Special tokens that only the target has are left out, since their letters would be noise;
        shared ones (such as the marks of a chat's turns) are kept.

        Raises:
            BadPrompt: If the text cannot be encoded.
        """
        decoder = getincrementaldecoder("utf-8")("ignore")
        text = "".join(
            decoder.decode(b"", final=True) + self._mark(token)
            if token in self._special
            else decoder.decode(self.shared.spelled.get(token, b""))
            for token in context
        )
        return OwnText(prompt_encoder(self.tokenizer).encode(text), decoder.getstate()[0])

    def _mark(self, special: int) -> str:
        own = self.shared.own.get(special)
        if own is None:
            return ""
        return prompt_encoder(self.tokenizer).mark(self.tokenizer.convert_ids_to_tokens(own))

    def guesses(self, context: Sequence[int], rest: bytes, own: Sequence[int]) -> list[int]:
        """Return what the draft model wrote after a text, in the target's tokens; [] if impossible.

        The last tokens of the text are encoded again together with the guesses, so that both are
        tokenised as the target would. If that would change the text itself, fewer tokens are
        encoded again.
        """
        spelling = b"".join(self.shared.own_spelled.get(token, b"") for token in own)
        if not spelling.startswith(rest):
            return []
        whole = self._characters(rest, spelling)
        spans = [self.shared.spelled.get(token, b"") for token in self._plain_end(context)]
        for back in range(len(spans), -1, -1):
            before = b"".join(spans[len(spans) - back :])
            found = self._after(before, whole)
            if found is not None:
                return list(takewhile(self.shared.size.__gt__, found))
        return []

    def _characters(self, rest: bytes, spelling: bytes) -> bytes:
        """Return the bytes of `spelling` beyond `rest`, without an incomplete last character."""
        cut = getincrementaldecoder("utf-8")("ignore")
        cut.decode(spelling)
        return spelling[len(rest) : len(spelling) - len(cut.getstate()[0])]

    def _plain_end(self, context: Sequence[int]) -> list[int]:
        """Return the last tokens of the text after its last special token."""
        end = list(context[-LOOKED_BACK:])
        last = max((at for at, token in enumerate(end) if token in self._special), default=-1)
        return end[last + 1 :]

    def _after(self, before: bytes, then: bytes) -> list[int] | None:
        """Return the tokens of `then`, encoded after `before`; None if a token spans both."""
        try:
            text = (before + then).decode()
        except UnicodeDecodeError:
            return None
        ids = [each.id for each in prompt_encoder(self.target.tokenizer).encode_marked(text)]
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
