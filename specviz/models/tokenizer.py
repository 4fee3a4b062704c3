"""Use a tokenizer: encode typed text, never as special tokens, and find the bytes of tokens.

If typed text contains the name of a special token, such as "<s>", it is encoded as plain
characters. transformers can do this, too (`sanitize_control_tokens`), but it does not report which
characters a token came from, and it splits the text around the name.

A token may be a part of a character, which a string cannot represent, so tokens are stored as
bytes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final
from weakref import WeakKeyDictionary, proxy

from tokenizers import AddedToken, Tokenizer

from specviz.models.bounded_encoding import BoundedEncoder, is_bound
from specviz.models.errors import BadPrompt, is_panic

SPELLED: Final = (
    "The text contains {!r}, which this tokenizer cannot read as plain characters. Write it "
    "differently."
)


@dataclass(frozen=True, slots=True)
class EncodedToken:
    """A token of a text.

    Attributes:
        end: Index after its last character.
        special: Whether it is a special token, written as a marker.
    """

    id: int
    start: int
    end: int
    special: bool


class PromptEncoder:
    """Encodes text with one tokenizer.

    special: ids, by name, of tokens that typed text must never give: those that the tokenizer
    declares special, and those that its chat template writes.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer: Any = proxy(tokenizer)  # a weak reference, since it is the key in _ENCODERS
        template = str(tokenizer.chat_template or "")
        added = {
            i: token
            for i, token in tokenizer.added_tokens_decoder.items()
            if token.special or (token.content in template and not token.content.isspace())
        }
        self.special: dict[str, int] = {token.content: i for i, token in added.items()}
        unknown = tokenizer.unk_token_id  # allowed, since it encodes unknown characters
        ends = {tokenizer.eos_token_id, tokenizer.bos_token_id}
        self._forbidden = set(added) - ({unknown} - ends)
        secret = "q" + secrets.token_hex(8)
        self._marks = {text: f"{secret}n{i}z" for text, i in self.special.items()}
        self._plain = (
            _plain_tokenizer(tokenizer, added.values(), self._marks) if is_fast(tokenizer) else None
        )
        self._bounded: BoundedEncoder | None = None
        if self._plain is not None and is_bound(tokenizer):
            self._bounded = BoundedEncoder(self._plain.to_str)

    def encode(self, text: str) -> list[int]:
        """Encode a text and special tokens around it, and at markers.

        Raises BadPrompt if typed text would become a special token.
        """
        if self._plain is None:
            ids: list[int] = self.tokenizer(text, split_special_tokens=True).input_ids
            added = self.tokenizer.get_special_tokens_mask(ids, already_has_special_tokens=True)
            ours = [] if any(added) else ids
        else:
            read = self._read(text)
            added, marked = read.special_tokens_mask, self._marked
            ours = [i for i, own in zip(read.ids, added, strict=True) if not own | (i in marked)]
            ids = [marked.get(i, i) for i in read.ids]
        self._check(ours)
        return ids

    def find_special(self, text: str) -> list[re.Match[str]]:
        """Find names of special tokens in a text; at each position, the longest match is used."""
        longest = sorted(filter(None, self.special), key=len, reverse=True)
        return list(re.finditer("|".join(map(re.escape, longest)) or "(?!)", text))

    def mark(self, special: str) -> str:
        """Return the marker of a special token for `encode_marked`; users cannot guess it."""
        return self._marks[special]

    def encode_marked(self, text: str) -> list[EncodedToken]:
        """Encode a text that contains markers, with a fast tokenizer.

        Raises BadPrompt if typed text would become a special token.
        """
        read, marked = self._read(text, add_special_tokens=False), self._marked
        self._check([i for i in read.ids if i not in marked])
        return [
            EncodedToken(marked.get(i, i), start, end, i in marked)
            for i, (start, end) in zip(read.ids, read.offsets, strict=True)
        ]

    def _read(self, text: str, add_special_tokens: bool = True) -> Any:
        assert self._plain is not None
        encoder: Any = self._plain if self._bounded is None else self._bounded
        try:
            return encoder.encode(text, add_special_tokens=add_special_tokens)
        except BaseException as error:
            if is_panic(error):
                raise BadPrompt(
                    f"The tokenizer of this model fails on this text: {error}"
                ) from error
            raise

    @cached_property
    def _marked(self) -> dict[int, int]:
        assert self._plain is not None
        known: dict[str, int] = self._plain.get_vocab()
        return {known[mark]: self.special[text] for text, mark in self._marks.items()}

    def _check(self, ids: Sequence[int]) -> None:
        # No typed text may have become a special token.
        wrong = next((i for i in ids if i in self._forbidden), None)
        if wrong is not None:
            raise BadPrompt(SPELLED.format(self.tokenizer.convert_ids_to_tokens(wrong)))


