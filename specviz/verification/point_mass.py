"""The rule for candidates fixed beforehand: keep x with probability p(x), otherwise mask x.

An argmax, a top-k, a looked-up n-gram has no q: it is a point mass. Keeping with p(x) and taking
x out of p on a rejection gives p for *every* proposal, so it is exact on sampled candidates too,
only wasteful (SGLang's kernel, EAGLE-2/3's `qx = 1`; SafeAILab/EAGLE issues 93, 171, 329).
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from specviz.distributions import without
from specviz.tree import DraftTree
from specviz.verification.base import Coins, Decision, Drawn, Law, Verdict, decide, finish


class PointMass:
    """Walks down; q is never read."""

    name = "point-mass"
    accepts = frozenset(Drawn)
    lossless = True
    temperature_zero = False

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, left = 0, p[0]
        while tree.children[node]:
            for child in tree.children[node]:
                x = tree.tokens[child]
                inputs = {"p": left[x].item()}
                law = Law(left, None)
                decisions.append(decide(self.name, child, chance.judge(child), inputs, law))
                if decisions[-1].accepted:
                    break
                left = without(left, x)
            else:
                return finish(decisions, path, left, chance)
            node = decisions[-1].node
            path.append(node)
            left = p[node]
        return finish(decisions, path, left, chance)
