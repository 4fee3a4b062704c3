"""Text written by the frozen target itself, to train drafters on.

A drafter has to predict the target's text, which differs from text written by people. A batch is a
function of (target, seed, number) and is generated once; a longer run extends a shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm
from transformers import LlamaForCausalLM

from specviz.adapters.transformers import growing_cache, with_cache
from specviz.training.data import Domain, Tokens
from specviz.training.tokenizer import END_OF_TEXT_ID

NAME = "own-text"
SHARE = 0.5  # of the training windows
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
    own = Domain(NAME, SHARE, training, starts, held_out)
    return [*(replace(d, share=d.share * (1 - SHARE)) for d in domains), own]


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
