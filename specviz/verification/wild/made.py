"""Faulty rules out of sound parts: a test, and what is drawn from where it fell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from specviz.trace.rule_specs import ALL_KINDS, AfterRejection, Drawn, RuleSpec
from specviz.verification.base import Coins, Law, Rule, Verdict
from specviz.verification.distributions import without
from specviz.verification.tree import DraftTree
from specviz.verification.walk import Facts, Walk

Left = Callable[[Law, int], Tensor]


class Patched(Walk):
    """A walk with a known rule's test and another's leavings.

    test: the name of the rule whose test it uses. left: the law (V,) that a rejection of a token
    leaves of p, for what follows it.
    """

    def __init__(self, test: str, left: Left, reads_q: bool = True) -> None:
        self.spec = RuleSpec(test, ALL_KINDS, False, False, reads_q, AfterRejection.ITSELF)
        self.parameters = {}
        self.left = left

    def fell(self, law: Law, token: int, facts: Facts) -> tuple[Law, Facts]:
        """See `Walk`."""
        return Law(self.left(law, token), law.q), facts


def p_itself(law: Law, token: int) -> Tensor:
    """p, as if nothing had been tried."""
    return law.p


def without_it(law: Law, token: int) -> Tensor:
    """p without the token that fell."""
    return without(law.p, token)


class OneCoin:
    """A rule in which every test of a round reads the same number."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.spec = rule, rule.spec

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """See `Rule`."""
        return self.rule.judge(tree, drawn, p, q, Reused(chance))


@dataclass(frozen=True)
class Reused:
    """Coins of which there is only one, whichever node asks."""

    chance: Coins

    def judge(self, node: int) -> float:
        """The first node's coin."""
        return self.chance.judge(1)

    def final(self) -> float:
        """The draw's own."""
        return self.chance.final()
