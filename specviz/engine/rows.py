"""Summarize distributions over a vocabulary: a few listed tokens, and one sum of all others.

Each quantity is computed for every token before it is summed: the overlap is a sum of minima, not
the minimum of two sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.trace.events import Rows
from specviz.verification import Decision
from specviz.verification.tree import DraftTree

LISTED = 8  # tokens listed of each distribution at a decision
DRAWN_LISTED = 12  # tokens listed of the distribution that the last token is drawn from


def decision_rows(
    decisions: Sequence[Decision], tree: DraftTree, soft: Tensor | None, leaf_first: bool = False
) -> list[Rows]:
    """Return the distributions at every decision, computed in one batch.

    Args:
        decisions: The decisions of one round.
        tree: The draft tree.
        soft: The softmax at temperature 1 after each node, (n, V); at temperature 0 only.
        leaf_first: Whether the rule assigns each candidate a share of p, which the rows then
            include.

    Returns:
        One entry per decision, in the same order.
    """
    if not decisions:
        return []
    p = torch.stack([decision.distributions.p for decision in decisions])
    q = torch.stack([_draft_probs(decision, tree.tokens) for decision in decisions])
    judged = torch.tensor([tree.tokens[d.node] for d in decisions], device=p.device)
    has_q = decisions[0].distributions.q is not None
    at = None if soft is None else soft[[tree.parents[d.node] for d in decisions]]
    shares = torch.tensor(
        [[d.distributions.reach] for d in decisions], dtype=p.dtype, device=p.device
    )
    ids = torch.cat([judged[:, None], *_leaders(p, q, shares * p, at, has_q)], dim=1)
    batch = _summed(p, q, shares * p, at, ids)
    reach = [d.distributions.reach if leaf_first else None for d in decisions]
    return [_row(batch, i, has_q, reach[i]) for i in range(len(decisions))]


def _leaders(
    p: Tensor, q: Tensor, claimed: Tensor, soft: Tensor | None, has_q: bool
) -> list[Tensor]:
    """Return the ids of the tokens to list in addition to the candidate.

    Args:
        p: Target distributions, (d, V).
        q: Draft distributions, (d, V).
        claimed: The share of p that is assigned to the candidate, (d, V).
        soft: Softmax at temperature 1, (d, V), if decoding is greedy, or None.
        has_q: Whether the candidates were sampled from q.

    Returns:
        Token ids (d, k), one tensor for each relevant distribution.
    """
    few = min(LISTED, p.shape[-1])
    if soft is not None:  # p is one token
        return [p.argmax(dim=-1, keepdim=True), soft.topk(few, dim=-1).indices]
    if has_q:
        return [each.topk(few, dim=-1).indices for each in (p, q, (claimed - q).clamp(min=0.0))]
    # The residual is p without the candidate, so one longer list contains its largest values too.
    return [p.topk(min(2 * LISTED, p.shape[-1]), dim=-1).indices]


def _draft_probs(decision: Decision, tokens: Sequence[int]) -> Tensor:
    """Return q of a decision; a point mass gives the candidate probability 1."""
    if decision.distributions.q is not None:
        return decision.distributions.q
    mass = torch.zeros_like(decision.distributions.p)
    mass[tokens[decision.node]] = 1.0
    return mass


def _summed(
    p: Tensor, q: Tensor, claimed: Tensor, soft: Tensor | None, ids: Tensor
) -> dict[str, Any]:
    """Return the values of each quantity at `ids`, and its sum over all other tokens.

    Args:
        p: Target distributions, (d, V).
        q: Draft distributions, (d, V).
        claimed: The share of p that is assigned to the candidate, (d, V).
        soft: Softmax at temperature 1, (d, V), or None.
        ids: Listed token ids, (d, k).

    Returns:
        The values of p, q, overlap and residual by name, and their sums as "rest_...".
    """
    above = (claimed - q).clamp(min=0.0)
    quantities = {"p": p, "q": q, "both": torch.minimum(claimed, q), "above": above}
    if soft is not None:
        quantities["soft"] = soft
    stack = torch.stack(list(quantities.values()))
    where = ids.expand(len(quantities), *ids.shape)
    listed = stack.gather(-1, where).tolist()
    rest = stack.scatter(-1, where, 0.0).sum(-1).tolist()
    total = stack[2:4].sum(-1).tolist()
    batch: dict[str, Any] = {"ids": ids.tolist(), "size": p.shape[-1]}
    for i, name in enumerate(quantities):
        batch[name], batch["rest_" + name] = listed[i], rest[i]
    return batch | {"overlap": total[0], "residual": total[1]}


def _row(batch: dict[str, Any], i: int, has_q: bool, reach: float | None) -> Rows:
    """Return one decision of the batch, with each token once, sorted by p, then q, then id."""
    p, q, soft = batch["p"][i], batch["q"][i], batch.get("soft")
    first = {token: at for at, token in reversed(list(enumerate(batch["ids"][i])))}
    key = p if soft is None else soft[i]
    order = sorted(first, key=lambda token: (-key[first[token]], -q[first[token]], token))
    at = [first[token] for token in order]
    return Rows(
        tokens=order,
        p=[p[k] for k in at],
        q=[q[k] for k in at] if has_q else None,
        soft=None if soft is None else [soft[i][k] for k in at],
        rest_tokens=batch["size"] - len(order),
        rest_p=batch["rest_p"][i],
        rest_q=batch["rest_q"][i],
        rest_both=batch["rest_both"][i],
        rest_residual=batch["rest_above"][i],
        rest_soft=0.0 if soft is None else batch["rest_soft"][i],
        overlap=batch["overlap"][i],
        residual=batch["residual"][i],
        reach=reach,
    )


def most_likely(probs: Tensor, token: int) -> list[int]:
    """Return the most likely tokens of a distribution (V,), sorted by probability, then id.

    `token` is always included.
    """
    values, ids = probs.topk(min(DRAWN_LISTED, probs.shape[-1]))
    pairs = zip((-values).tolist(), ids.tolist(), strict=True)
    found = {(value, i) for value, i in pairs if value < 0}
    found.add((-probs[token].item(), token))
    return [i for _, i in sorted(found)]
