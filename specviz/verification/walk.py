"""The walk that several rules share: down the tree, testing siblings in order.

A subclass defines what its test reads, what a rejection leaves for the next sibling, and what the
round's last token is sampled from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from specviz.trace.rule_specs import RULE_SPECS, Drawn
from specviz.verification.base import (
    Decision,
    NodeDistributions,
    UniformSource,
    Verdict,
    decide,
    finish,
)
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree

Inputs = dict[str, float]


class Walk:
    """A rule that tries the siblings of a position in order and continues from the accepted one.

    Args:
        name: The rule's name.
        parameters: The rule's parameters; missing ones have their defaults. They are among the
            inputs of every decision.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = self.spec.defaults() | dict(parameters or {})

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Return what the test reads of a position's distributions, for any candidate."""
        return {}

    def candidate_inputs(self, dists: NodeDistributions, token: int, extra: Inputs) -> Inputs:
        """Return what the test reads of a candidate: p, and q if the rule reads it."""
        if dists.q is None:
            return {"p": dists.p[token].item()}
        p, q = (one.item() for one in to_host(dists.p[token], dists.q[token]))
        return {"p": p, "q": q}

    def after_rejection(
        self, dists: NodeDistributions, token: int, extra: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """Return distributions and inputs for the next candidate; by default they are unchanged."""
        return dists, extra

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Return the distribution (V,) of the last token if all candidates were rejected; p."""
        return dists.p

    def bonus_probs(self, p: Tensor) -> Tensor:
        """Return the distribution (V,) of the last token if all guesses were accepted; p."""
        return p

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. If the rule reads q, it must have every node with children."""
        decisions: list[Decision] = []
        path: list[int] = []
        node = 0
        while tree.children[node]:
            dists = NodeDistributions(p[node], q[node] if self.spec.reads_q else None)
            accepted, left = self._siblings(tree, node, dists, chance, decisions)
            if accepted is None:
                return finish(decisions, path, left, chance)
            path.append(accepted)
            node = accepted
        last = self.bonus_probs(p[node]) if decisions else p[node]
        return finish(decisions, path, last, chance)

    def _siblings(
        self,
        tree: DraftTree,
        node: int,
        dists: NodeDistributions,
        chance: UniformSource,
        decisions: list[Decision],
    ) -> tuple[int | None, Tensor]:
        """Try a node's children in order.

        Returns:
            The accepted child or None, and the distribution of the last token.
        """
        name, children = self.spec.name, tree.children[node]
        extra = self.extra_inputs(dists, len(children))
        for child in children:
            x = tree.tokens[child]
            inputs: dict[str, Any] = {
                **self.candidate_inputs(dists, x, extra),
                **extra,
                **self.parameters,
            }
            decisions.append(decide(name, child, chance.judge(child), inputs, dists))
            if decisions[-1].accepted:
                return child, dists.p
            dists, extra = self.after_rejection(dists, x, extra)
        return None, self.final_probs(dists, extra)
