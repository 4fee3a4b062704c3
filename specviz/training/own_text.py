"""Text that the frozen target writes itself: what a drafter has to guess, unlike people's text.

Rule: a batch is a function of (target, seed, number) and is written once; a longer text begins with
the shorter one.
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
    """How text is written: `rows` documents of `length` tokens a batch, all the target's own after
    a prompt of one of the sizes `prompts`, the end token included.

    Even batches are greedy, odd ones sampled at temperature 1: drafters are used at both.
    """

    target: LlamaForCausalLM
    seed: int
    rows: int = 64
    length: int = 192
    prompts: tuple[int, ...] = (8, 16, 32, 64)


def with_own_text(
    domains: Sequence[Domain], writer: Writer, tokens: int, made_for: str, cache: Path
) -> list[Domain]:
    """Add a domain of `tokens` of the target's own text; the others share what it leaves.

    Its held-out part continues held-out prompts. Writes what is not in `cache` yet.
    """
    size = writer.rows * writer.length
    batches = max(1, -(-tokens // size))
    stem = f"{made_for[:16]}.{writer.seed}.{writer.rows}x{writer.length}"
    prompts = [(d.share, d.training, d.starts) for d in domains]
    training = _written(cache / f"{stem}.training.bin", writer, prompts, batches, 0)
    # a domain whose held-out part is one short text has no place for a prompt
    prompts = [(d.share, d.held_out, np.flatnonzero(d.held_out == END_OF_TEXT_ID)) for d in domains]
    held_out = _written(cache / f"{stem}.held_out.bin", writer, prompts, HELD_OUT_BATCHES, 1)
    starts = np.arange(0, len(training), writer.length, dtype=np.int64)
    own = Domain(NAME, SHARE, training, starts, held_out)
    return [*(replace(d, share=d.share * (1 - SHARE)) for d in domains), own]


Prompts = list[tuple[float, Tokens, "np.typing.NDArray[np.int64]"]]  # share, tokens, starts


def _written(path: Path, writer: Writer, prompts: Prompts, batches: int, part: int) -> Tokens:
    """The first `batches` of a file that only ever grows; half a batch is written again."""
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
    chance = np.random.default_rng([writer.seed, part, number])
    size = writer.prompts[chance.integers(len(writer.prompts))]
    usable = [(share, ids, starts[starts <= len(ids) - size]) for share, ids, starts in prompts]
    usable = [entry for entry in usable if len(entry[2])]
    shares = np.array([share for share, _, _ in usable])
    rows = []
    for chosen in chance.choice(len(usable), size=writer.rows, p=shares / shares.sum()):
        _, ids, starts = usable[chosen]
        begin = int(starts[chance.integers(len(starts))])
        rows.append(ids[begin : begin + size])
    generator = None
    if number % 2:
        generator = torch.Generator().manual_seed(int(chance.integers(2**62)))
    begun = torch.from_numpy(np.stack(rows).astype(np.int64))
    written: Tokens = continued(writer.target, begun, writer.length, generator).numpy()
    return written


@torch.inference_mode()
def continued(
    target: LlamaForCausalLM, ids: Tensor, length: int, chance: torch.Generator | None
) -> Tensor:
    """Let `target` continue each row of `ids` (B, n) to `length` tokens: greedily without `chance`.

    It writes on past an end token, as the training text does. Returns ids on the CPU.
    """
    cache, text, new = growing_cache(), [ids.cpu()], ids
    for _ in range(length - ids.shape[1]):
        rows = new.to(target.device)
        out = target(input_ids=rows, logits_to_keep=1, **with_cache(target, cache))
        logits = out.logits[:, -1].float().cpu()
        if chance is None:
            new = logits.argmax(-1, keepdim=True)
        else:
            new = torch.multinomial(logits.softmax(-1), 1, generator=chance)
        text.append(new)
    return torch.cat(text, dim=1)
