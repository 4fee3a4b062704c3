"""Rules that judge a branch from its end: block verification, and traversal on trees.

An early weak guess may be bought back by later strong ones, so nothing is known of a node until all
below it fell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from specviz.trace.promises import PROMISES, Drawn
from specviz.verification.base import Coins, Decision, Final, Law, Verdict, decide
from specviz.verification.distributions import draw, scaled, without
from specviz.verification.tree import DraftTree


class LeafFirst:
    """Traversal verification (2505.12398), which on a chain is block verification (2403.10444).

    A node is visited with its reach a, 1 at the root: the share of the draft's chance of coming
    here that the target's chance can cover. Each child x is visited with min(1, a p(x)/q(x)); where
    nothing below it is kept, S = Σ (a p − q)₊ is what is still owed, a becomes S/(S + 1 − a), p
    what is owed, and q loses x where it is drawn without replacement. Once all children fell the
    node is kept with chance a (0/0 is 1), the root always, and the last token drawn from the p left
    there. A candidate that was fixed beforehand has q = 1.

    Idea of the proof: a draft's path is claimed with at most q · a ≤ p, and the residual gives
    exactly the rest. The expected accepted length is never less than token by token, and the same
    for γ = 1 and for point masses. Lossless on average over drafts; coins must not be reused from
    round to round by position.
    """

    def __init__(self, name: str) -> None:
        self.promise = PROMISES[name]

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`. Raises ValueError where block verification meets a tree."""
        if self.promise.name == "block" and not tree.is_chain:
            raise ValueError("Block verification judges chains; traversal is the same on trees.")
        visit = _Visit(self, tree, drawn, p, q, chance)
        kept, law = visit.below(0, 1.0)
        return visit.verdict(0 if kept is None else kept, law)

    def after(self, left: float, reach: float, untried: float) -> float:
        """The reach that a fallen child leaves its node: S/(S + 1 − a), 0/0 being 1.

        left: S, of what is owed the sum. untried: the mass of q that was not tried yet; it does not
        matter, though it looks as if it might.
        """
        return left / (left + 1.0 - reach) if left + 1.0 - reach > 0.0 else 1.0


@dataclass
class _Visit:
    """One walk over a tree; the decisions in the order made."""

    rule: LeafFirst
    tree: DraftTree
    drawn: Drawn
    p: Tensor
    q: Mapping[int, Tensor]
    chance: Coins
    decisions: list[Decision] = field(default_factory=list)

    def below(self, node: int, reach: float) -> tuple[int | None, Tensor]:
        """Visit a node with its reach: the node kept at or below it, and the last token's law."""
        p, inputs = self.p[node], {"reach": reach}
        q, untried = self.q.get(node), 1.0
        for child in self.tree.children[node]:
            x = self.tree.tokens[child]
            guess = self._guess(q, p, x)
            own = reach * p[x].item()
            given = guess[x].item()
            kept, law = self.below(child, min(1.0, own / given) if given > 0.0 else float(own > 0))
            if kept is not None:
                return kept, law
            owed = (reach * p - guess).clamp(min=0.0)
            left, untried = owed.sum().item(), untried - untried * given
            inputs = {"reach": reach, "left": left}
            p, reach = scaled(owed, p), self.rule.after(left, reach, untried)
            if q is not None and self.drawn is Drawn.WITHOUT_REPLACEMENT:
                q = without(q, x)
        return self._own(node, inputs, Law(p, q)), p

    def _guess(self, q: Tensor | None, p: Tensor, x: int) -> Tensor:
        """The law that candidate x was drawn from; all on x where it was fixed beforehand."""
        if q is not None and self.drawn is not Drawn.POINT_MASS:
            return q
        return torch.zeros_like(p).index_fill_(0, torch.tensor(x, device=p.device), 1.0)

    def _own(self, node: int, inputs: dict[str, float], law: Law) -> int | None:
        """The node's own coin, where all below it fell."""
        if not node:
            return None
        name = self.rule.promise.name
        self.decisions.append(decide(name, node, self.chance.judge(node), inputs, law))
        return node if self.decisions[-1].accepted else None

    def verdict(self, kept: int, law: Tensor) -> Verdict:
        """The verdict: the path to the node kept, and the last token."""
        kind: Literal["recovered", "bonus", "plain"] = "plain"
        if self.decisions:
            kind = "recovered" if self.tree.children[kept] else "bonus"
        final = Final(kept, kind, draw(law, self.chance.final()), law)
        return Verdict(tuple(self.decisions), self.tree.path(kept)[1:], final)
