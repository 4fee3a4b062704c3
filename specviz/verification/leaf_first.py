"""Rules that judge a branch from its end: block verification, and traversal on trees.

An early weak guess may be bought back by later strong ones, so nothing is known of a node until all
below it fell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from specviz.trace.rule_specs import RULE_SPECS, Drawn
from specviz.verification.base import (
    Decision,
    Final,
    NodeDistributions,
    UniformSource,
    Verdict,
    decide,
    refuse_tree,
)
from specviz.verification.distributions import draw, normalize, remove_token
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
        self.spec = RULE_SPECS[name]

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """See `Rule`. Raises MismatchedRule where block verification meets a tree."""
        if not tree.is_chain:
            refuse_tree(self.spec)
        visit = _Visit(self, tree, drawn, p, q, chance)
        found = visit.below(0, 1.0)
        return visit.verdict(found.kept or 0, found.distributions.p)

    def after_rejection(self, left: float, reach: float, untried: float) -> float:
        """The reach that a fallen child leaves its node: S/(S + 1 − a), 0/0 being 1.

        left: S, of what is owed the sum. untried: the mass of q that was not tried yet; it does not
        matter, though it looks as if it might.
        """
        beyond = 1.0 - reach  # in one piece, so that a full reach stays exactly 1
        return left / (left + beyond) if left + beyond > 0.0 else 1.0


@dataclass(frozen=True, slots=True)
class _Found:
    """What a visit came to. kept: the node kept at or below, None where all fell. law: what the
    round's last token would be drawn from there. owed: what the node's own coin is held against.
    """

    kept: int | None
    distributions: NodeDistributions
    owed: dict[str, float]


@dataclass
class _Visit:
    """One walk over a tree; the decisions in the order made."""

    rule: LeafFirst
    tree: DraftTree
    drawn: Drawn
    p: Tensor
    q: Mapping[int, Tensor]
    chance: UniformSource
    decisions: list[Decision] = field(default_factory=list)

    def below(self, node: int, reach: float) -> _Found:
        """Visit a node's children, the node being come to with `reach`."""
        sampled = self.drawn is not Drawn.POINT_MASS
        law = NodeDistributions(self.p[node], self.q.get(node) if sampled else None, reach)
        owed, untried = {"reach": reach}, 1.0
        for child in self.tree.children[node]:
            x = self.tree.tokens[child]
            guess = self._guess(law, x)
            given = guess[x].item()
            found = self._try(child, law, law.p[x].item(), given)
            if found.kept is not None:
                return found
            rest = (law.reach * law.p - guess).clamp(min=0.0)
            left, untried = rest.sum().item(), untried - untried * given
            owed = {"reach": law.reach, "left": left}
            reach = self.rule.after_rejection(left, law.reach, untried)
            law = NodeDistributions(normalize(rest, law.p), self._without(law.q, x), reach)
        return _Found(None, law, owed)

    def _try(self, child: int, law: NodeDistributions, p: float, q: float) -> _Found:
        """A child that stands under `law`: first all below it, then its own coin.

        p, q: of its token; q is 1 where it was fixed beforehand.
        """
        own = law.reach * p
        found = self.below(child, min(1.0, own / q) if q > 0.0 else float(own > 0.0))
        if found.kept is not None:
            return found
        inputs = {"p": p} if law.q is None else {"p": p, "q": q}
        inputs |= found.owed
        name = self.rule.spec.name
        self.decisions.append(decide(name, child, self.chance.judge(child), inputs, law))
        return replace(found, kept=child if self.decisions[-1].accepted else None)

    def _guess(self, law: NodeDistributions, x: int) -> Tensor:
        """The law that candidate x was drawn from; all on x where it was fixed beforehand."""
        if law.q is not None:
            return law.q
        where = torch.tensor(x, device=law.p.device)
        return torch.zeros_like(law.p).index_fill_(0, where, 1.0)

    def _without(self, q: Tensor | None, x: int) -> Tensor | None:
        """q for the next candidate, where x fell."""
        if q is None or self.drawn is not Drawn.WITHOUT_REPLACEMENT:
            return q
        return remove_token(q, x)

    def verdict(self, kept: int, law: Tensor) -> Verdict:
        """The verdict: the path to the node kept, and the last token."""
        kind: Literal["recovered", "bonus", "plain"] = "plain"
        if self.decisions:
            kind = "recovered" if self.tree.children[kept] else "bonus"
        final = Final(kept, kind, draw(law, self.chance.final()), law)
        return Verdict(tuple(self.decisions), self.tree.path(kept)[1:], final)
