"""The training loop of target and draft model, and the training step of heads.

The weights after n steps depend only on the recipe. Stopping and resuming does not change them.
While the learning rate is constant, the number of steps and the final decay can still be chosen.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

Loss = Callable[[Tensor, int], Tensor]  # computes the mean loss from (ids (rows, length + 1), step)


@dataclass(frozen=True)
class Recipe:
    """Everything on which the weights depend, except the number of tokens and the data.

    Attributes:
        seed: Seed of the initial weights and of the batches.
        rows: Number of windows per batch.
        length: Number of tokens per window.
        matrix_rate: Learning rate of Muon, which trains the hidden matrices.
        other_rate: Learning rate of AdamW, which trains the embedding and the norms.
        warm_up: Number of steps over which the learning rate increases.
        decay_share: Share of all steps, at the end, over which the learning rate decreases.
    """

    seed: int
    rows: int = 8
    length: int = 512
    matrix_rate: float = 0.02
    other_rate: float = 0.003
    weight_decay: float = 0.05
    warm_up: int = 100
    decay_share: float = 0.4


class ResumeError(ValueError):
    """Raised if a checkpoint's recipe or length does not fit the run that should resume from it."""


class Diverged(ValueError):
    """Raised if a loss or gradient is not finite; the step was not applied to the weights."""


