"""The training loop that the target and the draft model share, and the steps that heads share too.

Rule: the weights after n steps are a function of the recipe; stopping and resuming, or choosing
the total and the decay later while the learning rate is still constant, changes nothing.
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

Loss = Callable[[Tensor, int], Tensor]  # (ids (rows, length + 1), step) -> mean loss


@dataclass(frozen=True)
class Recipe:
    """Everything that the weights depend on, besides the total and the data."""

    seed: int
    rows: int = 8
    length: int = 512
    matrix_rate: float = 0.02  # Muon, for the hidden matrices
    other_rate: float = 0.003  # AdamW, for the embedding and the norms
    weight_decay: float = 0.05
    warm_up: int = 100  # steps
    decay_share: float = 0.4  # of all steps, at the end


class ResumeError(ValueError):
    """The checkpoint at hand cannot lead to the run that was asked for."""


class Diverged(ValueError):
    """A loss or a gradient is no number any more; no weight was changed by it."""


def total_steps(recipe: Recipe, tokens: int) -> int:
    """How many steps see `tokens` tokens."""
    return max(1, tokens // (recipe.rows * recipe.length))


def decay_start(recipe: Recipe, steps: int) -> int:
    """At which step the learning rate begins to fall."""
    return steps - math.ceil(recipe.decay_share * steps)


def rate_factor(recipe: Recipe, step: int, steps: int) -> float:
    """Warm up, hold at 1, and fall linearly to (almost) 0 over the last steps."""
    begin = decay_start(recipe, steps)
    falling = (steps - step) / (steps - begin) if step >= begin else 1.0
    return min(falling, (step + 1) / recipe.warm_up, 1.0)


class Trainer:
    """Trains one model and keeps its checkpoints in `folder`.

    matrices: what Muon trains; by default those of a Llama's layers. AdamW has the rest.

    While the rate is constant they go to `constant.pt`, from where a run of any longer total can
    go on; afterwards to `decay.pt`, which belongs to one total.
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
        """Train until `tokens` tokens were seen, from the best checkpoint. Raises `ResumeError`."""
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
        """Take steps, and yield the training loss smoothed over about 50 of them."""
        self._began = self.step
        self._since = time.monotonic()
        while self.step < steps:
            self.advance(lambda: loss(batch(self.step), self.step), steps)
            yield self.loss

    def advance(self, loss: Callable[[], Tensor], steps: int) -> None:
        """Take one step of a run of `steps`. Raises `Diverged` with the weights unharmed."""
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
        """Write the checkpoint of the current phase, replacing the earlier one whole."""
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
        """Load the furthest checkpoint that a run of `steps` steps would have passed through."""
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
        self.loss = state.get("loss", math.nan)  # checkpoints of before have none
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
    """Muon and AdamW with their rates, leaving out one that would have nothing to train."""
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
    """What a run may not change half-way; where its rate begins to fall, it may."""
    return {name: value for name, value in recipe.items() if name != "decay_share"}
