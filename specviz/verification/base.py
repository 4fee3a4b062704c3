"""What a rule is: a judge of a whole draft tree, pure in (tree, p, q, coins).

The one idea of the subject: the rule must match the way the candidates were drawn. What each
rule accepts and promises stands in `trace.rule_specs`, since a re-check asks it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from torch import Tensor

from specviz.trace.rule_specs import Drawn, RuleSpec
from specviz.trace.thresholds import THRESHOLDS
from specviz.verification.distributions import Draw, draw
from specviz.verification.tree import DraftTree


class MismatchedRule(ValueError):
    """A rule and a proposal that would not be lossless together."""


def refuse_tree(promise: RuleSpec) -> None:
    """Raise MismatchedRule for the one rule that judges chains only."""
    if promise.name == "block":
        raise MismatchedRule(
            "Block verification judges chains, and this drafter proposes a tree: the rule "
            "'traversal' is the same on trees."
        )


class UniformSource(Protocol):
    """What a rule asks of chance; `specviz.settings.chance.Chance` gives it."""

    def judge(self, node: int) -> float:
        """The number in [0, 1) that decides about `node`."""
        ...

    def final(self) -> float:
        """The number in [0, 1) that draws the token which ends the round."""
        ...


@dataclass(frozen=True, slots=True)
class NodeDistributions:
    """The laws in force when a node was judged: p (V,), and q (V,) or None for a point mass.

    reach: the share of p that can be claimed there; less than 1 only where judging goes from the
    leaf up (see `leaf_first`).
    """

    p: Tensor
    q: Tensor | None
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class Decision:
    """One coin fell: `node` is kept when u < threshold. inputs: what the threshold follows from."""

    node: int
    u: float
    threshold: float
    inputs: Mapping[str, float]
    distributions: NodeDistributions = field(compare=False, repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the coin fell on the side of keeping."""
        return self.u < self.threshold


@dataclass(frozen=True, slots=True)
class Final:
    """The token that ends the round: drawn from `law` (V,) after node `parent`."""

    parent: int
    kind: Literal["recovered", "bonus", "plain"]
    drawn: Draw
    probs: Tensor = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decisions in the order made; path: the accepted nodes, root left out; then one token more."""

    decisions: tuple[Decision, ...]
    path: tuple[int, ...]
    final: Final


class Rule(Protocol):
    """Whole-tree, since block and traversal verification go leaf first."""

    spec: RuleSpec

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """p (n, V): by node, the law of what follows it. q: by parent, the law of its children."""
        ...


def decide(
    rule: str, node: int, u: float, inputs: Mapping[str, float], law: NodeDistributions
) -> Decision:
    """Let the coin u fall on `node`, with the rule's own test."""
    return Decision(node, u, THRESHOLDS[rule](inputs), inputs, law)


def finish(
    decisions: list[Decision],
    path: list[int],
    law: Tensor,
    chance: UniformSource,
    drawn: Draw | None = None,
) -> Verdict:
    """Draw the token that ends the round, and name what it is.

    Plain where nothing was judged, a bonus where the walk ended on a leaf, recovered otherwise.
    drawn: the draw, where it was made already.
    """
    kind: Literal["recovered", "bonus", "plain"] = "plain"
    if decisions:
        kind = "bonus" if decisions[-1].accepted else "recovered"
    parent = path[-1] if path else 0
    final = Final(parent, kind, drawn or draw(law, chance.final()), law)
    return Verdict(tuple(decisions), tuple(path), final)
