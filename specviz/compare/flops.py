"""How much arithmetic a lane took, worked out from how many rows went through which matrices.

Rule: 2 FLOPs for every weight of a matrix and every row (token) that is pushed through it, the
prompt's included. An embedding table is looked up, so it counts only where it is the output head
too; an output head counts only for rows whose logits are wanted. Left out: attention's own products
with the cache (they grow with the text, not with the weights), norms, softmax, sampling. Standard
library only.
"""

from __future__ import annotations

from dataclasses import dataclass

from specviz.trace.file import Trace
from specviz.trace.work import Weights, Work


@dataclass(frozen=True, slots=True)
class Flops:
    """FLOPs of a whole run. prompt: of the target's first pass. target: of its later ones.

    drafter: None where the trace does not say how many rows it read.
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
    own = drafted(trace)
    return Flops(
        prompt=cost(Work(len(trace.header.prompt_ids), 1), target),
        target=cost(checked(trace), target),
        drafter=None if own is None else cost(own, drafter),
    )


def plain_flops(trace: Trace, target: Weights) -> Flops:
    """The arithmetic of plain decoding: the prompt, then a row a pass."""
    passes = len(trace.baseline.seconds) if trace.baseline else 0
    if not passes:
        return Flops(0, 0, 0)
    prompt = Work(len(trace.header.prompt_ids), 1)
    return Flops(cost(prompt, target), cost(Work(passes - 1, passes - 1), target), 0)


def drafted(trace: Trace) -> Work | None:
    """Rows through the drafter's own networks; None where a round does not say."""
    total = Work()
    for played in trace.rounds:
        if played.proposed is None:
            continue
        if played.proposed.work is None:
            return None
        total += played.proposed.work
    return total


def checked(trace: Trace) -> Work:
    """Work of the target's passes after the prompt: roots, guesses, riders. All give logits."""
    rows = sum(played.scored.rows_in_pass for played in trace.rounds[1:] if played.scored)
    return Work(rows, rows)


def cost(work: Work, weights: Weights) -> int:
    """FLOPs of these rows through these weights."""
    met = work.body * weights.body + work.head * weights.head + work.entry * weights.entry
    return 2 * met
