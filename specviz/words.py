"""The bytes behind a token id. A token may be half a character, so text would lose it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def token_bytes(tokenizer: Any, token: int) -> bytes:
    """The bytes that `token` adds to a text; "<id>" in bytes where the tokenizer has no such id."""
    text = tokenizer.convert_ids_to_tokens(token) if 0 <= token < len(tokenizer) else None
    if text is None:
        return f"<{token}>".encode()
    if token in tokenizer.added_tokens_decoder:
        return str(text).encode()
    if is_byte_level(tokenizer):
        table = byte_of_character()
        if all(character in table for character in text):
            return bytes(table[character] for character in text)
    found = BYTE_TOKEN.fullmatch(text)
    if found:
        return bytes([int(found[1], 16)])
    return str(text).replace("▁", " ").encode()


def is_byte_level(tokenizer: Any) -> bool:
    """True for GPT-2's scheme, where every byte is written as one printable character."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and "ByteLevel" in str(backend.decoder)


@cache
def byte_of_character() -> dict[str, int]:
    """GPT-2's table: printable bytes stand for themselves, the others for U+0100 and on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(256 + i): byte for i, byte in enumerate(others)}
