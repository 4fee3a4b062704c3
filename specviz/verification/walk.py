"""What rules have in common that walk down a tree and try siblings by one kind of test.

A rule says what its test reads at a place, what a fallen candidate leaves for the next one, and
what the round's last token is drawn from.
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
    """A rule that tries the siblings of a place in order, and goes on from the one kept.

    dials: what it is set to, by name; they stand among every decision's inputs.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = {dial.name: dial.usual for dial in self.spec.parameters} | dict(
            parameters or {}
        )

    def extra_inputs(self, law: NodeDistributions, candidates: int) -> Inputs:
        """What the test reads of a place's laws, whichever candidate is on trial."""
        return {}

    def candidate_inputs(self, law: NodeDistributions, token: int, facts: Inputs) -> Inputs:
        """What the test reads of a candidate: p, and q where the rule reads it."""
        if law.q is None:
            return {"p": law.p[token].item()}
        p, q = (one.item() for one in to_host(law.p[token], law.q[token]))
        return {"p": p, "q": q}

    def after_rejection(
        self, law: NodeDistributions, token: int, facts: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """The laws and facts for the next candidate, where `token` fell. Here: as they were."""
        return law, facts

    def final_probs(self, law: NodeDistributions, facts: Inputs) -> Tensor:
        """The law (V,) of the last token where all candidates fell. Here: what is left of p."""
        return law.p

    def bonus_probs(self, p: Tensor) -> Tensor:
        """The law (V,) of the last token after guesses that were all kept. Here: p."""
        return p

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """See `Rule`. q must hold every node with children where the rule reads it."""
        decisions: list[Decision] = []
        path: list[int] = []
        node = 0
        while tree.children[node]:
            law = NodeDistributions(p[node], q[node] if self.spec.reads_q else None)
            kept, left = self._siblings(tree, node, law, chance, decisions)
            if kept is None:
                return finish(decisions, path, left, chance)
            path.append(kept)
            node = kept
        last = self.bonus_probs(p[node]) if decisions else p[node]
        return finish(decisions, path, last, chance)

    def _siblings(
        self,
        tree: DraftTree,
        node: int,
        law: NodeDistributions,
        chance: UniformSource,
        decisions: list[Decision],
    ) -> tuple[int | None, Tensor]:
        """Try a node's children in order: the one kept, and what else the last token's law is."""
        name, children = self.spec.name, tree.children[node]
        facts = self.extra_inputs(law, len(children))
        for child in children:
            x = tree.tokens[child]
            inputs: dict[str, Any] = {
                **self.candidate_inputs(law, x, facts),
                **facts,
                **self.parameters,
            }
            decisions.append(decide(name, child, chance.judge(child), inputs, law))
            if decisions[-1].accepted:
                return child, law.p
            law, facts = self.after_rejection(law, x, facts)
        return None, self.final_probs(law, facts)
