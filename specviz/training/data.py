"""Training batches: token arrays per domain, and text written by the frozen target itself.

A drafter has to predict the target's text, which differs from text written by people. A batch is a
function of its seed and its step or number, so a resumed run sees the same batches as an
uninterrupted one, and a longer run extends a shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from specviz.adapters.transformers import growing_cache, with_cache
from specviz.training.corpus import SOURCES, Source, split_documents
from specviz.training.tokenizer import END_OF_TEXT_ID

REPEAT_SHARE = 0.12
REPEAT_LENGTH = (60, 220)  # tokens of a passage that is repeated
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
    """Tokenised text of one domain: an end token, then every document followed by an end token.

    Attributes:
        name: Name of the domain.
        share: Its share of the training windows.
        training: Token ids of the training text.
        starts: For each training document, the index of the end token before it.
        held_out: Token ids of the validation text.
    """

    name: str
    share: float
    training: Tokens
    starts: NDArray[np.int64]
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
    """Encode documents into one stream: an end token, then each document and an end token."""
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
    """Samples training windows from the domains by their shares; some windows repeat a passage."""

    def __init__(
        self, domains: list[Domain], tokenizer: PreTrainedTokenizerFast, seed: int, length: int
    ) -> None:
        self.domains = domains
        self.tokenizer = tokenizer
        self.seed = seed
        self.length = length
        self.shares = np.array([domain.share for domain in domains])

    def batch(self, step: int, rows: int) -> Tensor:
        """Return token ids of a step, (rows, length + 1): inputs, and targets shifted by one."""
        rng = np.random.default_rng([self.seed, step])
        windows = [self._window(rng) for _ in range(rows)]
        return torch.from_numpy(np.stack(windows).astype(np.int64))

    def _window(self, rng: np.random.Generator) -> Tokens:
        domain = self.domains[rng.choice(len(self.domains), p=self.shares)]
        if rng.random() < REPEAT_SHARE:
            return self._repeats(domain, rng)
        begin = _window_start(domain, rng, self.length)
        return domain.training[begin : begin + self.length + 1]

    def _repeats(self, domain: Domain, rng: np.random.Generator) -> Tokens:
        ids = [END_OF_TEXT_ID]
        while len(ids) < self.length + 1:
            size = int(rng.integers(*REPEAT_LENGTH, endpoint=True))
            begin = _window_start(domain, rng, size)
            passage = _within_one_document(domain.training[begin : begin + size])
            separator = SEPARATORS[rng.integers(len(SEPARATORS))]
            ids += repeat_passage(self.tokenizer, passage.tolist(), separator)
        return np.array(ids[: self.length + 1], dtype=np.uint16)


def repeat_passage(
    tokenizer: PreTrainedTokenizerFast, passage: list[int], separator: str
) -> list[int]:
    """Return the ids of passage, separator, passage and the end token, encoded as one text."""
    text = str(tokenizer.decode(passage)).strip("\ufffd \n")
    ids: list[int] = tokenizer.encode(text + separator + text, add_special_tokens=False)
    return [*ids, END_OF_TEXT_ID]


def _within_one_document(tokens: Tokens) -> Tokens:
    """Return the longest run of `tokens` without an end token."""
    pieces = np.split(tokens, np.flatnonzero(tokens == END_OF_TEXT_ID))
    longest: Tokens = max(pieces, key=len)
    return longest[1:] if longest[0] == END_OF_TEXT_ID else longest


def _window_start(domain: Domain, rng: np.random.Generator, length: int) -> int:
    """Choose a window's start: a random token, or half of the time its document's start.

    Prompts always start with the end token, so training windows must often start there too.
    """
    begin = int(rng.integers(max(1, len(domain.training) - length - 1)))
    if rng.random() < 0.5:
        begin = int(domain.starts[np.searchsorted(domain.starts, begin, side="right") - 1])
    return begin


def held_out_windows(domain: Domain, length: int, limit: int) -> Tensor:
    """Return up to `limit` windows (n, length + 1) of validation text, evenly spaced."""
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


OWN_TEXT = "own-text"
OWN_TEXT_SHARE = 0.5  # of the training windows
HELD_OUT_BATCHES = 2  # one greedy, one sampled


@dataclass(frozen=True)
class Writer:
    """How the target's own text is generated.

    Even-numbered batches are greedy, odd-numbered ones are sampled at temperature 1, because
    drafters are used at both.

    Attributes:
        target: The model that writes.
        seed: Seed of the prompts and of sampling.
        rows: Documents per batch.
        length: Tokens per document, its prompt included.
        prompts: Prompt lengths in tokens, the end token included; one is chosen per batch.
    """

    target: LlamaForCausalLM
    seed: int
    rows: int = 64
    length: int = 192
    prompts: tuple[int, ...] = (8, 16, 32, 64)


def with_own_text(
    domains: Sequence[Domain], writer: Writer, tokens: int, made_for: str, cache: Path
) -> list[Domain]:
    """Add a domain of the target's own text; the other domains share the rest of the windows.

    Args:
        domains: Domains of the corpus, which supply the prompts.
        writer: How the text is generated.
        tokens: Training tokens to generate, rounded up to whole batches.
        made_for: Hash of the target's weights, part of the file names.
        cache: Folder of the generated text; only missing batches are generated.

    Returns:
        The domains with reduced shares, then the new one. Its held-out part continues held-out
        prompts.
    """
    size = writer.rows * writer.length
    batches = max(1, -(-tokens // size))
    stem = f"{made_for[:16]}.{writer.seed}.{writer.rows}x{writer.length}"
    prompts = [(d.share, d.training, d.starts) for d in domains]
    training = _written(cache / f"{stem}.training.bin", writer, prompts, batches, 0)
    # a domain whose held-out part is one short text may not have room for a prompt
    prompts = [(d.share, d.held_out, np.flatnonzero(d.held_out == END_OF_TEXT_ID)) for d in domains]
    held_out = _written(cache / f"{stem}.held_out.bin", writer, prompts, HELD_OUT_BATCHES, 1)
    starts = np.arange(0, len(training), writer.length, dtype=np.int64)
    own = Domain(OWN_TEXT, OWN_TEXT_SHARE, training, starts, held_out)
    return [*(replace(d, share=d.share * (1 - OWN_TEXT_SHARE)) for d in domains), own]


Prompts = list[tuple[float, Tokens, "np.typing.NDArray[np.int64]"]]  # share, tokens, starts


def _written(path: Path, writer: Writer, prompts: Prompts, batches: int, part: int) -> Tokens:
    """Return the first `batches` of an append-only file; an incomplete batch is generated again."""
    size = writer.rows * writer.length
    path.parent.mkdir(parents=True, exist_ok=True)
    done = path.stat().st_size // (2 * size) if path.is_file() else 0
    with (
        path.open("ab") as file,
        tqdm(
            total=batches * size, initial=done * size, unit="token", disable=done >= batches
        ) as bar,
    ):
        file.truncate(done * size * 2)
        for number in range(done, batches):
            file.write(_batch(writer, prompts, number, part).astype(np.uint16).tobytes())
            file.flush()
            bar.update(size)
    found: Tokens = np.memmap(path, dtype=np.uint16, mode="r", shape=(batches * size,))
    return found


def _batch(writer: Writer, prompts: Prompts, number: int, part: int) -> Tokens:
    rng = np.random.default_rng([writer.seed, part, number])
    size = writer.prompts[rng.integers(len(writer.prompts))]
    usable = [(share, ids, starts[starts <= len(ids) - size]) for share, ids, starts in prompts]
    usable = [entry for entry in usable if len(entry[2])]
    shares = np.array([share for share, _, _ in usable])
    rows = []
    for chosen in rng.choice(len(usable), size=writer.rows, p=shares / shares.sum()):
        _, ids, starts = usable[chosen]
        begin = int(starts[rng.integers(len(starts))])
        rows.append(ids[begin : begin + size])
    generator = None
    if number % 2:
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
    begun = torch.from_numpy(np.stack(rows).astype(np.int64))
    written: Tokens = continued(writer.target, begun, writer.length, generator).numpy()
    return written


@torch.inference_mode()
def continued(
    target: LlamaForCausalLM, ids: Tensor, length: int, rng: torch.Generator | None
) -> Tensor:
    """Continue each row of `ids` to `length` tokens, past end tokens as in the training text.

    Args:
        target: The model that writes.
        ids: Prompts, (B, n).
        length: Tokens per row of the result.
        rng: Generator to sample with at temperature 1; None for greedy decoding.

    Returns:
        Token ids (B, length) on the CPU.
    """
    cache, text, new = growing_cache(), [ids.cpu()], ids
    for _ in range(length - ids.shape[1]):
        rows = new.to(target.device)
        out = target(input_ids=rows, logits_to_keep=1, **with_cache(target, cache))
        logits = out.logits[:, -1].float().cpu()
        if rng is None:
            new = logits.argmax(-1, keepdim=True)
        else:
            new = torch.multinomial(logits.softmax(-1), 1, generator=rng)
        text.append(new)
    return torch.cat(text, dim=1)