def special_ids(tokenizer: Any) -> frozenset[int]:
    """Return the ids of tokens that typed text never becomes, such as the end of a turn."""
    return frozenset(prompt_encoder(tokenizer).special.values())


def is_fast(tokenizer: Any) -> bool:
    """Return whether a tokenizer reports token positions, as the library `tokenizers` does."""
    return bool(tokenizer.is_fast)


def _plain_tokenizer(tokenizer: Any, added: Any, marks: dict[str, str]) -> Tokenizer:
    # It recognizes markers instead of special tokens.
    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    copy.no_truncation()
    copy.no_padding()
    # They are declared special again, so that tokens that were not special are also ignored.
    copy.add_special_tokens([_as(token, token.content, special=True) for token in added])
    copy.encode_special_tokens = True
    copy.add_tokens([_as(token, marks[token.content], special=False) for token in added])
    return copy


def _as(token: AddedToken, text: str, special: bool) -> AddedToken:
    return AddedToken(
        text, special=special, normalized=False, lstrip=token.lstrip, rstrip=token.rstrip
    )


_ENCODERS: Final[WeakKeyDictionary[Any, PromptEncoder]] = WeakKeyDictionary()


def prompt_encoder(tokenizer: Any) -> PromptEncoder:
    """Return the encoder of a tokenizer, building it on the first call."""
    found = _ENCODERS.get(tokenizer)
    if found is None:
        found = _ENCODERS[tokenizer] = PromptEncoder(tokenizer)
    return found


BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_bytes(tokenizer: Any, token: int) -> bytes:
    """Return the bytes that `token` adds to a text, or b"<id>" if the tokenizer has no such id."""
    text = tokenizer.convert_ids_to_tokens(token) if 0 <= token < len(tokenizer) else None
    if text is None:
        return f"<{token}>".encode()
    return _bytes_of(str(text), token in tokenizer.added_tokens_decoder, is_byte_level(tokenizer))


def vocabulary_bytes(tokenizer: Any, size: int) -> dict[int, bytes]:
    """Return the bytes of every token whose id is below `size`, by id."""
    added: Container[int] = tokenizer.added_tokens_decoder
    level = is_byte_level(tokenizer)
    known: Mapping[str, int] = tokenizer.get_vocab()
    return {i: _bytes_of(text, i in added, level) for text, i in known.items() if i < size}


def _bytes_of(text: str, added: bool, byte_level: bool) -> bytes:
    # added: whether its entry is plain text; byte_level: whether it is encoded as GPT-2's.
    if added:
        return text.encode()
    if byte_level:
        table = byte_of_character()
        if all(character in table for character in text):
            return bytes(table[character] for character in text)
    found = BYTE_TOKEN.fullmatch(text)
    if found:
        return bytes([int(found[1], 16)])
    return text.replace("▁", " ").encode()


def is_byte_level(tokenizer: Any) -> bool:
    """Return whether a tokenizer writes each byte as one printable character, as GPT-2's does."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in str(backend.decoder)


@cache
def byte_of_character() -> dict[str, int]:
    """Return GPT-2's table that maps characters to bytes.

    Printable bytes are written as themselves, all others as characters from U+0100 on.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + i): byte for i, byte in enumerate(others)}
