"""Build the tokenizer that a GGUF file describes: byte-level BPE, or SentencePiece's BPE.

Byte-level BPE splits text by a regular expression before it merges pieces. The file contains only
the name of this pattern. A name that is not in PRE_TOKENIZERS is rejected, because another pattern
would give different tokens from those that the model was trained on.

SentencePiece's BPE does not split text. As in llama.cpp, every token has a score, and of all
adjacent pairs that form a token, the one with the highest score is merged first. Spaces are written
as U+2581. A character that is not a token becomes its bytes. A space is added before a text, and
after a special token, unless the file says otherwise (Gemma's does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from specviz.models.errors import Unsuitable

SPECIAL: Final = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}


SENTENCEPIECE: Final = "llama"  # what GGUF files call SentencePiece
NORMAL: Final = 1  # type of a token, as numbered in `tokenizer.ggml.token_type`
UNKNOWN: Final = 2
CONTROL: Final = 3
USER_DEFINED: Final = 4
SPACE: Final = "▁"
# Maximum characters of a token, since `_pairs` tries every split of it. Most models have at most
# 16.
LONGEST_TOKEN: Final = 1024


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """How text is split before tokens are merged; patterns are from llama.cpp's `llama-vocab.cpp`.

    Attributes:
        pattern: The pattern. None: GPT-2's.
        nfc: Whether letters and their accents are combined first (NFC).
        ignore_merges: Whether a piece that is itself a token is used without merging.
        add_bos: Whether a text begins with the BOS token, if the file does not specify it.
    """

    digits: bool = False
    pattern: str | None = None
    nfc: bool = False
    ignore_merges: bool = False
    add_bos: bool = False

    def apply(self, tokenizer: Tokenizer) -> None:
        """Set up the tokenizer to split text this way."""
        steps: list[Any] = []
        if self.digits:
            steps.append(pre_tokenizers.Digits(individual_digits=True))
        if self.pattern is not None:
            steps.append(pre_tokenizers.Split(Regex(self.pattern), "isolated"))
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=self.pattern is None)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, last]) if steps else last
        if self.nfc:
            tokenizer.normalizer = normalizers.NFC()


WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PRE_TOKENIZERS: Final = {
    "gpt-2": PreTokenizer(),
    "smollm": PreTokenizer(digits=True),
    "llama-bpe": PreTokenizer(
        pattern=WORDS.format(number=r"\p{N}{1,3}"), ignore_merges=True, add_bos=True
    ),
    "qwen2": PreTokenizer(pattern=WORDS.format(number=r"\p{N}"), nfc=True),
}


def build_tokenizer(name: str, values: Mapping[str, Any], longest: int) -> PreTrainedTokenizerFast:
    """Build the tokenizer of a file. longest: the model's context in tokens.

    Raises Unsuitable if the tokenizer is damaged or of an unsupported kind.
    """
    own = {
        key.removeprefix("tokenizer.ggml."): value
        for key, value in values.items()
        if key.startswith("tokenizer.ggml.")
    }
    if own.get("model") == SENTENCEPIECE:
        bare, add_bos = build_sentencepiece(name, own), True
    else:
        bare, add_bos = _byte_level(name, own)
    tokens: Sequence[str] = own["tokens"]
    kinds: Sequence[int] = own.get("token_type", ())
    for kind, add in ((CONTROL, bare.add_special_tokens), (USER_DEFINED, bare.add_tokens)):
        added = [token for token, found in zip(tokens, kinds, strict=False) if found == kind]
        add([AddedToken(token, normalized=False) for token in added])
    special = {ours: tokens[own[key]] for ours, key in SPECIAL.items() if key in own}
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        **special,
        add_bos_token=bool(own.get("add_bos_token", add_bos)),
        add_eos_token=bool(own.get("add_eos_token", False)),
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = values.get("tokenizer.chat_template")
    return made


def _byte_level(name: str, own: Mapping[str, Any]) -> tuple[Tokenizer, bool]:
    # And whether its texts begin with a BOS token.
    pre = _pre_tokenizer(name, own)
    bare = Tokenizer(_bpe(name, own, pre.ignore_merges))
    bare.decoder = decoders.ByteLevel()
    pre.apply(bare)
    return bare, pre.add_bos


def _pre_tokenizer(name: str, own: Mapping[str, Any]) -> PreTokenizer:
    if own.get("model") != "gpt2":
        raise Unsuitable(
            f"{name!r} has a tokenizer of the kind {own.get('model')!r:.40}; in GGUF files, only "
            f"'gpt2' (byte-level BPE) and {SENTENCEPIECE!r} (SentencePiece) can be read."
        )
    pre = PRE_TOKENIZERS.get(str(own.get("pre")))
    if pre is None:
        raise Unsuitable(
            f"{name!r} splits text by the pattern {own.get('pre')!r:.40}, which is not supported; "
            f"supported patterns are {', '.join(PRE_TOKENIZERS)}."
        )
    return pre


def _bpe(name: str, own: Mapping[str, Any], ignore_merges: bool) -> models.BPE:
    tokens, merges = own.get("tokens", ()), own.get("merges", ())
    vocabulary = {token: id for id, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    if not pairs or len(vocabulary) < len(tokens) or any(len(pair) != 2 for pair in pairs):
        raise Unsuitable(f"{name!r} lacks tokens or merges, or has a duplicate or invalid one.")
    return models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=ignore_merges)


def build_sentencepiece(name: str, own: Mapping[str, Any]) -> Tokenizer:
    """Build a SentencePiece tokenizer without its special tokens.

    Raises Unsuitable if the tokenizer is damaged or of an unsupported kind.
    """
    tokens: Sequence[str] = own.get("tokens", ())
    scores: Sequence[float] = own.get("scores", ())
    kinds: Sequence[int] = own.get("token_type", ())
    vocabulary = {token: id for id, token in enumerate(tokens)}
    if not tokens or len(vocabulary) < len(tokens):
        raise Unsuitable(f"{name!r} has no tokens, or has a token twice.")
    if max(map(len, tokens)) > LONGEST_TOKEN:
        raise Unsuitable(f"{name!r} has a token of more than {LONGEST_TOKEN:,} characters.")
    if {len(scores), len(kinds)} != {len(tokens)}:
        raise Unsuitable(f"{name!r} lacks the score or the type of some tokens.")
    if own.get("remove_extra_whitespaces") or own.get("precompiled_charsmap"):
        raise Unsuitable(f"{name!r} normalizes text before tokenizing, which is not supported.")
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
    """Return all pairs of tokens that together form a token, sorted by its score, highest first."""
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
