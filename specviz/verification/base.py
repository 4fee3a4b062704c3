"""What a rule is: a judge of a whole draft tree, pure in (tree, p, q, coins).

The one idea of the subject: the rule must match the way the candidates were drawn. A rule says
what it accepts, and `refusal` says in a sentence why a pair would not be lossless.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol

from torch import Tensor

from specviz.settings.settings import Sampling
from specviz.trace.thresholds import TESTS
from specviz.verification.distributions import Draw, draw
from specviz.verification.tree import DraftTree


class Drawn(Enum):
    """How the children of a node were drawn."""

    SAMPLED = "sampled"  # independently, each from q
    WITHOUT_REPLACEMENT = "without-replacement"  # one after the other, q masked at those before
    POINT_MASS = "point-mass"  # fixed before any coin: argmax, top-k, lookup


class MismatchedRule(ValueError):
    """A rule and a proposal that would not be lossless together."""


class Coins(Protocol):
    """What a rule asks of chance; `specviz.settings.chance.Chance` gives it."""

    def judge(self, node: int) -> float:
        """The number in [0, 1) that decides about `node`."""
        ...

    def final(self) -> float:
        """The number in [0, 1) that draws the token which ends the round."""
        ...


@dataclass(frozen=True, slots=True)
class Law:
    """The laws in force when a node was judged: p (V,), and q (V,) or None for a point mass."""

    p: Tensor
    q: Tensor | None


@dataclass(frozen=True, slots=True)
class Decision:
    """One coin fell: `node` is kept when u < threshold. inputs: what the threshold follows from."""

    node: int
    u: float
    threshold: float
    inputs: Mapping[str, float]
    law: Law = field(compare=False, repr=False)

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
    law: Tensor = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decisions in the order made; path: the accepted nodes, root left out; then one token more."""

    decisions: tuple[Decision, ...]
    path: tuple[int, ...]
    final: Final


class Rule(Protocol):
    """Whole-tree, since block and traversal verification go leaf first."""

    name: str
    accepts: frozenset[Drawn]
    lossless: bool
    temperature_zero: bool  # True: exact only where p is one-hot

    def judge(
        self, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor], chance: Coins
    ) -> Verdict:
        """p (n, V): by node, the law of what follows it. q: by parent, the law of its children."""
        ...


WHY = {
    Drawn.SAMPLED: "candidates drawn independently from q",
    Drawn.WITHOUT_REPLACEMENT: "candidates drawn from q without replacement",
    Drawn.POINT_MASS: "candidates fixed beforehand (a point mass, which has no q)",
}


def refusal(rule: Rule, drawn: Drawn, sampling: Sampling) -> str | None:
    """Why this rule would not give the target's law on such candidates; None where it does."""
    if rule.temperature_zero and not sampling.greedy:
        return (
            f"The rule {rule.name!r} keeps nothing but the target's top token, so at temperature "
            f"{sampling.temperature:g} its text would not follow the target's law. "
            "Use temperature 0, or another rule."
        )
    if drawn not in rule.accepts:
        needed = " or ".join(sorted(WHY[d] for d in rule.accepts))
        return (
            f"The rule {rule.name!r} needs {needed}; this drafter proposes {WHY[drawn]}. "
            "Together they would not be lossless."
        )
    return None


def decide(rule: str, node: int, u: float, inputs: Mapping[str, float], law: Law) -> Decision:
    """Let the coin u fall on `node`, with the rule's own test."""
    return Decision(node, u, TESTS[rule](inputs), inputs, law)


def finish(decisions: list[Decision], path: list[int], law: Tensor, chance: Coins) -> Verdict:
    """Draw the token that ends the round, and name what it is.

    Plain where nothing was judged, a bonus where the walk ended on a leaf, recovered otherwise.
    """
    kind: Literal["recovered", "bonus", "plain"] = "plain"
    if decisions:
        kind = "bonus" if decisions[-1].accepted else "recovered"
    parent = path[-1] if path else 0
    final = Final(parent, kind, draw(law, chance.final()), law)
    return Verdict(tuple(decisions), tuple(path), final)
