"""The tokens that two vocabularies have in common: those that are spelled by the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specviz.models.prompt_encoder import special_ids
from specviz.models.token_bytes import vocabulary_bytes


@dataclass(frozen=True)
class Shared:
    """own: by token of the target, the draft model's. size: of the target's vocabulary.

    spelled, own_spelled: the bytes of every token, of the target and of the draft model.
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
        """The draft model's tokens for shared ones of the target's, (n,) each."""
        return self._own.to(tokens.device)[tokens]

    def fit(self, logits: Tensor) -> Tensor:
        """The draft model's logits (n, W) over the target's tokens (n, V): -inf where not shared.

        What is drawn from them is drawn from the draft model's law given a shared token (TLI, token
        level intersection, 2502.05202, algorithm 4).
        """
        theirs, own = self._rows.to(logits.device)
        fitted = logits.new_full((logits.shape[0], self.size), -torch.inf)
        fitted[:, theirs] = logits[:, own]
        return fitted


def shared(tokenizer: Any, size: int, own_tokenizer: Any, own_size: int, end: int | None) -> Shared:
    """What a target's tokenizer and a draft model's share, of their first so many ids.

    A special token is only shared with one of the same name that is special too; of tokens spelled
    alike, the first. end: what ends the target's texts; the token that ends the draft model's own
    stands for it.
    """
    spelled, own_spelled = (
        vocabulary_bytes(tokenizer, size),
        vocabulary_bytes(own_tokenizer, own_size),
    )
    specials = special_ids(tokenizer), special_ids(own_tokenizer)
    known: dict[tuple[bytes, bool], int] = {}
    for token, said in sorted(own_spelled.items()):
        known.setdefault((said, token in specials[1]), token)
    found: dict[int, int] = {}
    for token, said in sorted(spelled.items()):
        own = known.pop((said, token in specials[0]), None)
        if own is not None:
            found[token] = own
    ends = own_tokenizer.eos_token_id
    told = ends is not None and ends < own_size and ends not in found.values()
    if told and end is not None:
        found.setdefault(end, ends)
    return Shared(found, size, spelled, own_spelled)
