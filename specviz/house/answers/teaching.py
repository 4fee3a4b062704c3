"""Trains heads of any Llama on its own answers: `train heads --target … --data …`.

Rule: the loop, the checkpoints and the files are those of the house's heads; only lessons differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from specviz.catalog import load_target
from specviz.catalog.training import family, names
from specviz.drafters.kit.training import Family, Fitting
from specviz.house.answers.lessons import Answers
from specviz.house.export import ship
from specviz.house.options import Options
from specviz.house.train_heads import HeadRecipe, Plan, Pupil, train_heads
from specviz.models.devices import has_fast_bf16
from specviz.models.target import Target

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
