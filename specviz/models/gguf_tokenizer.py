"""Builds the tokenizer that a GGUF file describes: byte-level BPE, or SentencePiece's BPE.

Rule: what cuts a text before the merges of byte-level BPE is only named in the file. A name that is
not in the table here is refused, since another cut gives other tokens than the model was trained
on. SentencePiece's kind cuts nothing; it follows llama.cpp, see `gguf_sentencepiece`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from specviz.models import gguf_sentencepiece as sentencepiece
from specviz.models.errors import Unsuitable
from specviz.models.gguf_sentencepiece import CONTROL, USER_DEFINED

SPECIAL: Final = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}


@dataclass(frozen=True, slots=True)
class PreTokenizer:
    """How text is cut before the merges; the patterns are those of llama.cpp's `llama-vocab.cpp`.

    digits: each digit stands alone. pattern: None for GPT-2's. composed: letters and their accents
    are joined first (NFC). whole: a piece that is a token as it stands is not merged anew. begins:
    a text begins with the token for that, where the file does not say.
    """

    digits: bool = False
    pattern: str | None = None
    composed: bool = False
    whole: bool = False
    begins: bool = False

    def apply(self, tokenizer: Tokenizer) -> None:
        """Let the tokenizer cut so."""
        steps: list[Any] = []
        if self.digits:
            steps.append(pre_tokenizers.Digits(individual_digits=True))
        if self.pattern is not None:
            steps.append(pre_tokenizers.Split(Regex(self.pattern), "isolated"))
        last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=self.pattern is None)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, last]) if steps else last
        if self.composed:
            tokenizer.normalizer = normalizers.NFC()


WORDS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}"
    r"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PRE_TOKENIZERS: Final = {
    "gpt-2": PreTokenizer(),
    "smollm": PreTokenizer(digits=True),
    "llama-bpe": PreTokenizer(pattern=WORDS.format(number=r"\p{N}{1,3}"), whole=True, begins=True),
    "qwen2": PreTokenizer(pattern=WORDS.format(number=r"\p{N}"), composed=True),
}


def build_tokenizer(name: str, said: Mapping[str, Any], longest: int) -> PreTrainedTokenizerFast:
    """The tokenizer of the file called `name`; longest: tokens that its model can see.

    said: the file's values by key. Raises Unsuitable.
    """
    own = {
        key.removeprefix("tokenizer.ggml."): value
        for key, value in said.items()
        if key.startswith("tokenizer.ggml.")
    }
    if own.get("model") == sentencepiece.KIND:
        bare, begins = sentencepiece.build_sentencepiece(name, own), True
    else:
        bare, begins = _byte_level(name, own)
    tokens: Sequence[str] = own["tokens"]
    kinds: Sequence[int] = own.get("token_type", ())
    for kind, add in ((CONTROL, bare.add_special_tokens), (USER_DEFINED, bare.add_tokens)):
        its = [token for token, found in zip(tokens, kinds, strict=False) if found == kind]
        add([AddedToken(token, normalized=False) for token in its])
    special = {ours: tokens[own[key]] for ours, key in SPECIAL.items() if key in own}
    made = PreTrainedTokenizerFast(
        tokenizer_object=bare,
        **special,
        add_bos_token=bool(own.get("add_bos_token", begins)),
        add_eos_token=bool(own.get("add_eos_token", False)),
        model_max_length=longest,
        clean_up_tokenization_spaces=False,
    )
    made.chat_template = said.get("tokenizer.chat_template")
    return made


def _byte_level(name: str, own: Mapping[str, Any]) -> tuple[Tokenizer, bool]:
    """Byte-level BPE, and whether its texts begin with a token for that. Raises Unsuitable."""
    cut = _cut(name, own)
    bare = Tokenizer(_merging(name, own, cut.whole))
    bare.decoder = decoders.ByteLevel()
    cut.apply(bare)
    return bare, cut.begins


def _cut(name: str, own: Mapping[str, Any]) -> PreTokenizer:
    """How the file's tokenizer cuts. Raises Unsuitable for a kind or a name that is not known."""
    if own.get("model") != "gpt2":
        raise Unsuitable(
            f"{name!r} has a tokenizer of the kind {own.get('model')!r:.40}; of GGUF files those "
            f"can be read of the kinds 'gpt2' (byte-level BPE) and {sentencepiece.KIND!r} "
            "(SentencePiece's)."
        )
    cut = PRE_TOKENIZERS.get(str(own.get("pre")))
    if cut is None:
        raise Unsuitable(
            f"{name!r} cuts text in a way called {own.get('pre')!r:.40}, which is not known here; "
            f"known are {', '.join(PRE_TOKENIZERS)}."
        )
    return cut


def _merging(name: str, own: Mapping[str, Any], whole: bool) -> models.BPE:
    """Tokens and merges. Raises Unsuitable where they are missing or make no sense."""
    tokens, merges = own.get("tokens", ()), own.get("merges", ())
    vocabulary = {token: id for id, token in enumerate(tokens)}
    pairs = [tuple(merge.split(" ")) for merge in merges]
    if not pairs or len(vocabulary) < len(tokens) or any(len(pair) != 2 for pair in pairs):
        raise Unsuitable(f"{name!r} lacks tokens or merges, or has one twice or broken.")
    return models.BPE(vocab=vocabulary, merges=pairs, ignore_merges=whole)
