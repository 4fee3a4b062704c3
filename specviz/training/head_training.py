"""Trains any set of heads on the frozen target: one pass of it a batch serves them all.

Rule: a head's weights after n steps are a function of the recipe, whoever trains beside it and
however often the run was stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from tqdm import tqdm

from specviz.drafters.kit.training import Family, Frozen, freeze
from specviz.models.target import Target
from specviz.training.trainer import Diverged, Recipe, Trainer, decay_start, total_steps

STILL_MEASUREMENTS = 3  # over so many, α must gain
STILL_GAIN = 0.002  # this much, or it has stopped moving
SAVE_SECONDS = 300  # at the latest: a step of many heads is slow, and a machine may go at any time


Say = Callable[[str], None]


@dataclass(frozen=True)
class HeadRecipe(Recipe):
    """The recipe of a head: also the target's hash, and how much of its own text was mixed in.

    rows: few, so more steps. With 410,000 tokens each, an EAGLE head's α was .37 with four rows,
    .40 with two and .42 with one, whose passes take longer by the token. The rates are for so few.
    matrix_rate: Muon's; at 0 AdamW has the matrices too.
    """

    rows: int = 2
    matrix_rate: float = 0.014
    other_rate: float = 0.002
    made_for: str = ""
    own_text: int = 0
    precision: str = "bfloat16"  # of autocast; float32 for none


class Lessons(Protocol):
    """Where heads learn from, and what they are measured on: what the target says of texts."""

    def lesson(self, step: int, families: Sequence[Family]) -> Frozen:
        """The batch of a step: a function of the step, whoever learns from it."""

    def exam(self, families: Sequence[Family]) -> Iterator[Frozen]:
        """Batches that nobody learns from."""


@dataclass(frozen=True)
class Texts:
    """Lessons of texts that the target reads when they are due: nothing is kept of them.

    batch: step -> ids (rows, length + 1). held_out: windows (n, length + 1).
    """

    target: Target
    recipe: HeadRecipe
    batch: Callable[[int], Tensor]
    held_out: Tensor

    def lesson(self, step: int, families: Sequence[Family]) -> Frozen:
        """See `Lessons`."""
        ids = self.batch(step)[:, :-1].to(self.target.device)
        with _precision(ids, self.recipe):
            return _frozen(self.target, families, ids)

    def exam(self, families: Sequence[Family], rows: int = 4) -> Iterator[Frozen]:
        """See `Lessons`. rows: windows a pass."""
        for ids in self.held_out[:, :-1].to(self.target.device).split(rows):
            yield _frozen(self.target, families, ids)


@dataclass(frozen=True)
class Plan:
    """One run: what is the same for every head.

    counts: how often each token occurs in the training text, (V,).
    """

    recipe: HeadRecipe
    tokens: int
    folder: Path
    lessons: Lessons
    counts: Tensor
    save_every: int = 100
    measure_every: int = 250

    @property
    def steps(self) -> int:
        """The run's length."""
        return total_steps(self.recipe, self.tokens)


@dataclass
class Pupil:
    """A head in training. alpha: (step, mean α) so far. fault: why it stopped alone."""

    family: Family
    head: Any  # an nn.Module, as its family builds it
    trainer: Trainer
    alpha: dict[int, float] = field(default_factory=dict)
    fault: str | None = None
    still: bool = False
    saved: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        """Its drafter's name."""
        return self.family.name


def train_heads(
    target: Target, families: Sequence[Family], plan: Plan, say: Say = tqdm.write
) -> list[Pupil]:
    """Train to the plan's end from whatever checkpoints there are. A head that diverges stops.

    A head that is ahead of the others (an earlier run trained it alone) waits for them, so all
    can share the passes. Raises `ResumeError`.
    """
    pupils = [_enrol(target, family, plan) for family in families]
    begun = min(pupil.trainer.step for pupil in pupils)
    with tqdm(total=plan.steps, initial=begun, unit="step", mininterval=5) as bar:
        while going := [p for p in pupils if p.fault is None and p.trainer.step < plan.steps]:
            step = min(pupil.trainer.step for pupil in going)
            due = [pupil for pupil in going if pupil.trainer.step == step]
            _shared_step(due, plan, say)
            bar.set_postfix_str(
                ", ".join(f"{p.name} {p.trainer.loss:.3f}" for p in due), refresh=False
            )
            bar.update(step + 1 - bar.n)
            if (step + 1) % plan.measure_every == 0 or step + 1 == plan.steps:
                _measure([pupil for pupil in due if pupil.fault is None], plan, say)
    for pupil in pupils:
        pupil.head.eval()
    return pupils


def agreements(pupils: Sequence[Pupil], exam: Iterable[Frozen]) -> dict[str, list[float]]:
    """α by depth of every head on held-out batches, averaged over their tokens, to four digits."""
    return measured(pupils, exam, {"α": lambda family, *given: family.measure(*given)})["α"]


Measure = Callable[[Family, Sequence[Tensor], Frozen], list[float]]  # by depth, as `same_tops`


def measured(
    pupils: Sequence[Pupil], exam: Iterable[Frozen], measures: Mapping[str, Measure]
) -> dict[str, dict[str, list[float]]]:
    """By measure, by head, by depth: see `agreements`."""
    sums: dict[str, dict[str, list[float]]] = {
        what: {pupil.name: [] for pupil in pupils} for what in measures
    }
    total = 0
    for frozen in exam:
        total += (many := int(frozen.counted.sum()))
        for pupil in pupils:
            guesses = pupil.family.said(pupil.head, frozen)
            for what, measure in measures.items():
                found = measure(pupil.family, guesses, frozen)
                old = sums[what][pupil.name] or [0.0] * len(found)
                sums[what][pupil.name] = [a + b * many for a, b in zip(old, found, strict=True)]
    return {
        what: {name: [round(v / total, 4) for v in found] for name, found in heads.items()}
        for what, heads in sums.items()
    }


