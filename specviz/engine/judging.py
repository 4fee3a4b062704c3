"""Judge a proposal, and sample in plain decoding: as one CUDA graph where passes are recorded.

A recorded graph cannot stop at a rejection. So it computes p and, for every node at which the
accepted path may end, the distribution of the last token and the token drawn from it with the run's
own random number. One transfer copies the numbers to the host, which then decides.
"""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from specviz.engine.protocol import Proposal
from specviz.models.graphs import MOST_ROWS, Given, ceil_power
from specviz.models.network import fixed_memory
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling
from specviz.verification import Drawn, Rule, Verdict
from specviz.verification.base import Precomputed, PrecomputedRule
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.rules import PointMass
from specviz.verification.tree import DraftTree

NOTHING: Final = Proposal(DraftTree((0,), (-1,)), Drawn.POINT_MASS)


def judge(
    run: TargetRun,
    rule: Rule,
    proposal: Proposal,
    logits: Tensor,
    sampling: Sampling,
    chance: Chance,
) -> tuple[Tensor, Verdict]:
    """Return p, (n, V), after each node of a proposal, and the verdict on it.

    The next verdict of the same run may overwrite all of their tensors.
    """
    tree = proposal.tree
    if isinstance(rule, PrecomputedRule) and (rule.any_tree or tree.is_chain):
        found = _precompute(run, rule, proposal, logits, sampling, chance.final())
        if found is not None:
            return found.p, rule.conclude(tree, found, chance)
    p = logits_to_probs(logits, sampling)
    return p, rule.judge(tree, proposal.drawn, p, proposal.q, chance)


def sample(run: TargetRun, logits: Tensor, sampling: Sampling, u: float) -> int:
    """Return a token sampled from logits (1, V)."""
    if sampling.greedy:
        return int(logits.argmax())
    found = _precompute(run, PointMass(), NOTHING, logits, sampling, u)
    return (found.draw(0, u) if found else draw(logits_to_probs(logits, sampling)[0], u)).token


def _precompute(
    run: TargetRun,
    rule: PrecomputedRule,
    proposal: Proposal,
    logits: Tensor,
    sampling: Sampling,
    u: float,
) -> Precomputed | None:
    """Compute everything for a verdict in a recorded graph; None if nothing is recorded."""
    count, size = len(logits), ceil_power(len(logits))
    memory = fixed_memory(run.cache) if logits.device.type == "cuda" else None
    if memory is None or count > MOST_ROWS:
        return None
    given = [Given(logits, (size, logits.shape[-1]))]
    if not rule.any_tree:
        after = [*proposal.tree.tokens[1:], *[-1] * (size - count + 1)]
        given.append(Given(torch.tensor([u, *after], dtype=torch.float64), (1 + size,)))
    sampled = rule.spec.reads_q and proposal.drawn is not Drawn.POINT_MASS
    if q := proposal.q if sampled else {}:
        rows = torch.stack([q[node] for node in range(count - 1)])
        given.append(Given(rows, (size, rows.shape[-1])))

    def function(
        logits: Tensor, numbers: Tensor | None = None, q: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        p = logits_to_probs(logits, sampling)
        numbers = p[:0, 0] if numbers is None else numbers
        return p, *rule.precompute(p, q, numbers[1:].long(), numbers[:1])

    key = (rule.spec.name, sampling, size, logits.dtype, rows.dtype if q else None)
    found = memory.judging.run(memory, key, function, given)
    if found is None:
        return None
    p, last, numbers = (each[:count] for each in found)
    return Precomputed(p, q, last, numbers.tolist())
