"""Rules that judge from the leaf up: block verification, and traversal verification of trees.

Good later guesses can compensate for a poor early one: a node is decided only after everything
below it was rejected.
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
    Precomputed,
    PrecomputedRule,
    UniformSource,
    Verdict,
    decide,
    draw_at_every_node,
    refuse_tree,
)
from specviz.verification.distributions import Draw, draw, normalize, remove_token
from specviz.verification.tree import DraftTree


class LeafFirst(PrecomputedRule):
    """Traversal verification (2505.12398), which on a chain is block verification (2403.10444).

    A node is visited with its reach a: which share of the draft's probability of reaching the node
    is covered by the target's probability. It is 1 at the root and min(1, a p(x)/q(x)) at each
    child x. If nothing below it is accepted, let S = Σ (a p − q)₊ be the remaining mass: a becomes
    S/(S + 1 − a), p the normalized remainder, and q loses x if sampled without replacement. After
    all children were rejected, the node is accepted with probability a (the root always; 0/0 counts
    as 1), and the last token is sampled from the p that remains. A point mass has q = 1.

    Idea of the proof: a path of the draft is accepted with probability at most q · a ≤ p, and the
    residual supplies exactly the missing probability. The expected accepted length is at least that
    of testing token by token, and equal to it for γ = 1 and for point masses. The rule is lossless
    on average over drafts; a position that is drafted again in a later round must get new random
    numbers.
    """

    chains_only = True

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
        """Implement `Rule.judge`.

        Raises:
            MismatchedRule: If block verification is given a tree.
        """
        if not tree.is_chain:
            refuse_tree(self.spec)
        visit = _Visit(self, tree, drawn, p, q, chance)
        found = visit.below(0, 1.0)
        probs = found.distributions.p
        last = draw(probs, chance.final())
        return _verdict(tree, visit.decisions, found.accepted_node or 0, probs, last)

    def precompute(
        self, p: Tensor, q: Tensor | None, tokens: Tensor, u: Tensor, drawn: Drawn
    ) -> tuple[Tensor, ...]:
        """Implement `PrecomputedRule.precompute`: p and q of each token, reach and S are added."""
        index = tokens.clamp(min=0)
        q = torch.zeros_like(p).scatter(-1, index, 1.0) if q is None else q
        pair = torch.cat([p.gather(-1, index), q.gather(-1, index)], -1)
        reach = [torch.ones_like(pair[0, 0])]
        for chance, given in list(pair)[:-1]:
            own = reach[-1] * chance
            ratio = (own / given).clamp(max=1.0)
            reach.append(torch.where(given > 0.0, ratio, (own > 0.0).to(ratio.dtype)))
        reaches = torch.stack(reach)[:, None]
        rest = (reaches * p - q).clamp(min=0.0)
        last = torch.where(tokens < 0, p, normalize(rest, p))
        return draw_at_every_node(last, u, pair, reaches, rest.sum(-1, keepdim=True))

    def conclude(self, tree: DraftTree, found: Precomputed, chance: UniformSource) -> Verdict:
        """Implement `PrecomputedRule.conclude`."""
        decisions: list[Decision] = []
        node = len(tree) - 1
        while node:
            p, q, reach, _ = found.numbers[node - 1][3:]
            given = found.q.get(node - 1)
            inputs = {"p": p} if given is None else {"p": p, "q": q}
            inputs["reach"], left = found.numbers[node][5:]
            if decisions:
                inputs["left"] = left
            dists = NodeDistributions(found.p[node - 1], given, reach)
            u = chance.judge(node)
            decisions.append(decide(self.spec.name, node, u, inputs, dists))
            if decisions[-1].accepted:
                break
            node -= 1
        drawn = found.draw(node, chance.final())
        return _verdict(tree, decisions, node, found.last[node], drawn)

    def after_rejection(self, left: float, reach: float, untried: float) -> float:
        """Return the reach of a node after a child was rejected: S/(S + 1 − a), with 0/0 = 1.

        Args:
            left: S, the remaining mass.
            reach: a, the node's reach before the rejection.
            untried: The total q of the tokens that were not tested yet. Only a published variant
                uses it.
        """
        beyond = 1.0 - reach  # computed first, so that a reach of exactly 1 stays 1
        return left / (left + beyond) if left + beyond > 0.0 else 1.0


@dataclass(frozen=True, slots=True)
class _Found:
    # accepted_node: this node or one below it; None if all were rejected. distributions: the
    # node's; the last token would be sampled from their p. inputs: of the node's own threshold.
    accepted_node: int | None
    distributions: NodeDistributions
    inputs: dict[str, float]


@dataclass
class _Visit:
    # It collects the decisions in the order in which they are made.
    rule: LeafFirst
    tree: DraftTree
    drawn: Drawn
    p: Tensor
    q: Mapping[int, Tensor]
    chance: UniformSource
    decisions: list[Decision] = field(default_factory=list)

    def below(self, node: int, reach: float) -> _Found:
        sampled = self.drawn is not Drawn.POINT_MASS
        distributions = NodeDistributions(
            self.p[node], self.q.get(node) if sampled else None, reach
        )
        inputs, untried = {"reach": reach}, 1.0
        for child in self.tree.children[node]:
            x = self.tree.tokens[child]
            guess = self._guess(distributions, x)
            given = guess[x].item()
            found = self._try(child, distributions, distributions.p[x].item(), given)
            if found.accepted_node is not None:
                return found
            rest = (distributions.reach * distributions.p - guess).clamp(min=0.0)
            left, untried = rest.sum().item(), untried - untried * given
            inputs = {"reach": distributions.reach, "left": left}
            reach = self.rule.after_rejection(left, distributions.reach, untried)
            distributions = NodeDistributions(
                normalize(rest, distributions.p), self._without(distributions.q, x), reach
            )
        return _Found(None, distributions, inputs)

    def _try(self, child: int, distributions: NodeDistributions, p: float, q: float) -> _Found:
        # p, q: probabilities of its token; q is 1 for a point mass.
        own = distributions.reach * p
        found = self.below(child, min(1.0, own / q) if q > 0.0 else float(own > 0.0))
        if found.accepted_node is not None:
            return found
        inputs = {"p": p} if distributions.q is None else {"p": p, "q": q}
        inputs |= found.inputs
        name = self.rule.spec.name
        self.decisions.append(decide(name, child, self.chance.judge(child), inputs, distributions))
        return replace(found, accepted_node=child if self.decisions[-1].accepted else None)

    def _guess(self, distributions: NodeDistributions, x: int) -> Tensor:
        # One-hot for a point mass.
        if distributions.q is not None:
            return distributions.q
        index = torch.tensor(x, device=distributions.p.device)
        return torch.zeros_like(distributions.p).index_fill_(0, index, 1.0)

    def _without(self, q: Tensor | None, x: int) -> Tensor | None:
        if q is None or self.drawn is not Drawn.WITHOUT_REPLACEMENT:
            return q
        return remove_token(q, x)


def _verdict(
    tree: DraftTree, decisions: list[Decision], accepted_node: int, probs: Tensor, drawn: Draw
) -> Verdict:
    kind: Literal["recovered", "bonus", "plain"] = "plain"
    if decisions:
        kind = "recovered" if tree.children[accepted_node] else "bonus"
    final = Final(accepted_node, kind, drawn, probs)
    return Verdict(tuple(decisions), tree.path(accepted_node)[1:], final)
