"""Check the bytes of tokens: one spelling per id, before its first use, and the prompt's text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from specviz.trace.check.expectations import expect
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Header,
    Judged,
    Proposed,
    Scored,
    Vocabulary,
)
from specviz.trace.file import Trace

SPECIAL: Final = re.compile(r"<.*>|\[.*\]|", re.DOTALL)  # the usual spelling of special tokens
UNKNOWN: Final = re.compile(r"[<\[]unk[>\]]", re.IGNORECASE)
JOINTS: Final = re.compile(r"##|▁|\s+")  # what tokenizers add or remove between pieces


def check_vocabulary(trace: Trace) -> None:
    """Check that every id used has one spelling, and the right one in the prompt."""
    known: dict[str, str] = {}
    header = trace.header
    for event in trace.events:
        if isinstance(event, Vocabulary):
            for token, spelling in event.tokens.items():
                inside = token == str(int(token)) and 0 <= int(token) < header.vocab_size
                expect(inside, "Vocabulary", f"{token!r:.40} is not a token id")
                bytes_ = all(letter <= "\xff" for letter in spelling)
                expect(bytes_, "Vocabulary", f"the bytes of token {token} are not latin-1 text")
                once = known.setdefault(token, spelling) == spelling
                expect(once, "Vocabulary", f"token {token} has two spellings")
            continue
        where, used = used_tokens(event)
        missing = [token for token in used if str(token) not in known]
        expect(not missing, where, f"no bytes for tokens {missing[:3]}")
    missing = [token for token in header.prompt_ids if trace.events and str(token) not in known]
    expect(not missing, "Header", f"no bytes for tokens {missing[:3]} of the prompt")
    for piece, ids in header.chat.tokens(header.prompt_ids) if header.chat else ():
        # Other tokens may be spelled differently: a tokenizer may change the text first.
        spelled = [known.get(str(token)) for token in ids]
        same = piece.kind != "special" or spelled == [piece.text.encode().decode("latin-1")]
        expect(same, "Chat", f"its special token is not spelled {piece.text!r:.40}")
    check_prompt(header, known)


def used_tokens(event: Event) -> tuple[str, list[int]]:
    """Return where an event is, and the token ids that it shows."""
    if isinstance(event, Baseline):
        return "Baseline", event.token_ids
    return f"Round {getattr(event, 'round', '?')}", [*shown_tokens(event)]


def shown_tokens(event: Event) -> Iterator[int]:
    """Yield the token ids of an event of a round, without those in evidence."""
    if isinstance(event, Proposed):
        yield from (guess.token for guess in event.guesses)
    elif isinstance(event, Scored):
        yield from (int(pair[0]) for top in event.top for pair in top)
    elif isinstance(event, Judged):
        yield from event.rows.tokens
    elif isinstance(event, Drew | Committed):
        yield from event.tokens


def check_prompt(header: Header, known: Mapping[str, str]) -> None:
    """Check that the prompt's tokens spell the text that the model read.

    Special tokens at the ends are skipped. The spelling must be exact, or differ only in what
    tokenizers change: case, accents, compatible characters and white space.
    """
    pieces = [known.get(str(token), "").encode("latin-1") for token in header.prompt_ids]
    text = header.model_text
    if any(UNKNOWN.fullmatch(decode_bytes(piece)) for piece in pieces):
        return  # some of the text is not in its tokens
    for start, end in text_spans(pieces, header):
        spelled = decode_bytes(b"".join(pieces[start:end]))
        if spelled == text or fold_text(spelled) == fold_text(text):
            return
    expect(False, "Header", "the prompt's tokens do not spell its text")


def text_spans(pieces: Sequence[bytes], header: Header) -> Iterator[tuple[int, int]]:
    """Yield where the text may start and end among the tokens, with special tokens around it."""
    special = [
        token in header.eos or SPECIAL.fullmatch(decode_bytes(piece)) is not None
        for token, piece in zip(header.prompt_ids, pieces, strict=True)
    ]
    size = len(pieces)
    before = [n for n in range(min(3, size + 1)) if all(special[:n])]
    after = [n for n in range(min(3, size + 1)) if all(special[size - n :])]
    yield from ((start, size - n) for start in before for n in after if start + n <= size)


def decode_bytes(spelling: bytes) -> str:
    """Decode bytes as UTF-8; invalid bytes become U+FFFD."""
    return spelling.decode("utf-8", errors="replace")


def fold_text(text: str) -> str:
    """Remove from a text what a tokenizer may change."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return JOINTS.sub("", letters)
