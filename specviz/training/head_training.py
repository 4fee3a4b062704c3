"""Train several heads on the frozen target; all of them use one target pass per batch.

A head's weights after n steps depend only on the recipe, not on which other heads are trained in
the same run, and not on interruptions.
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

from specviz.drafters.common.training import Family, TargetOutputs, read_target_outputs
from specviz.models.target import Target
from specviz.training.trainer import Diverged, Recipe, Trainer, decay_start, total_steps

PLATEAU_MEASUREMENTS = 3  # α gains at least PLATEAU_GAIN over these, or is at a plateau
PLATEAU_GAIN = 0.002
HELD_OUT_ROWS = 4  # windows per pass over held-out text
SAVE_SECONDS = 300  # seconds: save at least this often, since a step of many heads is slow


Report = Callable[[str], None]


@dataclass(frozen=True)
class HeadRecipe(Recipe):
    """The recipe of a head.

    With few rows per batch there are more steps for the same number of tokens: with 410,000 tokens,
    an EAGLE head reached α = 0.37 with four rows, 0.40 with two and 0.42 with one, whose passes
    take longer per token. The learning rates are chosen for two rows.

    Attributes:
        rows: Windows per batch.
        matrix_rate: Learning rate of Muon; if it is 0, AdamW also trains the matrices.
        made_for: SHA-256 of the target's weights.
        own_text: Number of tokens of text by the target in the training data.
        precision: Autocast dtype of the forward passes; "float32" for no autocast.
        start: SHA-256 of the weights that it continues; empty for a new head.
    """

    rows: int = 2
    matrix_rate: float = 0.014
    other_rate: float = 0.002
    made_for: str = ""
    own_text: int = 0
    precision: str = "bfloat16"
    start: str = ""


class BatchSource(Protocol):
    """A source of target outputs to train heads on and to evaluate them on."""

    def training_batch(self, step: int, families: Sequence[Family]) -> TargetOutputs:
        """Return the batch of a step, which depends only on the step, not on `families`."""

    def held_out_batches(self, families: Sequence[Family]) -> Iterator[TargetOutputs]:
        """Yield batches that no head is trained on."""


@dataclass(frozen=True)
class TextBatches:
    """Batches of text that the target reads when needed: (rows, length + 1) ids of a step."""

    target: Target
    recipe: HeadRecipe
    batch: Callable[[int], Tensor]
    held_out: Tensor

    def training_batch(self, step: int, families: Sequence[Family]) -> TargetOutputs:
        """Implement `BatchSource.training_batch`."""
        ids = self.batch(step)[:, :-1].to(self.target.device)
        with _precision(ids, self.recipe):
            return _target_outputs(self.target, families, ids)

    def held_out_batches(self, families: Sequence[Family]) -> Iterator[TargetOutputs]:
        """Implement `BatchSource.held_out_batches`, with a few windows per pass."""
        for ids in self.held_out[:, :-1].to(self.target.device).split(HELD_OUT_ROWS):
            yield _target_outputs(self.target, families, ids)


@dataclass(frozen=True)
class Plan:
    """The parts of a training run that its heads share.

    Attributes:
        folder: Folder of the checkpoints, one subfolder per head.
        counts: Frequency of each token in the training text, (V,).
        save_every: Steps between checkpoints.
        measure_every: Steps between measurements of α.
    """

    recipe: HeadRecipe
    tokens: int
    folder: Path
    batches: BatchSource
    counts: Tensor
    save_every: int = 100
    measure_every: int = 250

    @property
    def steps(self) -> int:
        """The number of steps of the run."""
        return total_steps(self.recipe, self.tokens)


@dataclass
class HeadRun:
    """A head in training.

    Attributes:
        error: Why its training stopped; None if it did not.
        plateaued: Whether α was at a plateau in the last measurement.
        saved: Time of its last checkpoint (monotonic clock).
    """

    family: Family
    head: Any
    trainer: Trainer
    alpha: dict[int, float] = field(default_factory=dict)
    error: str | None = None
    plateaued: bool = False
    saved: float = field(default_factory=time.monotonic)

    @property
    def name(self) -> str:
        """The name of its drafter."""
        return self.family.name


def train_heads(
    target: Target, families: Sequence[Family], plan: Plan, report: Report = tqdm.write
) -> list[HeadRun]:
    """Train heads to the plan's end, resuming from their checkpoints.

    If a head diverges, only its training stops. A head that is ahead of the other heads, because an
    earlier run trained it alone, waits for them, so that all heads share the passes of the target.
    Returns the heads in the order of `families`, in eval mode. Raises ResumeError if a checkpoint
    belongs to another recipe.
    """
    runs = [_start_run(target, family, plan) for family in families]
    begun = min(run.trainer.step for run in runs)
    with tqdm(total=plan.steps, initial=begun, unit="step", mininterval=5) as bar:
        while active := [p for p in runs if p.error is None and p.trainer.step < plan.steps]:
            step = min(run.trainer.step for run in active)
            due = [run for run in active if run.trainer.step == step]
            _shared_step(due, plan, report)
            bar.set_postfix_str(
                ", ".join(f"{p.name} {p.trainer.loss:.3f}" for p in due), refresh=False
            )
            bar.update(step + 1 - bar.n)
            if (step + 1) % plan.measure_every == 0 or step + 1 == plan.steps:
                _measure([run for run in due if run.error is None], plan, report)
    for run in runs:
        run.head.eval()
    return runs


def measure_alpha(
    runs: Sequence[HeadRun], held_out_batches: Iterable[TargetOutputs]
) -> dict[str, list[float]]:
    """Return α by depth of each head on held-out batches, averaged over tokens, to four digits."""
    return measured(runs, held_out_batches, {"α": lambda family, *given: family.measure(*given)})[
        "α"
    ]


Metric = Callable[
    [Family, Sequence[Tensor], TargetOutputs], list[float]
]  # values by depth, as of `same_tops`


def measured(
    runs: Sequence[HeadRun],
    held_out_batches: Iterable[TargetOutputs],
    measures: Mapping[str, Metric],
) -> dict[str, dict[str, list[float]]]:
    """Return metrics on held-out batches, by metric, head and depth, to four digits."""
    sums: dict[str, dict[str, list[float]]] = {
        what: {run.name: [] for run in runs} for what in measures
    }
    total = 0
    for outputs in held_out_batches:
        total += (count := int(outputs.counted.sum()))
        for run in runs:
            guesses = run.family.predict(run.head, outputs)
            for what, measure in measures.items():
                found = measure(run.family, guesses, outputs)
                old = sums[what][run.name] or [0.0] * len(found)
                sums[what][run.name] = [a + b * count for a, b in zip(old, found, strict=True)]
    return {
        what: {name: [round(v / total, 4) for v in found] for name, found in heads.items()}
        for what, heads in sums.items()
    }


def has_plateaued(alpha: Mapping[int, float]) -> bool:
    """Return whether α increased by less than PLATEAU_GAIN over the last few measurements."""
    gain = plateau_gain(alpha)
    return gain is not None and gain < PLATEAU_GAIN


def plateau_gain(alpha: Mapping[int, float]) -> float | None:
    """Return α's increase over the last PLATEAU_MEASUREMENTS at one rate; None for fewer."""
    values = [alpha[step] for step in sorted(alpha)]
    if len(values) <= PLATEAU_MEASUREMENTS:
        return None
    return max(values[-PLATEAU_MEASUREMENTS:]) - values[-PLATEAU_MEASUREMENTS - 1]


