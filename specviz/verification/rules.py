"""The rules beside each other: greedy match, the point mass, and speculative sampling.

All walk down from the root and draw one token more; they differ in the test and in what a
rejection leaves of p and q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from specviz.trace.promises import PROMISES, Drawn
from specviz.verification.base import Coins, Decision, Law, Verdict, decide, finish
from specviz.verification.crossing import read, upload
from specviz.verification.distributions import residual, without
from specviz.verification.tree import DraftTree


class Greedy:
    """Walks down along the target's top tokens; p must be one-hot.

    For temperature 0: a candidate is kept when it is the target's top token. Every lossless rule
    gives this same text there; this one needs no coin and no q.
    """

    promise = PROMISES["greedy"]

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`. The coins are kept in the decisions though none matters."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, said = 0, chances(tree, p)
        while tree.children[node]:
            law = Law(p[node], None)
            for child in tree.children[node]:
                inputs = {"p": said[child]}
                decisions.append(decide(self.promise.name, child, chance.judge(child), inputs, law))
                if decisions[-1].accepted:
                    break
            else:
                break
            node = decisions[-1].node
            path.append(node)
        return finish(decisions, path, p[node], chance)


class PointMass:
    """Walks down; q is never read.

    For candidates fixed beforehand: keep x with probability p(x), otherwise mask x. An argmax, a
    top-k, a looked-up n-gram has no q: it is a point mass. Keeping with p(x) and taking x out of p
    on a rejection gives p for *every* proposal, so it is exact on sampled candidates too, only
    wasteful (SGLang's kernel, EAGLE-2/3's `qx = 1`; SafeAILab/EAGLE issues 93, 171, 329).
    """

    promise = PROMISES["point-mass"]

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, left, said = 0, p[0], chances(tree, p)
        while tree.children[node]:
            for child in tree.children[node]:
                x = tree.tokens[child]
                first = child == tree.children[node][0]
                inputs = {"p": said[child] if first else left[x].item()}
                law = Law(left, None)
                decisions.append(decide(self.promise.name, child, chance.judge(child), inputs, law))
                if decisions[-1].accepted:
                    break
                left = without(left, x)
            else:
                return finish(decisions, path, left, chance)
            node = decisions[-1].node
            path.append(node)
            left = p[node]
        return finish(decisions, path, left, chance)


class RecursiveRejection:
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

    def __init__(self, name: str, dials: Mapping[str, float] | None = None) -> None:
        self.promise = PROMISES[name]
        self.dials = {dial.name: dial.usual for dial in self.promise.dials} | dict(dials or {})

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`. Walks down from the root; q must hold every node with children."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, left, first = 0, p[0], openings(tree, p, q)
        while tree.children[node]:
            tries = [(child, tree.tokens[child]) for child in tree.children[node]]
            law = Law(p[node], q[node])
            masked = self._masks(drawn)
            kept, left = self._siblings(tries, law, (first[node], masked), chance, decisions)
            if kept is None:
                return finish(decisions, path, left, chance)
            path.append(kept)
            node, left = kept, p[kept]
        return finish(decisions, path, left, chance)

    def _masks(self, drawn: Drawn) -> bool:
        """Whether q loses each candidate that fell: as drawn, where the rule takes both kinds."""
        kinds = self.promise.accepts
        return Drawn.WITHOUT_REPLACEMENT in (kinds if len(kinds) == 1 else {drawn})

    def _siblings(
        self,
        tries: Sequence[tuple[int, int]],
        law: Law,
        opening: tuple[tuple[float, float], bool],
        chance: Coins,
        decisions: list[Decision],
    ) -> tuple[int | None, Tensor]:
        """Try siblings, each a node and its token, in order: the one kept, and what is left of p.

        opening: p and q of the first of them, which no rejection has changed; and whether q loses
        each one that fell.
        """
        (left, guess), (first, masked) = (law.p, law.q), opening
        assert guess is not None
        for place, (child, x) in enumerate(tries):
            p, q = (one.item() for one in read(left[x], guess[x])) if place else first
            inputs = {"p": p, "q": q, **self.dials}
            decision = decide(
                self.promise.name, child, chance.judge(child), inputs, Law(left, guess)
            )
            decisions.append(decision)
            if decision.accepted:
                return child, left
            left = residual(left, guess)
            if masked:
                guess = without(guess, x)
        return None, left


def chances(tree: DraftTree, p: Tensor) -> list[float]:
    """By node, its token's probability by the target's law after its parent; 0 for the root."""
    if len(tree) == 1:
        return [0.0]
    parents, tokens = upload([tree.parents[1:], tree.tokens[1:]], p.device)
    found: list[float] = p[parents, tokens].tolist()
    return [0.0, *found]


def openings(tree: DraftTree, p: Tensor, q: Mapping[int, Tensor]) -> dict[int, tuple[float, float]]:
    """By node with children, p and q of its first child, all read at once."""
    firsts = {node: tree.tokens[kids[0]] for node, kids in enumerate(tree.children) if kids}
    if not firsts:
        return {}
    target = torch.stack([p[node, x] for node, x in firsts.items()])
    draft = torch.stack([q[node][x] for node, x in firsts.items()])
    pairs = zip(*(each.tolist() for each in read(target, draft)), strict=True)
    return dict(zip(firsts, pairs, strict=True))
