"""Builds SentencePiece's kind of BPE from a GGUF file, as llama.cpp reads it.

Every token has a score; of two neighbours that are a token together, those with the highest score
are merged first. There are no words: spaces are letters, written as U+2581. A letter that is no
token becomes its bytes. As in llama.cpp, a text gets a space in front, and so does what follows a
special token, unless the file says otherwise (Gemma's does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tokenizers import Tokenizer, decoders, models, normalizers

from specviz.models.errors import Unsuitable

KIND: Final = "llama"  # what llama.cpp calls it
NORMAL: Final = 1  # what a token is for, as `tokenizer.ggml.token_type` numbers it
UNKNOWN: Final = 2
CONTROL: Final = 3
USER_DEFINED: Final = 4
SPACE: Final = "▁"
LONGEST: Final = 1024  # letters of a token, each place in which is looked at: the usual limit is 16


def build_sentencepiece(name: str, own: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer without its special tokens. own: the file's values. Raises Unsuitable."""
    tokens: Sequence[str] = own.get("tokens", ())
    scores: Sequence[float] = own.get("scores", ())
    kinds: Sequence[int] = own.get("token_type", ())
    vocabulary = {token: id for id, token in enumerate(tokens)}
    if not tokens or len(vocabulary) < len(tokens):
        raise Unsuitable(f"{name!r} lacks tokens, or has one twice.")
    if max(map(len, tokens)) > LONGEST:
        raise Unsuitable(f"{name!r} has a token of more than {LONGEST:,} letters.")
    if {len(scores), len(kinds)} != {len(tokens)}:
        raise Unsuitable(f"{name!r} does not say each token's score and what it is for.")
    if own.get("remove_extra_whitespaces") or own.get("precompiled_charsmap"):
        raise Unsuitable(f"{name!r} changes a text's letters before it is cut, which is not built.")
    unknown = next((t for t, kind in zip(tokens, kinds, strict=True) if kind == UNKNOWN), None)
    normal = {t: s for t, s, kind in zip(tokens, scores, kinds, strict=True) if kind == NORMAL}
    made = Tokenizer(
        models.BPE(
            vocab=vocabulary,
            merges=merges(normal, vocabulary),
            unk_token=unknown,
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    in_front = bool(own.get("add_space_prefix", True))
    prefix = [normalizers.Prepend(SPACE)] if in_front else []
    made.normalizer = normalizers.Sequence([*prefix, normalizers.Replace(" ", SPACE)])
    read = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*read, *([decoders.Strip(" ", 1, 0)] if in_front else [])])
    return made


def merges(scores: Mapping[str, float], ids: Mapping[str, int]) -> list[tuple[str, str]]:
    """Every pair of tokens that is a token, those with the highest score first."""
    found = [
        (-scores[left + right], ids[left], ids[right], (left, right))
        for left, right in _pairs(scores)
    ]
    return [pair for *_, pair in sorted(found)]


def _pairs(scores: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for token in scores:
        for at in range(1, len(token)):
            if token[:at] in scores and token[at:] in scores:
                yield token[:at], token[at:]