def total_steps(recipe: Recipe, tokens: int) -> int:
    """Return the number of steps that `tokens` tokens give."""
    return max(1, tokens // (recipe.rows * recipe.length))


def decay_start(recipe: Recipe, steps: int) -> int:
    """Return the step at which the learning rate starts to decrease."""
    return steps - math.ceil(recipe.decay_share * steps)


def rate_factor(recipe: Recipe, step: int, steps: int) -> float:
    """Return the factor on the learning rate: warm-up, then 1, then a linear fall to almost 0."""
    begin = decay_start(recipe, steps)
    falling = (steps - step) / (steps - begin) if step >= begin else 1.0
    return min(falling, (step + 1) / recipe.warm_up, 1.0)


class Trainer:
    """Trains one model and stores its checkpoints in `folder`.

    Checkpoints made while the learning rate is constant are written to `constant.pt`, from which a
    run with any larger number of steps can resume. Later ones are written to `decay.pt`, which only
    fits one number of steps. matrices: parameters that Muon trains; by default the matrices of a
    Llama's layers. AdamW trains all other parameters.
    """

    def __init__(
        self,
        model: nn.Module,
        recipe: Recipe,
        folder: Path,
        matrices: Sequence[nn.Parameter] | None = None,
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.folder = folder
        self.step = 0
        self.seconds = 0.0
        self.loss = math.nan  # smoothed over about 50 steps
        chosen = set(_layer_matrices(model) if matrices is None else matrices)
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizers, self._rates = _optimizers(
            [p for p in trained if p in chosen], [p for p in trained if p not in chosen], recipe
        )

    def run(
        self, loss: Loss, batch: Callable[[int], Tensor], tokens: int, save_every: int = 100
    ) -> None:
        """Train on `tokens` tokens in total, resuming from the latest checkpoint that fits.

        Args:
            loss: Computes the mean loss of (ids, step).
            batch: Returns the ids of a step, (rows, length + 1).
            tokens: Number of tokens of the whole run.
            save_every: Steps between checkpoints.

        Raises:
            ResumeError: If the checkpoints have another recipe, or do not fit this number of
                tokens.
        """
        steps = total_steps(self.recipe, tokens)
        self.resume(steps)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model.train()
        log = (self.folder / "losses.jsonl").open("a", encoding="utf-8")
        with log, tqdm(total=steps, initial=self.step, unit="step", mininterval=5) as bar:
            for value in self._steps(loss, batch, steps):
                bar.set_postfix_str(f"loss {value:.3f}, {self._speed():,.0f} tokens/s")
                bar.update()
                if self.step % save_every == 0 or self.step == steps:
                    self.save(steps)
                    log.write(json.dumps({"step": self.step, "loss": round(value, 4)}) + "\n")
                    log.flush()
        self.model.eval()

    def _steps(self, loss: Loss, batch: Callable[[int], Tensor], steps: int) -> Iterator[float]:
        # The loss is smoothed over about 50 steps.
        self._began = self.step
        self._since = time.monotonic()
        while self.step < steps:
            self.advance(lambda: loss(batch(self.step), self.step), steps)
            yield self.loss

    def advance(self, loss: Callable[[], Tensor], steps: int) -> None:
        """Take one step of a run of `steps` steps.

        Raises Diverged if the loss or the gradient is not finite; the weights are unchanged.
        """
        began = time.monotonic()
        self._set_rates(rate_factor(self.recipe, self.step, steps))
        value = loss()
        value.backward()
        now = float(value.detach())
        slope = float(nn.utils.get_total_norm(_gradients(self.model)))
        if not (math.isfinite(now) and math.isfinite(slope)):
            self.model.zero_grad(set_to_none=True)
            raise Diverged(f"diverged at step {self.step} (loss {now}, gradient {slope})")
        for optimizer in self.optimizers:
            optimizer.step()
        self.model.zero_grad(set_to_none=True)
        self.step += 1
        self.seconds += time.monotonic() - began
        self.loss = now if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * now

    def _speed(self) -> float:
        taken = (self.step - self._began) * self.recipe.rows * self.recipe.length
        return taken / (time.monotonic() - self._since)

    def _set_rates(self, factor: float) -> None:
        for optimizer, rate in zip(self.optimizers, self._rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor

    def save(self, steps: int) -> None:
        """Write the checkpoint of the current phase; an earlier file is replaced atomically."""
        constant = self.step <= decay_start(self.recipe, steps)
        state = {
            "recipe": asdict(self.recipe),
            "decay": [decay_start(self.recipe, steps), steps],
            "step": self.step,
            "seconds": self.seconds,
            "loss": self.loss,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
        }
        path = self.folder / ("constant.pt" if constant else "decay.pt")
        torch.save(state, path.with_suffix(".partial"))
        path.with_suffix(".partial").replace(path)

    def resume(self, steps: int) -> None:
        """Load the latest checkpoint that fits a run of `steps` steps.

        Raises:
            ResumeError: If the checkpoints have another recipe, or do not fit this number of steps.
        """
        for name in ("decay.pt", "constant.pt"):
            path = self.folder / name
            if not path.is_file():
                continue
            state = torch.load(path, map_location="cpu", weights_only=True)
            if _fixed(state["recipe"]) != _fixed(asdict(self.recipe)):
                raise ResumeError(
                    f"{path} was trained with other settings: {state['recipe']}. "
                    "Give the same ones, or another --work folder."
                )
            if name == "decay.pt" and state["decay"] != [decay_start(self.recipe, steps), steps]:
                continue
            if name == "constant.pt" and state["step"] > decay_start(self.recipe, steps):
                raise ResumeError(
                    f"{path} is at step {state['step']}, past the point where a run of {steps} "
                    "steps begins to lower its rate. Ask for more tokens, or start over in "
                    "another --work folder."
                )
            self._restore(state)
            return

    def _restore(self, state: dict[str, Any]) -> None:
        self.step, self.seconds = state["step"], state["seconds"]
        self.loss = state.get("loss", math.nan)  # older checkpoints do not have it
        self.model.load_state_dict(state["model"])
        for optimizer, saved in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(saved)


def _gradients(model: nn.Module) -> list[Tensor]:
    return [p.grad for p in model.parameters() if p.grad is not None]


def _layer_matrices(model: Any) -> list[nn.Parameter]:
    return [p for p in model.model.layers.parameters() if p.ndim == 2]


def _optimizers(
    matrices: list[nn.Parameter], others: list[nn.Parameter], recipe: Recipe
) -> tuple[tuple[torch.optim.Optimizer, ...], tuple[float, ...]]:
    # Without optimizers that train nothing.
    made: list[tuple[torch.optim.Optimizer, float]] = []
    if matrices:
        decay = recipe.weight_decay
        muon = torch.optim.Muon(matrices, lr=recipe.matrix_rate, weight_decay=decay)
        made.append((muon, recipe.matrix_rate))
    if others:
        rate = recipe.other_rate
        adam = torch.optim.AdamW(others, lr=rate, betas=(0.9, 0.95), weight_decay=0.0)
        made.append((adam, rate))
    return tuple(optimizer for optimizer, _ in made), tuple(rate for _, rate in made)


def _fixed(recipe: dict[str, Any]) -> dict[str, Any]:
    # All but the decay.
    return {name: value for name, value in recipe.items() if name != "decay_share"}
