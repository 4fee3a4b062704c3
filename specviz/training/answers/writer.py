"""Generates a target's answers in batches and stores them with the hidden states.

A batch depends only on (target, questions, seed, number) and is written once. So an interrupted run
can be resumed, and finished shards can be used for training.
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
from specviz.models.prompt import encode_prompt
from specviz.models.target import Target
from specviz.settings.settings import Settings
from specviz.training.answers.batched_decode import BatchedDecoder, GenerationBatch
from specviz.training.answers.dataset import (
    Answer,
    check_settings,
    count_own_tokens,
    shard_path,
    shard_paths,
    write_shard,
)
from specviz.training.answers.questions import Question

MIN_QUESTION_TOKENS: Final = 4  # minimum tokens of a question that the target generated
# A batch ends when fewer than this share of its texts are active, because a pass over few texts
# takes nearly as long as a pass over all.
ACTIVE_SHARE: Final = 0.25
BATCH_SHARE: Final = 0.8  # if fewer texts of a pass are active, the others leave the pass
SORTED_BATCHES: Final = 16  # the questions of this many batches are sorted by length together


@dataclass(frozen=True)
class AnswerSettings:
    """How answers are generated.

    Attributes:
        seed: Seed of the order of questions and of sampling.
        layers: Layers whose outputs are stored, counted from 1.
        rows: Number of answers per batch.
        question: Maximum number of tokens in a question; longer ones are skipped.
        temperatures: Temperatures, used in turn for successive answers.
    """

    seed: int
    layers: tuple[int, ...]
    rows: int = 64
    answer: int = 160
    question: int = 320
    temperatures: tuple[float, ...] = (0.0, 0.0, 0.7, 1.0)


def write_answers(
    target: Target,
    questions: Sequence[Question],
    settings: AnswerSettings,
    folder: Path,
    tokens: int,
) -> None:
    """Answer questions up to `tokens` tokens; old shards stay, ValueError if settings differ."""
    check_settings(
        folder, {"target": target.card.hash, **_as_json(settings), "questions": len(questions)}
    )
    batches, done = order_batches(questions, settings), count_own_tokens(shard_paths(folder))
    with tqdm(total=tokens, initial=done, unit="token", mininterval=5) as bar:
        for number, batch in enumerate(batches):
            if done >= tokens:
                break
            if shard_path(folder, number).is_file():
                continue
            answers = answer_batch(target, batch, settings, number)
            write_shard(shard_path(folder, number), answers)
            written = sum(each.own - 1 for each in answers)
            done += written
            bar.update(written)
            bar.set_postfix_str(f"{number + 1} of {len(batches)} batches", refresh=False)


def _as_json(settings: AnswerSettings) -> dict[str, object]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(settings).items()}


def order_batches(questions: Sequence[Question], settings: AnswerSettings) -> list[list[Question]]:
    """Group questions into batches: first the held-out questions, then the rest in shuffled order.

    The questions of a batch have similar lengths. Either all or none of them have a text; without a
    text, the target generates the question.
    """
    rng = np.random.default_rng([settings.seed, 1])
    mixed = [questions[int(i)] for i in rng.permutation(len(questions))]
    first = _batches([q for q in mixed if q.held_out], settings)
    learned = [q for q in mixed if not q.held_out]
    rest = _batches([q for q in learned if q.text], settings)
    rest += _batches([q for q in learned if not q.text], settings)
    return first + [rest[int(i)] for i in rng.permutation(len(rest))]


def _batches(questions: Sequence[Question], settings: AnswerSettings) -> list[list[Question]]:
    found, size = [], settings.rows * SORTED_BATCHES
    for begin in range(0, len(questions), size):
        near = sorted(questions[begin : begin + size], key=lambda question: len(question.text))
        found += [near[i : i + settings.rows] for i in range(0, len(near), settings.rows)]
    return found


@torch.inference_mode()
def answer_batch(
    target: Target, batch: Sequence[Question], settings: AnswerSettings, number: int
) -> list[Answer]:
    """Answer a batch of questions, leaving out questions that are too long."""
    generator = torch.Generator(device=target.device).manual_seed(_batch_seed(settings, number))
    questions = [q for q in batch if q.text] + _own_questions(target, batch, settings, generator)
    read_in = [
        (q, ids) for q in questions if (ids := _encode(target, q.text, settings)) is not None
    ]
    if not read_in:
        return []
    temperatures = [
        settings.temperatures[i % len(settings.temperatures)] for i in range(len(read_in))
    ]
    texts = _continue(target, [ids for _, ids in read_in], temperatures, settings, generator)
    pairs = zip(read_in, texts, strict=True)
    return [replace(text, domain=q.domain, held_out=q.held_out) for (q, _), text in pairs]


def _batch_seed(settings: AnswerSettings, number: int) -> int:
    return int(np.random.default_rng([settings.seed, 2, number]).integers(2**62))


def _encode(target: Target, text: str, settings: AnswerSettings) -> list[int] | None:
    try:
        ids = encode_prompt(target, text, Settings(max_new_tokens=settings.answer)).ids
    except BadPrompt:
        return None
    return ids if len(ids) <= settings.question else None


def _own_questions(
    target: Target, batch: Sequence[Question], settings: AnswerSettings, generator: torch.Generator
) -> list[Question]:
    # By continuing an empty user turn (Magpie, 2406.08464).
    blank = [question for question in batch if not question.text]
    if not blank:
        return []
    prompts = [_empty_turn(target)] * len(blank)
    texts = _continue(target, prompts, [1.0] * len(blank), settings, generator)
    found = []
    for question, text in zip(blank, texts, strict=True):
        question_text = target.text(
            t for t in text.tokens[text.prompt :].tolist() if t not in target.eos
        )
        if text.own > MIN_QUESTION_TOKENS and question_text.strip():
            found.append(replace(question, text=question_text.strip()))
    return found


def _empty_turn(target: Target) -> list[int]:
    # The chat template's tokens before the user's text, or an end-of-text token.
    reading = encode_prompt(target, "?", Settings(max_new_tokens=1))
    if reading.chat is None:
        return list(target.eos[:1]) or reading.ids
    before = 0
    for piece in reading.chat.pieces:
        if piece.kind == "typed":
            break
        before += piece.tokens
    return reading.ids[:before]


def _continue(
    target: Target,
    prompts: Sequence[list[int]],
    temperatures: Sequence[float],
    settings: AnswerSettings,
    generator: torch.Generator,
) -> list[Answer]:
    # The caller fills in the domains.
    decoder = BatchedDecoder(target.model, settings.layers, prompts, settings.answer)
    batch_texts, output = GenerationBatch(prompts, temperatures, settings.answer), decoder.read()
    ends = torch.tensor(target.eos, device=target.device)
    for left in range(settings.answer, -1, -1):
        logits = decoder.logits(output.final[:, -1]).float()
        tops = logits.argmax(-1)
        batch_texts.record(output, tops)
        if not left:
            break
        tokens = sample(logits, tops, batch_texts.temperature, generator)
        batch_texts.mark_ended(torch.isin(tokens, ends))
        if batch_texts.active.sum() < ACTIVE_SHARE * len(prompts):
            break
        if batch_texts.active.float().mean() < BATCH_SHARE:
            active = batch_texts.active.nonzero().flatten()
            decoder.keep(active)
            batch_texts.keep(active)
            tokens = tokens[active]
        batch_texts.append(tokens)
        output = decoder.step(tokens)
    return batch_texts.answers()


def sample(logits: Tensor, tops: Tensor, temperature: Tensor, generator: torch.Generator) -> Tensor:
    """Sample one token per row.

    Args:
        logits: (B, V).
        tops: Most probable token of each row, (B,), taken at temperature 0.
        temperature: (B,).
        generator: Source of randomness.

    Returns:
        Token ids, (B,).
    """
    sampled = (temperature > 0).nonzero().flatten()
    if not len(sampled):
        return tops
    totals = (logits[sampled] / temperature[sampled, None]).softmax(-1).cumsum(-1)
    u = torch.rand(len(sampled), 1, generator=generator, device=logits.device) * totals[:, -1:]
    found = torch.searchsorted(totals, u, right=True)[:, 0].clamp(max=logits.shape[1] - 1)
    return tops.index_copy(0, sampled, found)
