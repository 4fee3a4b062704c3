"""Speculative sampling, and recursive rejection where a node has several sampled candidates.

On a chain this is Leviathan et al. 2211.17192 and Chen et al. 2302.01318: keep x drawn from q with
probability min(1, p/q); at the first rejection draw from the residual (p − q)₊. With siblings each
rejection leaves a residual that the next one is judged by: independent draws as in SpecInfer
2305.09781, without replacement as in 2402.14160, 2401.06706 and EAGLE-1. Lossless on average over
drafts, which must be real samples of the q given.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from specviz.distributions import residual, without
from specviz.tree import DraftTree
from specviz.verification.base import Coins, Decision, Drawn, Law, Verdict, decide, finish


class RecursiveRejection:
    """One rule for both kinds of sampled siblings; they differ in what a rejection does to q."""

    lossless = True
    temperature_zero = False

    def __init__(self, name: str, drawn: Drawn) -> None:
        self.name = name
        self.accepts = frozenset({drawn})

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`. Walks down from the root; q must hold every node with children."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, left = 0, p[0]
        while tree.children[node]:
            kept, left = self._siblings(tree, node, Law(p[node], q[node]), chance, decisions)
            if kept is None:
                return finish(decisions, path, left, chance)
            path.append(kept)
            node, left = kept, p[kept]
        return finish(decisions, path, left, chance)

    def _siblings(
        self, tree: DraftTree, node: int, law: Law, chance: Coins, decisions: list[Decision]
    ) -> tuple[int | None, Tensor]:
        """Try the children of `node` in order: the one kept, and the law that is left of p."""
        left, guess = law.p, law.q
        assert guess is not None
        for child in tree.children[node]:
            x = tree.tokens[child]
            inputs = {"p": left[x].item(), "q": guess[x].item()}
            decision = decide(self.name, child, chance.judge(child), inputs, Law(left, guess))
            decisions.append(decision)
            if decision.accepted:
                return child, left
            left = residual(left, guess)
            if Drawn.WITHOUT_REPLACEMENT in self.accepts:
                guess = without(guess, x)
        return None, left
