"""Greedy match, the point-mass rule, and speculative sampling with siblings.

All walk down from the root and sample one more token. They differ in the test and in what a
rejection leaves of p and q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from types import MappingProxyType

import torch
from torch import Tensor

from specviz.trace.rule_specs import RULE_SPECS, Drawn, RuleSpec
from specviz.verification.base import (
    Decision,
    NodeDistributions,
    UniformSource,
    Verdict,
    decide,
    finish,
)
from specviz.verification.distributions import Draw, draw_and_read, remove_token, residual
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree

Inputs = dict[str, float]


class Greedy:
    """Walks down along the target's top tokens; p must be one-hot.

    For temperature 0: a candidate is accepted if it is the target's top token. Every lossless rule
    gives the same text there; this one needs no u and no q.
    """

    spec = RULE_SPECS["greedy"]

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. Decisions record u although it does not matter."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, tops = 0, [each.tolist() for each in to_host(*p.max(dim=-1))]
        while tree.children[node]:
            dists, (sure, top) = NodeDistributions(p[node], None), (each[node] for each in tops)
            for child in tree.children[node]:
                inputs = {"p": sure if tree.tokens[child] == top else 0.0}
                decisions.append(decide(self.spec.name, child, chance.judge(child), inputs, dists))
                if decisions[-1].accepted:
                    break
            else:
                break
            node = decisions[-1].node
            path.append(node)
        final = Draw(tops[1][node], chance.final(), 0.0, tops[0][node])
        return finish(decisions, path, p[node], chance, final)


class SiblingRejection:
    """Walks down and tries siblings in order; each rejection changes p and q for the next sibling.

    These distributions do not depend on u. So after the first sibling of a position is rejected,
    those of all others are computed, and the values needed are read in one transfer, with the draw
    that ends the round if no sibling is accepted.
    """

    spec: RuleSpec
    parameters: Mapping[str, float]

    def after_rejection(self, dists: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """Return the distributions for the next sibling after x was rejected."""
        raise NotImplementedError

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. If the rule reads q, it must have every node with children."""
        judged = Judging(self.spec.name, self.parameters, chance)
        path: list[int] = []
        node, q = 0, q if self.spec.reads_q else {}
        first = first_sibling_inputs(tree, p, q)
        while kids := tree.children[node]:
            dists = NodeDistributions(p[node], q.get(node))
            accepted_node = judged.first_accepted(kids[:1], [dists], [first[node]])
            if accepted_node is None:
                tokens = [tree.tokens[kid] for kid in kids]
                rejections = list(
                    accumulate(tokens, partial(self.after_rejection, drawn=drawn), initial=dists)
                )[1:]
                final, inputs = later_sibling_inputs(rejections, tokens[1:], chance)
                accepted_node = judged.first_accepted(kids[1:], rejections, inputs)
                if accepted_node is None:
                    return finish(judged.decisions, path, rejections[-1].p, chance, final)
            path.append(accepted_node)
            node = accepted_node
        return finish(judged.decisions, path, p[node], chance)


@dataclass(frozen=True, slots=True)
class Judging:
    """The decisions of one round.

    Attributes:
        name: The rule's name.
        parameters: The rule's parameters.
        chance: The random numbers.
        decisions: The decisions so far.
    """

    name: str
    parameters: Mapping[str, float]
    chance: UniformSource
    decisions: list[Decision] = field(default_factory=list)

    def first_accepted(
        self,
        siblings: Sequence[int],
        distributions: Sequence[NodeDistributions],
        inputs: Sequence[Inputs],
    ) -> int | None:
        """Decide siblings in order until one is accepted; return it, or None.

        Args:
            siblings: Their nodes.
            distributions: The distributions that each is judged by.
            inputs: p and q of each.
        """
        for child, dists, own in zip(siblings, distributions, inputs, strict=False):
            u = self.chance.judge(child)
            self.decisions.append(decide(self.name, child, u, {**own, **self.parameters}, dists))
            if self.decisions[-1].accepted:
                return child
        return None


