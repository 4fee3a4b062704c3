"""The tokenizer of the shipped models: byte-level BPE with 4,096 tokens.

Decoding the tokens of a text gives exactly this text, and the tokens of a prompt do not depend on
what follows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from specviz.training.corpus import SOURCES, split_documents

VOCABULARY_SIZE = 4096
END_OF_TEXT = "<|endoftext|>"
END_OF_TEXT_ID = 0
MAXIMUM_LENGTH = 1024
TRAINING_CHARACTERS = 16_000_000


# GPT-2's pattern with two changes: each digit is a separate piece, and so is each run of line
# breaks, so that a prompt that ends in a blank line ends in a token that occurred in training.
PIECES = r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}| ?[^\s\p{L}\p{N}]+|\s*[\r\n]+|\s+(?!\S)|\s+"


def train_tokenizer(
    texts: Iterable[str], vocabulary_size: int = VOCABULARY_SIZE
) -> PreTrainedTokenizerFast:
    """Learn the merges from `texts`. `<|endoftext|>` has id 0 and is used as bos and eos."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END_OF_TEXT} $A",
        pair=f"{END_OF_TEXT} $A {END_OF_TEXT} $B",
        special_tokens=[(END_OF_TEXT, END_OF_TEXT_ID)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
        model_max_length=MAXIMUM_LENGTH,
    )


def tokenizer_texts(corpus: str) -> Iterator[str]:
    """Yield training texts of each domain, with characters in proportion to the domain's share."""
    for source in SOURCES:
        training, _ = split_documents(corpus, source)
        budget = int(TRAINING_CHARACTERS * source.share)
        for text in training:
            piece = text[: min(budget, 50_000)]  # one long book must not fill a domain
            yield piece
            budget -= len(piece)
            if budget <= 0:
                break


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write `tokenizer.json` and a `tokenizer_config.json` that transformers 4 and 5 both read."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END_OF_TEXT,
        "eos_token": END_OF_TEXT,
        "clean_up_tokenization_spaces": False,
        "model_max_length": MAXIMUM_LENGTH,
    }
    text = json.dumps(settings, indent=2)
    (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Load the tokenizer that `train tokenizer` saved.

    Raises FileNotFoundError if the folder has no tokenizer.
    """
    if not (folder / "tokenizer.json").is_file():
        raise FileNotFoundError(
            f"There is no tokenizer in {str(folder)!r}: run `train tokenizer` first."
        )
    tokenizer: PreTrainedTokenizerFast = PreTrainedTokenizerFast.from_pretrained(folder)
    return tokenizer
