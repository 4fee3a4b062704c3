"""Lessons of answers: batches of what the target wrote and thought, read from their shards.

Rule: a batch is a function of (seed, step, answers at hand); nobody learns from a held-out answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from specviz.catalog import load_target
from specviz.catalog.training import family, names
from specviz.drafters.kit.training import (
    Family,
    Fitting,
    Frozen,
    Known,
    embedding_of,
    projection_of,
)
from specviz.models.devices import has_fast_bf16
from specviz.models.target import Target
from specviz.training.answers.shards import Answer, Shard, about, shards
from specviz.training.export import ship
from specviz.training.head_training import HeadRecipe, Plan, Pupil, train_heads
from specviz.training.options import Options

EXAM_TOKENS: Final = 1024  # of a batch that is measured on, whose laws are whole
WATCHED: Final = 24  # answers to measure on while training
NEAR: Final = 4  # batches are drawn from so many times their number of neighbours by length


@dataclass(frozen=True, slots=True)
class Place:
    """Where an answer is kept, and what can be known without reading its states."""

    shard: Shard
    number: int

    @property
    def length(self) -> int:
        """Its tokens."""
        return self.shard.lengths[self.number]

    def read(self) -> Answer:
        """All of it."""
        return self.shard.read(self.number)


class Answers:
    """The answers of a folder as `Lessons`. Raises ValueError where they are another target's."""

    def __init__(self, target: Target, folder: Path, recipe: HeadRecipe) -> None:
        said = about(folder)
        if said["target"] != target.card.hash:
            raise ValueError(f"The answers in {str(folder)!r} are another target's.")
        self.layers: list[int] = said["layers"]
        self.target, self.recipe = target, recipe
        found = [Shard(path) for path in shards(folder)]
        every = [Place(shard, i) for shard in found for i in range(len(shard.lengths))]
        self.held_out = [place for place in every if place.shard.facts[place.number]["held_out"]]
        learned = [p for p in every if not p.shard.facts[p.number]["held_out"]]
        self.learned = sorted(learned, key=lambda place: place.length)
        if not self.learned:
            raise ValueError(f"There is nothing to learn from in {str(folder)!r} yet.")
        lengths = np.array([place.length for place in self.learned], dtype=np.float64)
        self.shares = lengths / lengths.sum()
        self.table = target.model.get_output_embeddings().weight.detach().float()

    def counts(self) -> Tensor:
        """How often each token was said, or likeliest, in the answers learned from: (V,)."""
        found = torch.zeros(self.target.vocab_size, dtype=torch.long)
        for place in self.learned:
            tokens, tops, prompt = place.shard.words(place.number)
            for said in (tokens[prompt:], tops[prompt - 1 :]):
                found += torch.bincount(said, minlength=len(found))
        return found

    def tokens(self) -> dict[str, dict[str, int]]:
        """By domain, how many tokens the target said, to learn from and held out."""
        found: dict[str, dict[str, int]] = {}
        for part, places in (("training", self.learned), ("held_out", self.held_out)):
            for place in places:
                facts = place.shard.facts[place.number]
                domain = found.setdefault(facts["domain"], {"training": 0, "held_out": 0})
                domain[part] += place.length - facts["prompt"]
        return found

    def lesson(self, step: int, families: Sequence[Family]) -> Frozen:
        """See `Lessons`. Answers of about one length, as many as fill rows times length tokens.

        The longer an answer, the likelier it is the first to be drawn, and the fewer stand beside
        it: so all are seen alike.
        """
        chance = np.random.default_rng([self.recipe.seed, step])
        size = self.recipe.rows * self.recipe.length
        first = int(chance.choice(len(self.learned), p=self.shares))
        many = max(1, size // self.learned[first].length)
        low = max(0, min(first - NEAR * many // 2, len(self.learned) - NEAR * many))
        near = self.learned[low : low + NEAR * many]
        chosen = [near[int(i)] for i in chance.permutation(len(near))[:many]]
        fitting = max(1, size // max(place.length for place in chosen))
        return self._frozen(chosen[:fitting])

    def exam(self, families: Sequence[Family]) -> Iterator[Frozen]:
        """See `Lessons`. A few of the held-out answers, spread evenly over them."""
        every = max(1, len(self.held_out) // WATCHED)
        yield from self._exams(self.held_out[::every])

    def exams(self) -> Mapping[str, Any]:
        """By domain, all held-out batches, as a function of the families."""
        domains = dict.fromkeys(p.shard.facts[p.number]["domain"] for p in self.held_out)
        return {domain: self._exam_of(domain) for domain in domains}

    def _exam_of(self, domain: str) -> Any:
        places = [p for p in self.held_out if p.shard.facts[p.number]["domain"] == domain]
        return lambda families: self._exams(places)

    def _exams(self, places: Sequence[Place]) -> Iterator[Frozen]:
        waiting = sorted(places, key=lambda place: place.length)
        while waiting:
            many = max(1, EXAM_TOKENS // waiting[min(3, len(waiting) - 1)].length)
            yield self._frozen(waiting[:many])
            waiting = waiting[many:]

    def _frozen(self, places: Sequence[Place]) -> Frozen:
        """What the target thought of these answers, filled up on the right."""
        read = [place.read() for place in places]
        device = self.target.device
        states = pad_sequence([a.states for a in read], batch_first=True).to(device).float()
        own = pad_sequence([_own(a) for a in read], batch_first=True)
        tops = pad_sequence([a.tops.long() for a in read], batch_first=True)
        model = self.target.model
        return Frozen(
            tokens=pad_sequence([a.tokens.long() for a in read], batch_first=True).to(device),
            states={layer: states[:, :, i] for i, layer in enumerate(self.layers)},
            final=states[:, :, -1],
            keys_values={},
            embed=embedding_of(model),
            head=projection_of(model),
            known=Known(tops.to(device), own.to(device), self.table),
        )


def _own(answer: Answer) -> Tensor:
    """(n,) bool: after which tokens the next was the target's own."""
    return torch.arange(len(answer.tokens)) >= answer.prompt - 1


TOKENS: Final = 1_000_000  # of answers and prompts, as often as they are seen


@dataclass(frozen=True)
class AnswersRecipe(HeadRecipe):
    """AdamW alone, for heads that begin as parts of the target. See `Fitting`."""

    matrix_rate: float = 0.0
    other_rate: float = 5e-4
    warm_up: int = 50
    draft_vocabulary: int = 0
    unrolled: int = 0


def taught(options: Options, data: Path) -> list[Pupil]:
    """Train, and write the folder of every head that did not diverge. Raises ValueError."""
    torch.set_num_threads(options.threads)
    families = [fitted(name, options.fitting) for name in options.names or ("eagle3",)]
    target = load_target(options.target, options.device)
    recipe = _recipe(options, target)
    answers = Answers(target, data, recipe)
    tokens, folder = options.tokens or TOKENS, options.work / "heads"
    plan = Plan(recipe, tokens, folder, answers, answers.counts())
    pupils = train_heads(target, families, plan)
    ship(pupils, target, plan, answers.exams(), options.out, answers.tokens())
    return pupils


def fitted(name: str, fitting: Fitting) -> Family:
    """The family of a head that can learn from answers. Raises ValueError with a sentence."""
    found = family(name)
    if found.fitted is None:
        able = ", ".join(each for each in names() if family(each).fitted)
        raise ValueError(f"{name} does not learn from answers; what does: {able}.")
    return found.fitted(fitting)


def _recipe(options: Options, target: Target) -> AnswersRecipe:
    exact = options.precision == "float32" or not has_fast_bf16(target.device)
    return AnswersRecipe(
        seed=options.seed,
        other_rate=AnswersRecipe.other_rate * options.rate,
        made_for=target.card.hash or "",
        precision="float32" if exact else options.precision,
        draft_vocabulary=options.fitting.draft_vocabulary,
        unrolled=options.fitting.steps,
    )