def hidden_matrices(head: nn.Module, vocabulary: int) -> list[nn.Parameter]:
    """Return the parameters that Muon trains: matrices that are not indexed by token."""
    return [
        weight
        for name, weight in head.named_parameters()
        if weight.ndim == 2
        and min(weight.shape) > 1
        and vocabulary not in weight.shape
        and not any(part in name for part in ("embed", "lm_head"))
    ]


def _start_run(target: Target, family: Family, plan: Plan) -> HeadRun:
    _seed_torch(plan.recipe.seed, family.name, step=-1)
    head = nn.Module.to(family.build(target, plan.counts), device=target.device)
    matrices = hidden_matrices(head, target.vocab_size) if plan.recipe.matrix_rate else []
    trainer = Trainer(head, plan.recipe, plan.folder / family.name, matrices)
    trainer.resume(plan.steps)
    trainer.folder.mkdir(parents=True, exist_ok=True)
    head.train()
    run = HeadRun(family, head, trainer)
    for facts in _logged(_log(run)):
        if facts["alpha"] and facts["step"] <= trainer.step:
            run.alpha[facts["step"]] = fmean(facts["alpha"])
    return run


def _shared_step(due: Sequence[HeadRun], plan: Plan, report: Report) -> None:
    outputs = plan.batches.training_batch(due[0].trainer.step, [run.family for run in due])
    for run in due:
        try:
            _advance(run, outputs, plan)
        except Diverged as error:
            run.error = f"{run.name} {error}"
            report(
                f"{run.error}. It stops here and the others continue; try a lower --rate for it."
            )


