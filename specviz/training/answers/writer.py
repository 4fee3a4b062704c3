"""The target answers questions in batches, and what it thought on the way is kept.

Rule: a batch is a function of (target, questions, seed, number) and is written once: a run that was
stopped goes on where it was, and what is there already can be learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from specviz.models.errors import BadPrompt
from specviz.models.prompt import read
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.training.answers.batched_decode import Book, Many
from specviz.training.answers.questions import Question
from specviz.training.answers.shards import Answer, agree, own_tokens, shard, shards, write_shard

LEAST_QUESTION: Final = 4  # tokens of a question that the target thought of
FEW: Final = 0.25  # of a batch: so few texts are not written to their end, since a pass of them
# costs nearly as much as one of all
CROWDED: Final = 0.8  # of a pass's texts; when fewer go on, the others leave it
NEIGHBOURS: Final = 16  # batches whose questions are sorted by length among themselves


@dataclass(frozen=True)
class Writing:
    """How answers are written: `rows` at a time, at these temperatures in turn.

    layers: whose outputs are kept, counted from 1. answer, question: tokens at most; a longer
    question is left out.
    """

    seed: int
    layers: tuple[int, ...]
    rows: int = 64
    answer: int = 160
    question: int = 320
    temperatures: tuple[float, ...] = (0.0, 0.0, 0.7, 1.0)


def write_answers(
    target: Target, questions: Sequence[Question], writing: Writing, folder: Path, tokens: int
) -> None:
    """Write until the target wrote so many tokens, or every question is answered.

    A folder that holds some of them is gone on with. Raises ValueError where it holds others.
    """
    agree(folder, {"target": target.card.hash, **_plain(writing), "questions": len(questions)})
    batches, done = ordered(questions, writing), own_tokens(shards(folder))
    with tqdm(total=tokens, initial=done, unit="token", mininterval=5) as bar:
        for number, batch in enumerate(batches):
            if done >= tokens:
                break
            if shard(folder, number).is_file():
                continue
            answers = answered(target, batch, writing, number)
            write_shard(shard(folder, number), answers)
            written = sum(each.own - 1 for each in answers)
            done += written
            bar.update(written)
            bar.set_postfix_str(f"{number + 1} of {len(batches)} batches", refresh=False)


def _plain(writing: Writing) -> dict[str, object]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(writing).items()}


def ordered(questions: Sequence[Question], writing: Writing) -> list[list[Question]]:
    """The questions in batches: those that are held out first, the others in a shuffled order.

    Those of a batch are of similar length, and either all written or all to be thought of.
    """
    chance = np.random.default_rng([writing.seed, 1])
    mixed = [questions[int(i)] for i in chance.permutation(len(questions))]
    first = _batches([q for q in mixed if q.held_out], writing)
    learned = [q for q in mixed if not q.held_out]
    rest = _batches([q for q in learned if q.text], writing)
    rest += _batches([q for q in learned if not q.text], writing)
    return first + [rest[int(i)] for i in chance.permutation(len(rest))]


def _batches(questions: Sequence[Question], writing: Writing) -> list[list[Question]]:
    found, many = [], writing.rows * NEIGHBOURS
    for begin in range(0, len(questions), many):
        near = sorted(questions[begin : begin + many], key=lambda question: len(question.text))
        found += [near[i : i + writing.rows] for i in range(0, len(near), writing.rows)]
    return found


@torch.inference_mode()
def answered(
    target: Target, batch: Sequence[Question], writing: Writing, number: int
) -> list[Answer]:
    """The answers to a batch of questions; those that are too long have none."""
    chance = torch.Generator(device=target.device).manual_seed(_seed(writing, number))
    asked = [q for q in batch if q.text] + _thought(target, batch, writing, chance)
    read_in = [(q, ids) for q in asked if (ids := _ids(target, q.text, writing)) is not None]
    if not read_in:
        return []
    heats = [writing.temperatures[i % len(writing.temperatures)] for i in range(len(read_in))]
    texts = _written(target, [ids for _, ids in read_in], heats, writing, chance)
    pairs = zip(read_in, texts, strict=True)
    return [replace(text, domain=q.domain, held_out=q.held_out) for (q, _), text in pairs]


def _seed(writing: Writing, number: int) -> int:
    return int(np.random.default_rng([writing.seed, 2, number]).integers(2**62))


def _ids(target: Target, text: str, writing: Writing) -> list[int] | None:
    """A question as the target reads it; None where it is too long."""
    try:
        ids = read(target, text, Settings(max_new_tokens=writing.answer)).ids
    except BadPrompt:
        return None
    return ids if len(ids) <= writing.question else None


def _thought(
    target: Target, batch: Sequence[Question], writing: Writing, chance: torch.Generator
) -> list[Question]:
    """Questions that the target thinks of itself after an empty turn's beginning (2406.08464)."""
    blank = [question for question in batch if not question.text]
    if not blank:
        return []
    begun = [_empty_turn(target)] * len(blank)
    texts = _written(target, begun, [1.0] * len(blank), writing, chance)
    found = []
    for question, text in zip(blank, texts, strict=True):
        said = target.text(t for t in text.tokens[text.prompt :].tolist() if t not in target.eos)
        if text.own > LEAST_QUESTION and said.strip():
            found.append(replace(question, text=said.strip()))
    return found


def _empty_turn(target: Target) -> list[int]:
    """What the target's template writes before the user's words; an end of text without one."""
    reading = read(target, "?", Settings(max_new_tokens=1))
    if reading.chat is None:
        return list(target.eos[:1]) or reading.ids
    before = 0
    for piece in reading.chat.pieces:
        if piece.kind == "typed":
            break
        before += piece.tokens
    return reading.ids[:before]


def _written(
    target: Target,
    begun: Sequence[list[int]],
    heats: Sequence[float],
    writing: Writing,
    chance: torch.Generator,
) -> list[Answer]:
    """Go on from each text until it ends. Domains are for the caller to say."""
    many = Many(target.model, writing.layers, begun, writing.answer)
    book, passed = Book(begun, heats, writing.answer), many.read()
    ends = torch.tensor(target.eos, device=target.device)
    for left in range(writing.answer, -1, -1):
        logits = many.logits(passed.final[:, -1]).float()
        tops = logits.argmax(-1)
        book.put(passed, tops)
        if not left:
            break
        tokens = drawn(logits, tops, book.heat, chance)
        book.end(torch.isin(tokens, ends))
        if book.going.sum() < FEW * len(begun):
            break
        if book.going.float().mean() < CROWDED:
            kept = book.going.nonzero().flatten()
            many.keep(kept)
            book.keep(kept)
            tokens = tokens[kept]
        book.say(tokens)
        passed = many.step(tokens)
    return book.answers()


def drawn(logits: Tensor, tops: Tensor, heat: Tensor, chance: torch.Generator) -> Tensor:
    """A token a row (B,): the likeliest, tops, at temperature 0. logits: (B, V). heat: (B,)."""
    warm = (heat > 0).nonzero().flatten()
    if not len(warm):
        return tops
    walk = (logits[warm] / heat[warm, None]).softmax(-1).cumsum(-1)
    coins = torch.rand(len(warm), 1, generator=chance, device=logits.device) * walk[:, -1:]
    found = torch.searchsorted(walk, coins, right=True)[:, 0].clamp(max=logits.shape[1] - 1)
    return tops.index_copy(0, warm, found)
