"""Faulty rules out of sound parts: a test, and what is drawn from where it fell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from specviz.trace.rule_specs import ALL_KINDS, AfterRejection, Drawn, RuleSpec
from specviz.verification.base import NodeDistributions, Rule, UniformSource, Verdict
from specviz.verification.distributions import remove_token
from specviz.verification.tree import DraftTree
from specviz.verification.walk import Inputs, Walk

Replacement = Callable[[NodeDistributions, int], Tensor]


class PatchedRule(Walk):
    """A walk with a known rule's test and another's leavings.

    test: the name of the rule whose test it uses. left: the law (V,) that a rejection of a token
    leaves of p, for what follows it.
    """

    def __init__(self, test: str, left: Replacement, reads_q: bool = True) -> None:
        self.spec = RuleSpec(test, ALL_KINDS, False, False, reads_q, AfterRejection.ITSELF)
        self.parameters = {}
        self.left = left

    def after_rejection(
        self, law: NodeDistributions, token: int, facts: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """See `Walk`."""
        return NodeDistributions(self.left(law, token), law.q), facts


def p_itself(law: NodeDistributions, token: int) -> Tensor:
    """p, as if nothing had been tried."""
    return law.p


def p_without_token(law: NodeDistributions, token: int) -> Tensor:
    """p without the token that fell."""
    return remove_token(law.p, token)


class ReusedUniform:
    """A rule in which every test of a round reads the same number."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.spec = rule, rule.spec

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """See `Rule`."""
        return self.rule.judge(tree, drawn, p, q, OneUniform(chance))


@dataclass(frozen=True)
class OneUniform:
    """Coins of which there is only one, whichever node asks."""

    chance: UniformSource

    def judge(self, node: int) -> float:
        """The first node's coin."""
        return self.chance.judge(1)

    def final(self) -> float:
        """The draw's own."""
        return self.chance.final()