def _advance(run: HeadRun, outputs: TargetOutputs, plan: Plan) -> None:
    trainer = run.trainer
    _seed_torch(plan.recipe.seed, run.name, trainer.step)

    def loss() -> Tensor:
        with _precision(outputs.tokens, plan.recipe):
            return run.family.loss(run.head, outputs)

    trainer.advance(loss, plan.steps)
    late = time.monotonic() - run.saved > SAVE_SECONDS
    if late or trainer.step % plan.save_every == 0 or trainer.step == plan.steps:
        trainer.save(plan.steps)
        run.saved = time.monotonic()


def _measure(runs: Sequence[HeadRun], plan: Plan, report: Report) -> None:
    for run in runs:
        run.head.eval()
    found = measure_alpha(runs, plan.batches.held_out_batches([run.family for run in runs]))
    for run in runs:
        run.head.train()
        step, alpha = run.trainer.step, found[run.name]
        facts = {"step": step, "loss": round(run.trainer.loss, 4), "alpha": alpha}
        with _log(run).open("a", encoding="utf-8") as log:
            log.write(json.dumps(facts) + "\n")
        if alpha:
            run.alpha[step] = fmean(alpha)
            _report_plateau(run, plan, report)


def _report_plateau(run: HeadRun, plan: Plan, report: Report) -> None:
    # Once per plateau, while the learning rate is constant.
    step, recipe = run.trainer.step, plan.recipe
    plateaued = has_plateaued(run.alpha) and step <= decay_start(recipe, plan.steps)
    if plateaued and not run.plateaued:
        total = math.ceil(step / (1 - recipe.decay_share)) + 1
        report(
            f"{run.name}: α has stopped rising ({run.alpha[step]:.3f} at step {step}). To start "
            f"lowering its learning rate here: --names {run.name} "
            f"--tokens {total * recipe.rows * recipe.length}."
        )
    run.plateaued = plateaued


def _target_outputs(target: Target, families: Sequence[Family], ids: Tensor) -> TargetOutputs:
    wanted: Collection[int] = {layer for f in families for layer in f.keys_values}
    return read_target_outputs(target.model, ids, sorted(wanted))


def _seed_torch(seed: int, name: str, step: int) -> None:
    # A loss then depends only on (seed, head, step).
    digest = hashlib.sha256(f"{seed} {name} {step}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:7], "big"))


def _precision(ids: Tensor, recipe: HeadRecipe) -> torch.autocast:
    lower = recipe.precision != "float32"
    return torch.autocast(ids.device.type, torch.bfloat16, enabled=lower)


def _log(run: HeadRun) -> Path:
    return run.trainer.folder / "alpha.jsonl"


def _logged(path: Path) -> list[dict[str, Any]]:
    # Without an incomplete last line.
    found = []
    for line in path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else ():
        with suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found
