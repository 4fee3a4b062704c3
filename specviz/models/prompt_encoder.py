"""Text to token ids, where a special token stands only where the program itself puts one.

Rule: what somebody typed is letters, even where it spells a special token. transformers sanitizes
typed text too (`sanitize_control_tokens`), but does not say which token came from whose letters,
and breaks the text where it found such a spelling.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary, proxy

from tokenizers import AddedToken, Tokenizer

from specviz.models.errors import BadPrompt

SPELLED: Final = (
    "The text spells {!r}, which this tokenizer cannot read as plain letters. Write it otherwise."
)


@dataclass(frozen=True, slots=True)
class EncodedToken:
    """A token of a text. start, end: its letters. special: whether a mark stood there."""

    id: int
    start: int
    end: int
    special: bool


class PromptEncoder:
    """One tokenizer, reading text as letters.

    special: by spelling, the id of each token that typed text must not become: those that the
    tokenizer calls special, and those that its chat template writes.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer: Any = proxy(tokenizer)  # which is the key that this is kept by
        template = str(tokenizer.chat_template or "")
        added = {
            i: token
            for i, token in tokenizer.added_tokens_decoder.items()
            if token.special or (token.content in template and not token.content.isspace())
        }
        self.special: dict[str, int] = {token.content: i for i, token in added.items()}
        unknown = tokenizer.unk_token_id  # what no token spells becomes this one, typed or not
        ends = {tokenizer.eos_token_id, tokenizer.bos_token_id}
        self._never = set(added) - ({unknown} - ends)
        secret = "q" + secrets.token_hex(8)
        self._marks = {text: f"{secret}n{i}z" for text, i in self.special.items()}
        self._letters = (
            _letters(tokenizer, added.values(), self._marks) if is_fast(tokenizer) else None
        )

    def raw(self, text: str) -> list[int]:
        """The ids of a whole text, with what the tokenizer adds around it. Raises BadPrompt.

        Where it `is_fast`, a mark in the text becomes its special token.
        """
        if self._letters is None:
            ids: list[int] = self.tokenizer(text, split_special_tokens=True).input_ids
            added = self.tokenizer.get_special_tokens_mask(ids, already_has_special_tokens=True)
            ours = [] if any(added) else ids
        else:
            read = self._letters.encode(text)
            added, marked = read.special_tokens_mask, self._marked
            ours = [i for i, own in zip(read.ids, added, strict=True) if not own | (i in marked)]
            ids = [marked.get(i, i) for i in read.ids]
        self._check(ours)
        return ids

    def found(self, text: str) -> list[re.Match[str]]:
        """Where special tokens are spelled in a text; of two that begin there the longer one."""
        longest = sorted(filter(None, self.special), key=len, reverse=True)
        return list(re.finditer("|".join(map(re.escape, longest)) or "(?!)", text))

    def mark(self, special: str) -> str:
        """What stands for a special token in a text for `coded`; nobody can have typed it."""
        return self._marks[special]

    def coded(self, text: str) -> list[EncodedToken]:
        """The tokens of a text with marks, nothing added around it. Raises BadPrompt.

        Only for a tokenizer that `is_fast`: others cannot say where their tokens stand.
        """
        assert self._letters is not None
        read, marked = self._letters.encode(text, add_special_tokens=False), self._marked
        self._check([i for i in read.ids if i not in marked])
        return [
            EncodedToken(marked.get(i, i), start, end, i in marked)
            for i, (start, end) in zip(read.ids, read.offsets, strict=True)
        ]

    @cached_property
    def _marked(self) -> dict[int, int]:
        """By the id of a mark, that of what it stands for."""
        assert self._letters is not None
        known: dict[str, int] = self._letters.get_vocab()
        return {known[mark]: self.special[text] for text, mark in self._marks.items()}

    def _check(self, ids: Sequence[int]) -> None:
        """Raise BadPrompt where letters became a special token all the same."""
        wrong = next((i for i in ids if i in self._never), None)
        if wrong is not None:
            raise BadPrompt(SPELLED.format(self.tokenizer.convert_ids_to_tokens(wrong)))


def special_ids(tokenizer: Any) -> frozenset[int]:
    """The tokens that no letters become: a text's ends, a chat's turns."""
    return frozenset(prompt_encoder(tokenizer).special.values())


def is_fast(tokenizer: Any) -> bool:
    """Whether it is one of the tokenizers library, which says where in a text a token stands."""
    return bool(tokenizer.is_fast)


def _letters(tokenizer: Any, added: Any, marks: dict[str, str]) -> Tokenizer:
    """A copy that passes special tokens by, and knows marks in their place."""
    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    # Said once more as special, so that those that were not are passed by too.
    copy.add_special_tokens([_as(token, token.content, special=True) for token in added])
    copy.encode_special_tokens = True
    copy.add_tokens([_as(token, marks[token.content], special=False) for token in added])
    return copy


def _as(token: AddedToken, text: str, special: bool) -> AddedToken:
    return AddedToken(
        text, special=special, normalized=False, lstrip=token.lstrip, rstrip=token.rstrip
    )


_READERS: Final[WeakKeyDictionary[Any, PromptEncoder]] = WeakKeyDictionary()


def prompt_encoder(tokenizer: Any) -> PromptEncoder:
    """The reader of a tokenizer; making one copies it, so it is made once."""
    found = _READERS.get(tokenizer)
    if found is None:
        found = _READERS[tokenizer] = PromptEncoder(tokenizer)
    return found