class PointMass(SiblingRejection):
    """Walks down without reading q, for candidates that were not sampled.

    Accept x with probability p(x), otherwise remove x from p. An argmax, a top-k or a looked-up
    n-gram has no q: it is a point mass. Accepting with p(x) and removing x after a rejection gives
    p for *every* proposal, so the rule is also exact for sampled candidates, but accepts fewer
    (SGLang's kernel, EAGLE-2/3's `qx = 1`; SafeAILab/EAGLE issues 93, 171, 329).
    """

    spec = RULE_SPECS["point-mass"]
    parameters: Mapping[str, float] = MappingProxyType({})

    def after_rejection(self, dists: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """Implement `SiblingRejection.after_rejection`: x is removed."""
        return NodeDistributions(remove_token(dists.p, x), None)


class RecursiveRejection(SiblingRejection):
    """Speculative sampling for both kinds of sampled siblings, and its lossy variants.

    On a chain (Leviathan et al. 2211.17192, Chen et al. 2302.01318): accept x sampled from q with
    probability min(1, p/q); at the first rejection sample from the residual (p − q)₊. With
    siblings, each rejection leaves a residual that the next one is judged by: independent draws as
    in SpecInfer 2305.09781, without replacement as in 2402.14160, 2401.06706 and EAGLE-1. It is
    lossless on average over drafts, which must be real samples of the q given. Proof at one
    position: x is accepted as itself with q min(1, p/q) = min(p, q), and the rejected mass, 1 − Σ
    min(p, q) = Σ (p − q)₊, is sampled from exactly that residual; the two add up to p.

    The lossy variants differ only in the test. Lenience accepts more of the tokens that the draft
    prefers: output ≤ p/l. The ensemble's v = w p + (1 − w) q leaves the same residual, since v − q
    = w (p − q), and gives v exactly, so TV = (1 − w) TV(p, q).

    Args:
        name: The rule's name.
        parameters: The rule's parameters; missing ones have their defaults.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = self.spec.defaults() | dict(parameters or {})

    def after_rejection(self, dists: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """Implement `SiblingRejection.after_rejection`.

        p becomes the residual; q loses x if it was sampled without replacement.
        """
        assert dists.q is not None
        left = residual(dists.p, dists.q)
        q = remove_token(dists.q, x) if self._masks(drawn) else dists.q
        return NodeDistributions(left, q)

    def _masks(self, drawn: Drawn) -> bool:
        """Return whether q loses rejected candidates; a rule for both kinds follows the draft."""
        kinds = self.spec.accepts
        return Drawn.WITHOUT_REPLACEMENT in (kinds if len(kinds) == 1 else {drawn})


def first_sibling_inputs(tree: DraftTree, p: Tensor, q: Mapping[int, Tensor]) -> dict[int, Inputs]:
    """Return p (and q, if given) of the first child of each node, read in one transfer."""
    firsts = {node: tree.tokens[kids[0]] for node, kids in enumerate(tree.children) if kids}
    if not firsts:
        return {}
    values = [[p[node, x] for node, x in firsts.items()]]
    values += [[q[node][x] for node, x in firsts.items()]] if q else []
    pairs = zip(*(each.tolist() for each in to_host(*map(torch.stack, values))), strict=True)
    inputs = [dict(zip("pq", pair, strict=False)) for pair in pairs]
    return dict(zip(firsts, inputs, strict=True))


def later_sibling_inputs(
    rejections: Sequence[NodeDistributions], tokens: Sequence[int], chance: UniformSource
) -> tuple[Draw, list[Inputs]]:
    """Return the draw that ends the round if all are rejected, and p and q of each token.

    Args:
        rejections: The distributions that each token is judged by, then those that all of them
            leave.
        tokens: The tokens.
        chance: The random numbers.
    """
    pairs = [
        [part[x] for part in (dists.p, dists.q) if part is not None]
        for dists, x in zip(rejections, tokens, strict=False)
    ]
    final, values = draw_and_read(rejections[-1].p, chance.final(), *chain.from_iterable(pairs))
    found = iter(values)
    return final, [dict(zip("pq", [next(found) for _ in pair], strict=False)) for pair in pairs]
