"""Find the bytes of a token. A token may be part of a character, which a string cannot hold."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import cache
from typing import Any, Final

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
    """Return the bytes of a token from its entry in the vocabulary.

    Args:
        text: The token's entry.
        added: Whether it is an added token, whose characters are not encoded.
        byte_level: Whether the tokenizer encodes bytes as GPT-2's does.
    """
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
    """Return whether a tokenizer, like GPT-2's, writes each byte as one printable character."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in str(backend.decoder)


@cache
def byte_of_character() -> dict[str, int]:
    """Return GPT-2's table of bytes by character.

    Printable bytes are written as themselves, all others as characters from U+0100 on.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + i): byte for i, byte in enumerate(others)}
