"""Laws over a whole vocabulary as a few listed tokens and one sum for all others.

One rule: what is not listed is summed token by token, then kept as one number per law. (The min of
two lumped masses is not the overlap.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from specviz.trace.events import Rows
from specviz.verification import Decision
from specviz.verification.tree import DraftTree

LISTED = 8  # tokens listed of each law at a decision
DRAWN_LISTED = 12  # tokens listed of the law that the last token is drawn from


def decision_rows(
    decisions: Sequence[Decision], tree: DraftTree, soft: Tensor | None, leaf_first: bool = False
) -> list[Rows]:
    """The laws at every decision, in one batch. soft: (n, V), by node, at temperature 0 only.

    leaf_first: whether a share of p can be claimed, which the rows then keep.
    """
    if not decisions:
        return []
    p = torch.stack([decision.distributions.p for decision in decisions])
    q = torch.stack([_draft_law(decision, tree.tokens) for decision in decisions])
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
    """Ids (d, few) of the tokens worth listing beside the candidate, law by law.

    claimed: what can be claimed of p.
    """
    few = min(LISTED, p.shape[-1])
    if soft is not None:  # p is one token
        return [p.argmax(dim=-1, keepdim=True), soft.topk(few, dim=-1).indices]
    if has_q:
        return [law.topk(few, dim=-1).indices for law in (p, q, (claimed - q).clamp(min=0.0))]
    return [p.topk(min(2 * LISTED, p.shape[-1]), dim=-1).indices]  # the residual is p's own rest


def _draft_law(decision: Decision, tokens: Sequence[int]) -> Tensor:
    """q of a decision; for a point mass all mass sits on the candidate."""
    if decision.distributions.q is not None:
        return decision.distributions.q
    mass = torch.zeros_like(decision.distributions.p)
    mass[tokens[decision.node]] = 1.0
    return mass


def _summed(
    p: Tensor, q: Tensor, claimed: Tensor, soft: Tensor | None, ids: Tensor
) -> dict[str, Any]:
    """By law, its values at `ids` (d, k), the sum of all others and, where needed, of all."""
    above = (claimed - q).clamp(min=0.0)
    laws = {"p": p, "q": q, "both": torch.minimum(claimed, q), "above": above}
    if soft is not None:
        laws["soft"] = soft
    stack = torch.stack(list(laws.values()))
    where = ids.expand(len(laws), *ids.shape)
    listed = stack.gather(-1, where).tolist()
    rest = stack.scatter(-1, where, 0.0).sum(-1).tolist()
    total = stack[2:4].sum(-1).tolist()
    batch: dict[str, Any] = {"ids": ids.tolist(), "size": p.shape[-1]}
    for i, name in enumerate(laws):
        batch[name], batch["rest_" + name] = listed[i], rest[i]
    return batch | {"overlap": total[0], "residual": total[1]}


def _row(batch: dict[str, Any], i: int, has_q: bool, reach: float | None) -> Rows:
    """One decision of the batch: each listed token once, by falling p, then q, then id."""
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


def most_likely(law: Tensor, token: int) -> list[int]:
    """The top of a law (V,), by falling probability then id, and `token` among them."""
    values, ids = law.topk(min(DRAWN_LISTED, law.shape[-1]))
    pairs = zip((-values).tolist(), ids.tolist(), strict=True)
    found = {(value, i) for value, i in pairs if value < 0}
    found.add((-law[token].item(), token))
    return [i for _, i in sorted(found)]
