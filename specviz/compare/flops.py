"""How much arithmetic a lane took, worked out from how many rows went through which matrices.

Rule: 2 FLOPs for every weight of a matrix and every row (token) that is pushed through it, the
prompt's included. An embedding table is looked up, so it counts only where it is the output head
too; an output head counts only for rows whose logits are wanted. Left out: attention's own products
with the cache (they grow with the text, not with the weights), norms, softmax, sampling. Standard
library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.compare.reading import READERS, Rows
from specviz.trace.file import Trace


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights that a row meets, as the `Rows` of the model's family are counted.

    body: in a pass. head: where logits are wanted; of a drafter that borrows it, the target's.
    entry: on the way in from the target's states, where that is a matrix of its own.
    """

    body: int
    head: int
    entry: int = 0


@dataclass(frozen=True, slots=True)
class Flops:
    """FLOPs of a whole run. prompt: of the target's first pass. target: of its later ones.

    drafter: None where it is not known how many rows a drafter of this family reads.
    """

    prompt: int
    target: int
    drafter: int | None

    @property
    def total(self) -> int | None:
        """All of them; None where a part is not known."""
        return None if self.drafter is None else self.prompt + self.target + self.drafter


def flops(trace: Trace, target: Weights, drafter: Weights) -> Flops:
    """The arithmetic of a run, from its trace and the sizes of its models."""
    count = READERS.get(trace.header.drafter.family)
    return Flops(
        prompt=cost(Rows(len(trace.header.prompt_ids), 1), target),
        target=cost(checked(trace), target),
        drafter=None if count is None else cost(count(trace), drafter),
    )


def plain_flops(trace: Trace, target: Weights) -> Flops:
    """The arithmetic of plain decoding: the prompt, then a row a pass."""
    passes = len(trace.baseline.seconds) if trace.baseline else 0
    if not passes:
        return Flops(0, 0, 0)
    prompt = Rows(len(trace.header.prompt_ids), 1)
    return Flops(cost(prompt, target), cost(Rows(passes - 1, passes - 1), target), 0)


def checked(trace: Trace) -> Rows:
    """Rows of the target's passes after the prompt: roots, guesses, riders. All give logits."""
    rows = sum(played.scored.rows_in_pass for played in trace.rounds[1:] if played.scored)
    return Rows(rows, rows)


def cost(rows: Rows, weights: Weights) -> int:
    """FLOPs of these rows through these weights."""
    met = rows.body * weights.body + rows.head * weights.head + rows.entry * weights.entry
    return 2 * met
