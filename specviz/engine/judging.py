"""Judge a proposal, and sample in plain decoding: as one CUDA graph where passes are recorded.

A recorded graph cannot stop at a rejection. So it computes p and, for every node at which the
accepted path may end, the distribution of the last token and the token drawn from it with the run's
own random number. One transfer copies the numbers to the host, which then decides.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

import torch
from torch import Tensor

from specviz.engine.protocol import Proposal
from specviz.models.graphs import MOST_ROWS, Given, ceil_power
from specviz.models.target import TargetRun
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling
from specviz.verification import Drawn, Rule, Verdict
from specviz.verification.base import Precomputed, PrecomputedRule
from specviz.verification.distributions import draw, logits_to_probs
from specviz.verification.rules import PointMass
from specviz.verification.tree import DraftTree

NOTHING: Final = Proposal(DraftTree((0,), (-1,)), Drawn.POINT_MASS)
# A recording keeps the distributions for every sibling of every node: at most so many numbers (128
# MiB in float64). With 32 nodes, 4 siblings and 130,000 tokens, nothing is recorded.
MOST_NUMBERS: Final = 1 << 24


def judge(
    run: TargetRun,
    rule: Rule,
    proposal: Proposal,
    logits: Tensor,
    sampling: Sampling,
    chance: Chance,
) -> tuple[Tensor, Verdict]:
    """Return p, (n, V), and the verdict on a proposal; the next one may overwrite them."""
    tree = proposal.tree
    if isinstance(rule, PrecomputedRule) and (tree.is_chain or not rule.chains_only):
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
    # None if nothing is recorded.
    (count, vocabulary), tree, drawn = logits.shape, proposal.tree, proposal.drawn
    size = ceil_power(count)
    siblings = ceil_power(max(map(len, tree.children))) if rule.reads_draft else 1
    memory = run.memory if logits.device.type == "cuda" else None
    if memory is None or count > MOST_ROWS:
        return None
    if siblings > 1 and siblings * size * vocabulary > MOST_NUMBERS:
        return None
    given = [Given(logits, (size, vocabulary))]
    if rule.reads_draft:
        listed = [u, *_rows_of_q(tree, size), *_tokens(tree, size, siblings)]
        given.append(Given(torch.tensor(listed, dtype=torch.float64), (len(listed),)))
    q = proposal.q if rule.spec.reads_q and drawn is not Drawn.POINT_MASS else {}
    if q:
        rows = torch.stack([q[node] for node, kids in enumerate(tree.children) if kids])
        given.append(Given(rows, (size, vocabulary)))

    def function(
        logits: Tensor, numbers: Tensor | None = None, q: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        p = logits_to_probs(logits, sampling)
        if numbers is None:
            numbers = p.new_zeros(1 + 2 * size)
        whole = numbers[1:].long()
        q = q if q is None or siblings == 1 else q[whole[:size]]
        tokens = whole[size:].view(size, siblings)
        return p, *rule.precompute(p, q, tokens, numbers[:1], drawn)

    key = (rule.spec.name, drawn, sampling, size, siblings, logits.dtype, rows.dtype if q else None)
    found = memory.judging.run(memory, key, function, given)
    if found is None:
        return None
    p, last, numbers, *later = (each[:count] for each in found)
    width = 2 if q else 1
    steps = [tuple(later[at : at + width]) for at in range(0, len(later), width)]
    return Precomputed(p, q, last, numbers.tolist(), steps)


def _rows_of_q(tree: DraftTree, size: int) -> list[int]:
    # For each of `size` nodes, the row of its q among those of nodes with children.
    parents = [bool(kids) for kids in tree.children]
    rows = [
        before * has for has, before in zip(parents, accumulate(parents, initial=0), strict=False)
    ]
    return rows + [0] * (size - len(rows))


def _tokens(tree: DraftTree, size: int, siblings: int) -> list[int]:
    # For each of `size` nodes, the tokens of its children, then -1, `siblings` in all.
    found = []
    for kids in (*tree.children, *[()] * (size - len(tree))):
        found += [tree.tokens[kid] for kid in kids] + [-1] * (siblings - len(kids))
    return found
