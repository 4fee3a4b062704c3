"""The rules beside each other: greedy match, the point mass, and speculative sampling.

All walk down from the root and draw one token more; they differ in the test and in what a
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

    For temperature 0: a candidate is kept when it is the target's top token. Every lossless rule
    gives this same text there; this one needs no coin and no q.
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
        """See `Rule`. The coins are kept in the decisions though none matters."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, tops = 0, [each.tolist() for each in to_host(*p.max(dim=-1))]
        while tree.children[node]:
            law, (sure, top) = NodeDistributions(p[node], None), (each[node] for each in tops)
            for child in tree.children[node]:
                inputs = {"p": sure if tree.tokens[child] == top else 0.0}
                decisions.append(decide(self.spec.name, child, chance.judge(child), inputs, law))
                if decisions[-1].accepted:
                    break
            else:
                break
            node = decisions[-1].node
            path.append(node)
        final = Draw(tops[1][node], chance.final(), 0.0, tops[0][node])
        return finish(decisions, path, p[node], chance, final)


class SiblingRejection:
    """Walks down and tries siblings in order; each that falls leaves another law for the next.

    None of these laws depends on a coin. So where the first sibling of a place fell, those of all
    others are made, and what is asked of them is read at once, with the draw that ends the round
    where no sibling is kept.
    """

    spec: RuleSpec
    parameters: Mapping[str, float]

    def after_rejection(self, law: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """The laws that the next sibling is judged by, where x fell."""
        raise NotImplementedError

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """See `Rule`. Where the rule reads q, it must hold every node with children."""
        judged = Judging(self.spec.name, self.parameters, chance)
        path: list[int] = []
        node, q = 0, q if self.spec.reads_q else {}
        first = first_sibling_inputs(tree, p, q)
        while kids := tree.children[node]:
            law = NodeDistributions(p[node], q.get(node))
            kept = judged.kept(kids[:1], [law], [first[node]])
            if kept is None:
                tokens = [tree.tokens[kid] for kid in kids]
                laws = list(
                    accumulate(tokens, partial(self.after_rejection, drawn=drawn), initial=law)
                )[1:]
                final, told = later_sibling_inputs(laws, tokens[1:], chance)
                kept = judged.kept(kids[1:], laws, told)
                if kept is None:
                    return finish(judged.decisions, path, laws[-1].p, chance, final)
            path.append(kept)
            node = kept
        return finish(judged.decisions, path, p[node], chance)


@dataclass(frozen=True, slots=True)
class Judging:
    """One round's decisions by a rule of this name, set to these dials."""

    name: str
    parameters: Mapping[str, float]
    chance: UniformSource
    decisions: list[Decision] = field(default_factory=list)

    def kept(
        self, siblings: Sequence[int], laws: Sequence[NodeDistributions], told: Sequence[Inputs]
    ) -> int | None:
        """Let coins fall on siblings in order, until one is kept. told: p and q of each."""
        for child, law, facts in zip(siblings, laws, told, strict=False):
            u = self.chance.judge(child)
            self.decisions.append(decide(self.name, child, u, {**facts, **self.parameters}, law))
            if self.decisions[-1].accepted:
                return child
        return None


class PointMass(SiblingRejection):
    """Walks down; q is never read.

    For candidates fixed beforehand: keep x with probability p(x), otherwise mask x. An argmax, a
    top-k, a looked-up n-gram has no q: it is a point mass. Keeping with p(x) and taking x out of p
    on a rejection gives p for *every* proposal, so it is exact on sampled candidates too, only
    wasteful (SGLang's kernel, EAGLE-2/3's `qx = 1`; SafeAILab/EAGLE issues 93, 171, 329).
    """

    spec = RULE_SPECS["point-mass"]
    parameters: Mapping[str, float] = MappingProxyType({})

    def after_rejection(self, law: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """See `SiblingRejection`: x is masked."""
        return NodeDistributions(remove_token(law.p, x), None)


class RecursiveRejection(SiblingRejection):
    """One rule for both kinds of sampled siblings; they differ in what a rejection does to q.

    Speculative sampling on a chain (Leviathan et al. 2211.17192, Chen et al. 2302.01318): keep x
    drawn from q with probability min(1, p/q); at the first rejection draw from the residual
    (p − q)₊. With siblings each rejection leaves a residual that the next one is judged by:
    independent draws as in SpecInfer 2305.09781, without replacement as in 2402.14160, 2401.06706
    and EAGLE-1. Lossless on average over drafts, which must be real samples of the q given. Proof
    at one place: x is kept as itself with q min(1, p/q) = min(p, q), and what falls, 1 − Σ min(p,
    q) = Σ (p − q)₊, is drawn from just that residual; the two add up to p.

    dials: of the lossy kinds, which differ in the test alone. Lenience keeps more of the draft's
    favourites: out ≤ p/l. The ensemble's v = w p + (1 − w) q leaves the residual as it is, since
    v − q = w (p − q), and gives v exactly, so TV = (1 − w) TV(p, q).
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = {dial.name: dial.usual for dial in self.spec.parameters} | dict(
            parameters or {}
        )

    def after_rejection(self, law: NodeDistributions, x: int, drawn: Drawn) -> NodeDistributions:
        """See `SiblingRejection`: p leaves its residual; q loses x where it is drawn without replacement."""
        assert law.q is not None
        left = residual(law.p, law.q)
        return NodeDistributions(left, remove_token(law.q, x) if self._masks(drawn) else law.q)

    def _masks(self, drawn: Drawn) -> bool:
        """Whether q loses each candidate that fell: as drawn, where the rule takes both kinds."""
        kinds = self.spec.accepts
        return Drawn.WITHOUT_REPLACEMENT in (kinds if len(kinds) == 1 else {drawn})


def first_sibling_inputs(tree: DraftTree, p: Tensor, q: Mapping[int, Tensor]) -> dict[int, Inputs]:
    """By node with children, p of its first child, and q where there is one: all read at once."""
    firsts = {node: tree.tokens[kids[0]] for node, kids in enumerate(tree.children) if kids}
    if not firsts:
        return {}
    laws = [[p[node, x] for node, x in firsts.items()]]
    laws += [[q[node][x] for node, x in firsts.items()]] if q else []
    pairs = zip(*(each.tolist() for each in to_host(*map(torch.stack, laws))), strict=True)
    told = [dict(zip("pq", pair, strict=False)) for pair in pairs]
    return dict(zip(firsts, told, strict=True))


def later_sibling_inputs(
    laws: Sequence[NodeDistributions], tokens: Sequence[int], chance: UniformSource
) -> tuple[Draw, list[Inputs]]:
    """The draw that ends the round where all fell, and p and q of each token: read at once.

    laws: those that each of these tokens is judged by, and at last what all of them leave.
    """
    pairs = [
        [part[x] for part in (law.p, law.q) if part is not None]
        for law, x in zip(laws, tokens, strict=False)
    ]
    final, told = draw_and_read(laws[-1].p, chance.final(), *chain.from_iterable(pairs))
    found = iter(told)
    return final, [dict(zip("pq", [next(found) for _ in pair], strict=False)) for pair in pairs]
