"""The interface of rules: a rule judges a whole draft tree as a pure function of tree, p, q and u.

A rule must match the way the candidates were sampled. What each rule accepts and guarantees is in
`trace.rule_specs`, since `check` needs it too.
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


def refuse_tree(spec: RuleSpec) -> None:
    """Raise MismatchedRule for block verification, which judges only chains."""
    if spec.name == "block":
        raise MismatchedRule(
            "Block verification judges chains, but this drafter proposes a tree. The rule "
            "'traversal' does the same on trees."
        )


class UniformSource(Protocol):
    """The random numbers that a rule uses; `specviz.settings.chance.Chance` provides them."""

    def judge(self, node: int) -> float:
        """Return the number in [0, 1) that decides about `node`."""
        ...

    def final(self) -> float:
        """Return the number in [0, 1) that samples the round's last token."""
        ...


@dataclass(frozen=True, slots=True)
class NodeDistributions:
    """The distributions in force when a node was judged.

    Attributes:
        p: The target's, (V,).
        q: The draft's, (V,); None for a point mass.
        reach: The share of p that is available; less than 1 only for rules that judge from the leaf
            up (see `leaf_first`).
    """

    p: Tensor
    q: Tensor | None
    reach: float = 1.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a node: it is accepted if u < threshold.

    Attributes:
        node: The node.
        u: The random number.
        threshold: What u is compared with.
        inputs: The numbers that the threshold is computed from.
        distributions: The distributions in force.
    """

    node: int
    u: float
    threshold: float
    inputs: Mapping[str, float]
    distributions: NodeDistributions = field(compare=False, repr=False)

    @property
    def accepted(self) -> bool:
        """Whether the node was accepted."""
        return self.u < self.threshold


@dataclass(frozen=True, slots=True)
class Final:
    """The token that ends the round, sampled from `probs` (V,) after node `parent`."""

    parent: int
    kind: Literal["recovered", "bonus", "plain"]
    drawn: Draw
    probs: Tensor = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of judging a tree.

    Attributes:
        decisions: In the order made.
        path: The accepted nodes, without the root.
        final: The one token that the target adds.
    """

    decisions: tuple[Decision, ...]
    path: tuple[int, ...]
    final: Final


class Rule(Protocol):
    """Judges whole trees, since block and traversal verification start from the leaf."""

    spec: RuleSpec

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Judge a tree.

        Args:
            tree: The draft tree.
            drawn: How its siblings were sampled.
            p: (n, V): for each node, the target's distribution of the next token.
            q: For each parent, the distribution (V,) that its children were sampled from.
            chance: The random numbers.
        """
        ...


def decide(
    rule: str, node: int, u: float, inputs: Mapping[str, float], distributions: NodeDistributions
) -> Decision:
    """Judge `node` with the threshold of the rule."""
    return Decision(node, u, THRESHOLDS[rule](inputs), inputs, distributions)


def finish(
    decisions: list[Decision],
    path: list[int],
    probs: Tensor,
    chance: UniformSource,
    drawn: Draw | None = None,
) -> Verdict:
    """Sample the round's last token and return the verdict.

    The token is plain if nothing was judged, a bonus if the walk ended on a leaf, else recovered.

    Args:
        decisions: The decisions in order.
        path: The accepted nodes.
        probs: The distribution (V,) of the last token.
        chance: The random numbers.
        drawn: The draw, if it was made already.
    """
    kind: Literal["recovered", "bonus", "plain"] = "plain"
    if decisions:
        kind = "bonus" if decisions[-1].accepted else "recovered"
    parent = path[-1] if path else 0
    final = Final(parent, kind, drawn or draw(probs, chance.final()), probs)
    return Verdict(tuple(decisions), tuple(path), final)
