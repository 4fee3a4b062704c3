"""A tiny SentencePiece vocabulary, and llama.cpp's algorithm to tokenize text with it.

The algorithm follows llama.cpp's `llm_tokenizer_spm`, symbol by symbol, and shares no code with
the package, which builds merges.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import tiny
from tokenizers import Tokenizer, models, normalizers, trainers

SPECIAL = {"<unk>": 2, "<s>": 3, "</s>": 3}  # the kinds of tokens, by their number in `token_type`
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NORMAL, BYTE, USER_DEFINED = 1, 6, 4
SIZE = 420


@cache
def pieces() -> tuple[str, ...]:
    """Return tokens of several letters, most probable first, then single letters.

    Two of them together spell a control token, which typed text must never become.
    """
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    room = SIZE - len(SPECIAL) - len(BYTES)
    trainer = trainers.BpeTrainer(vocab_size=room, max_token_length=8, show_progress=False)
    made.train_from_iterator([tiny.TEXT, "cats and dogs, " * 3], trainer)
    known = made.get_vocab()
    found = sorted(known, key=known.get)
    return (*(t for t in found if len(t) > 1), "s>", *(t for t in found if len(t) == 1), "<", ">")


def facts(*added: str) -> dict[str, Any]:
    """Return the metadata of the tokenizer. added: user-defined tokens that replace some bytes."""
    bytes_ = BYTES[: len(BYTES) - len(added)]
    first = len(SPECIAL) + len(BYTES)
    known = [*SPECIAL, *bytes_, *added, *pieces()]
    known += [f"[PAD{i}]" for i in range(len(known), SIZE)]
    kinds = [*SPECIAL.values(), *[BYTE] * len(bytes_), *[USER_DEFINED] * len(added)]
    kinds += [NORMAL] * len(pieces()) + [5] * (SIZE - first - len(pieces()))
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": known,
        "tokenizer.ggml.scores": [0.0] * first + [-float(i) for i in range(SIZE - first)],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": None,
        "tokenizer.ggml.add_bos_token": None,
        "tokenizer.ggml.add_space_prefix": None,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def ids(text: str, prefix: bool) -> list[int]:
    """Tokenize a text: merge the best-scoring pair of neighbours first, the leftmost if equal."""
    said = facts()
    tokens = {token: i for i, token in enumerate(said["tokenizer.ggml.tokens"])}
    scores, kinds = said["tokenizer.ggml.scores"], said["tokenizer.ggml.token_type"]
    symbols = list((" " if prefix and text else "") + text)
    symbols = [symbol.replace(" ", "▁") for symbol in symbols]
    while True:
        pairs = [one + two for one, two in pairwise(symbols)]
        ranks = [
            (-scores[tokens[pair]], at)
            for at, pair in enumerate(pairs)
            if kinds[tokens.get(pair, 0)] == NORMAL
        ]
        if not ranks:
            break
        at = min(ranks)[1]
        symbols[at : at + 2] = [pairs[at]]
    found = []
    for symbol in symbols:
        spelled = [f"<0x{byte:02X}>" for byte in symbol.encode()]
        found += [tokens[symbol]] if symbol in tokens else [tokens[byte] for byte in spelled]
    return found
