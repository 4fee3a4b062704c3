"""Greedy match, for temperature 0: keep a candidate when it is the target's top token.

Every lossless rule gives this same text at temperature 0; this one needs no coin and no q.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from specviz.tree import DraftTree
from specviz.verification.base import Coins, Decision, Drawn, Law, Verdict, decide, finish


class Greedy:
    """Walks down along the target's top tokens; p must be one-hot."""

    name = "greedy"
    accepts = frozenset(Drawn)
    lossless = True
    temperature_zero = True

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`. The coins are kept in the decisions though none matters."""
        decisions: list[Decision] = []
        path: list[int] = []
        node = 0
        while tree.children[node]:
            law = Law(p[node], None)
            for child in tree.children[node]:
                inputs = {"p": law.p[tree.tokens[child]].item()}
                decisions.append(decide(self.name, child, chance.judge(child), inputs, law))
                if decisions[-1].accepted:
                    break
            else:
                break
            node = decisions[-1].node
            path.append(node)
        return finish(decisions, path, p[node], chance)
