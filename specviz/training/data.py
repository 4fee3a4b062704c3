"""Token arrays per domain, and training batches drawn from them.

Rule: a batch is a function of (seed, step) and nothing else, so a resumed run sees what an
uninterrupted one would have seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from specviz.training.corpus import SOURCES, Source, split_documents
from specviz.training.tokenizer import END_OF_TEXT_ID

REPEAT_SHARE = 0.12
REPEAT_LENGTH = (60, 220)  # tokens of the passage that is told twice
SEPARATORS = (
    "\n\nTell it again.\n\n",
    "\n\nTell it again.\n\n",
    "\n\nTell me again.\n\n",
    "\n\nOnce more.\n\n",
    "\n\nAgain:\n\n",
    "\n\nRepeat the text above.\n\n",
    "\n\nCopy:\n\n",
    "\n\n---\n\n",
    "\n\n",
    "\n",
    " ",
)


Tokens = NDArray[np.uint16]


@dataclass(frozen=True)
class Domain:
    """Tokenised text of one domain: a leading end token, then every document and its end token."""

    name: str
    share: float
    training: Tokens
    starts: NDArray[np.int64]  # where each training document's preceding end token stands
    held_out: Tokens


def load_domains(corpus: str, tokenizer: PreTrainedTokenizerFast, cache: Path) -> list[Domain]:
    """Tokenise every domain, or read the arrays that an earlier run left in `cache`."""
    total = sum(source.share for source in SOURCES)
    domains = []
    for source in SOURCES:
        paths = [cache / f"{source.domain}.{part}.npy" for part in ("training", "held_out")]
        if not all(path.is_file() for path in paths):
            _write_tokens(corpus, source, tokenizer, paths)
        training, held_out = (np.load(path, mmap_mode="r") for path in paths)
        starts = np.flatnonzero(training == END_OF_TEXT_ID)[:-1]
        domains.append(Domain(source.domain, source.share / total, training, starts, held_out))
    return domains


def encode_documents(texts: list[str], tokenizer: PreTrainedTokenizerFast) -> Tokens:
    """Encode documents into one stream that begins, and ends each document, with the end token."""
    pieces: list[list[int]] = [[END_OF_TEXT_ID]]
    for begin in range(0, len(texts), 256):
        encoded = tokenizer(texts[begin : begin + 256], add_special_tokens=False, verbose=False)
        for ids in encoded.input_ids:
            pieces.append([*ids, END_OF_TEXT_ID])
    return np.concatenate([np.asarray(piece, dtype=np.uint16) for piece in pieces])


def _write_tokens(
    corpus: str, source: Source, tokenizer: PreTrainedTokenizerFast, paths: list[Path]
) -> None:
    for path, texts in zip(paths, split_documents(corpus, source), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npy")
        np.save(partial, encode_documents(texts, tokenizer))
        partial.replace(path)


class Mixture:
    """Draws training windows from the domains by share; some windows tell a passage twice."""

    def __init__(
        self, domains: list[Domain], tokenizer: PreTrainedTokenizerFast, seed: int, length: int
    ) -> None:
        self.domains = domains
        self.tokenizer = tokenizer
        self.seed = seed
        self.length = length
        self.shares = np.array([domain.share for domain in domains])

    def batch(self, step: int, rows: int) -> Tensor:
        """(rows, length + 1) token ids for `step`: inputs and, one further on, targets."""
        chance = np.random.default_rng([self.seed, step])
        windows = [self._window(chance) for _ in range(rows)]
        return torch.from_numpy(np.stack(windows).astype(np.int64))

    def _window(self, chance: np.random.Generator) -> Tokens:
        domain = self.domains[chance.choice(len(self.domains), p=self.shares)]
        if chance.random() < REPEAT_SHARE:
            return self._repeats(domain, chance)
        begin = _place(domain, chance, self.length)
        return domain.training[begin : begin + self.length + 1]

    def _repeats(self, domain: Domain, chance: np.random.Generator) -> Tokens:
        ids = [END_OF_TEXT_ID]
        while len(ids) < self.length + 1:
            size = int(chance.integers(*REPEAT_LENGTH, endpoint=True))
            begin = _place(domain, chance, size)
            passage = _within_one_document(domain.training[begin : begin + size])
            separator = SEPARATORS[chance.integers(len(SEPARATORS))]
            ids += told_twice(self.tokenizer, passage.tolist(), separator)
        return np.array(ids[: self.length + 1], dtype=np.uint16)


def told_twice(tokenizer: PreTrainedTokenizerFast, passage: list[int], separator: str) -> list[int]:
    """The ids of passage, separator, passage and the end token, tokenised as one text."""
    text = str(tokenizer.decode(passage)).strip("\ufffd \n")
    ids: list[int] = tokenizer.encode(text + separator + text, add_special_tokens=False)
    return [*ids, END_OF_TEXT_ID]


def _within_one_document(tokens: Tokens) -> Tokens:
    """The longest stretch of `tokens` without an end token."""
    pieces = np.split(tokens, np.flatnonzero(tokens == END_OF_TEXT_ID))
    longest: Tokens = max(pieces, key=len)
    return longest[1:] if longest[0] == END_OF_TEXT_ID else longest


def _place(domain: Domain, chance: np.random.Generator, length: int) -> int:
    """Choose where a window begins: any token, in half of the draws moved to its document's start.

    A prompt always starts with the end token, so training must often start there too.
    """
    begin = int(chance.integers(max(1, len(domain.training) - length - 1)))
    if chance.random() < 0.5:
        begin = int(domain.starts[np.searchsorted(domain.starts, begin, side="right") - 1])
    return begin


def held_out_windows(domain: Domain, length: int, limit: int) -> Tensor:
    """Up to `limit` windows (n, length + 1) of validation text, spread evenly over it."""
    count = (len(domain.held_out) - 1) // length
    chosen = np.linspace(0, count - 1, min(limit, count)).astype(np.int64)
    windows = [domain.held_out[i * length : (i + 1) * length + 1] for i in chosen]
    return torch.from_numpy(np.stack(windows).astype(np.int64))


def token_counts(domains: list[Domain]) -> dict[str, dict[str, int]]:
    """Count the tokens of each domain, for the manifest."""
    return {
        domain.name: {"training": len(domain.training), "held_out": len(domain.held_out)}
        for domain in domains
    }