def stopped_moving(alpha: Mapping[int, float]) -> bool:
    """Whether α gained next to nothing over the last few measurements."""
    values = [alpha[step] for step in sorted(alpha)]
    if len(values) <= STILL_MEASUREMENTS:
        return False
    return max(values[-STILL_MEASUREMENTS:]) - values[-STILL_MEASUREMENTS - 1] < STILL_GAIN


def hidden_matrices(head: nn.Module, vocabulary: int) -> list[nn.Parameter]:
    """What Muon trains: matrices, but none that reads or writes tokens, and no single vector."""
    return [
        weight
        for name, weight in head.named_parameters()
        if weight.ndim == 2
        and min(weight.shape) > 1
        and vocabulary not in weight.shape
        and not any(part in name for part in ("embed", "lm_head"))
    ]


def _enrol(target: Target, family: Family, plan: Plan) -> Pupil:
    """A new head, or where its last checkpoint left it."""
    _draw_from(plan.recipe.seed, family.name, step=-1)
    head = nn.Module.to(family.build(target, plan.counts), device=target.device)
    matrices = hidden_matrices(head, target.vocab_size) if plan.recipe.matrix_rate else []
    trainer = Trainer(head, plan.recipe, plan.folder / family.name, matrices)
    trainer.resume(plan.steps)
    trainer.folder.mkdir(parents=True, exist_ok=True)
    head.train()
    pupil = Pupil(family, head, trainer)
    for facts in _logged(_log(pupil)):
        if facts["alpha"] and facts["step"] <= trainer.step:
            pupil.alpha[facts["step"]] = fmean(facts["alpha"])
    return pupil


def _shared_step(due: Sequence[Pupil], plan: Plan, say: Say) -> None:
    """One batch, one pass of the target, one step of every head that is due."""
    frozen = plan.lessons.lesson(due[0].trainer.step, [pupil.family for pupil in due])
    for pupil in due:
        try:
            _advance(pupil, frozen, plan)
        except Diverged as fault:
            pupil.fault = f"{pupil.name} {fault}"
            say(f"{pupil.fault}. It stops here and the others go on; try a lower --rate for it.")


def _advance(pupil: Pupil, frozen: Frozen, plan: Plan) -> None:
    """One step of one head, and its checkpoint when that is due. Raises `Diverged`."""
    trainer = pupil.trainer
    _draw_from(plan.recipe.seed, pupil.name, trainer.step)

    def loss() -> Tensor:
        with _precision(frozen.tokens, plan.recipe):
            return pupil.family.loss(pupil.head, frozen)

    trainer.advance(loss, plan.steps)
    late = time.monotonic() - pupil.saved > SAVE_SECONDS
    if late or trainer.step % plan.save_every == 0 or trainer.step == plan.steps:
        trainer.save(plan.steps)
        pupil.saved = time.monotonic()


def _measure(pupils: Sequence[Pupil], plan: Plan, say: Say) -> None:
    """Measure α on held-out text, keep it in the log, and say where it has stopped moving."""
    for pupil in pupils:
        pupil.head.eval()
    found = agreements(pupils, plan.lessons.exam([pupil.family for pupil in pupils]))
    for pupil in pupils:
        pupil.head.train()
        step, alpha = pupil.trainer.step, found[pupil.name]
        facts = {"step": step, "loss": round(pupil.trainer.loss, 4), "alpha": alpha}
        with _log(pupil).open("a", encoding="utf-8") as log:
            log.write(json.dumps(facts) + "\n")
        if alpha:
            pupil.alpha[step] = fmean(alpha)
            _say_if_still(pupil, plan, say)


def _say_if_still(pupil: Pupil, plan: Plan, say: Say) -> None:
    """While the rate is constant: once when α stops, and again after it has moved."""
    step, recipe = pupil.trainer.step, plan.recipe
    still = stopped_moving(pupil.alpha) and step <= decay_start(recipe, plan.steps)
    if still and not pupil.still:
        total = math.ceil(step / (1 - recipe.decay_share)) + 1
        say(
            f"{pupil.name}: α has stopped moving ({pupil.alpha[step]:.3f} at step {step}). To let "
            f"its rate fall from here: --names {pupil.name} "
            f"--tokens {total * recipe.rows * recipe.length}."
        )
    pupil.still = still


def _frozen(target: Target, families: Sequence[Family], ids: Tensor) -> Frozen:
    wanted: Collection[int] = {layer for f in families for layer in f.keys_values}
    return freeze(target.model, ids, sorted(wanted))


def _draw_from(seed: int, name: str, step: int) -> None:
    """Give a loss's own chance, if it has any, a start that depends on nothing else."""
    digest = hashlib.sha256(f"{seed} {name} {step}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:7], "big"))


def _precision(ids: Tensor, recipe: HeadRecipe) -> torch.autocast:
    lower = recipe.precision != "float32"
    return torch.autocast(ids.device.type, torch.bfloat16, enabled=lower)


def _log(pupil: Pupil) -> Path:
    return pupil.trainer.folder / "alpha.jsonl"


def _logged(path: Path) -> list[dict[str, Any]]:
    """The log's lines; one that a power cut left half-written is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
        with suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found
