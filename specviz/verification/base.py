"""The interface of rules, a base class that walks down a tree, and α at one position.

A rule judges a whole draft tree. It is a pure function of the tree, p, q and the random numbers u,
and it must match the way the candidates were sampled. `trace.rule_specs` has which candidates each
rule supports and what it guarantees, since `check` needs this, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from specviz.trace.rule_specs import (
    RULE_SPECS,
    THRESHOLDS,
    Drawn,
    RuleSpec,
    probability_any_accepted,
)
from specviz.verification.distributions import (
    Draw,
    draw,
    finish_draw,
    overlap,
    remove_token,
    residual,
    top_tokens,
    walk_to,
)
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree


class MismatchedRule(ValueError):
    """Raised if a rule does not fit the candidates, so that together they would not be lossless."""


def refuse_tree(spec: RuleSpec) -> None:
    """Raise MismatchedRule for a rule that judges only chains."""
    if spec.chains_only:
        block = spec.name == "block"
        rule = "Block verification" if block else f"The rule {spec.name!r}"
        same = " The rule 'traversal' does the same on trees." if block else ""
        raise MismatchedRule(f"{rule} judges chains, but this drafter proposes a tree.{same}")


class UniformSource(Protocol):
    """The random numbers that a rule uses; `specviz.settings.chance.Chance` provides them."""

    def judge(self, node: int) -> float:
        """Return the number u in [0, 1) for the decision about `node`."""
        ...

    def final(self) -> float:
        """Return the number u in [0, 1) that samples the round's last token."""
        ...


@dataclass(frozen=True, slots=True)
class NodeDistributions:
    """The distributions that a node was judged by, after all earlier rejections.

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
        distributions: The distributions that the node was judged by.
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
        decisions: The decisions, in the order in which they were made.
        path: The accepted nodes, without the root.
        final: The last token, which the target adds.
        bars: The thresholds that the numbers u were compared with, in the order in which the rule
            requested them; None if they equal the decisions' thresholds. A rule that looks ahead
            requests more numbers than it makes decisions.
    """

    decisions: tuple[Decision, ...]
    path: tuple[int, ...]
    final: Final
    bars: tuple[float, ...] | None = None


class Rule(Protocol):
    """A rule judges a whole tree, since block and traversal verification start at the leaves."""

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

    The token is "plain" if nothing was judged, "bonus" if the accepted path ends in a leaf, and
    "recovered" otherwise.

    Args:
        decisions: The decisions in order.
        path: The accepted nodes.
        probs: The distribution (V,) of the last token.
        chance: The random numbers.
        drawn: The draw of the last token, if it was made already.
    """
    kind: Literal["recovered", "bonus", "plain"] = "plain"
    if decisions:
        kind = "bonus" if decisions[-1].accepted else "recovered"
    parent = path[-1] if path else 0
    final = Final(parent, kind, drawn or draw(probs, chance.final()), probs)
    return Verdict(tuple(decisions), tuple(path), final)


Inputs = dict[str, float]


@dataclass(frozen=True, slots=True)
class Precomputed:
    """What a verdict on a tree of n nodes can need, computed before any verdict is known.

    Attributes:
        p: The target's distribution after each node, (n, V).
        q: For each node with children, the distribution (V,) that these were sampled from; empty
            if the rule reads none.
        last: The distribution (V,) of the last token if the accepted path ends at each node.
        numbers: For each node, the token drawn from `last` with the ends of its interval; then the
            numbers that the rule added.
        later: p, and q if the rule reads it, (n, V) each, by which the second child of each node is
            judged; then those for the third child, and so on.
    """

    p: Tensor
    q: Mapping[int, Tensor]
    last: Tensor
    numbers: list[list[float]]
    later: Sequence[tuple[Tensor, ...]] = ()

    def draw(self, node: int, u: float) -> Draw:
        """Return the draw of the last token if the accepted path ends at `node`."""
        return finish_draw(self.last[node], u, *self.numbers[node][:3])

    def distributions(self, node: int, sibling: int) -> NodeDistributions:
        """Return what a child of a node is judged by, given its place among the children."""
        if sibling == 0:
            return NodeDistributions(self.p[node], self.q.get(node))
        p, *q = self.later[sibling - 1]
        return NodeDistributions(p[node], q[0][node] if q else None)


class PrecomputedRule:
    """A rule that can compute at once, for all nodes of a draft, what its verdict may need.

    A GPU then does all of its work in one launch, and the host reads the result in one transfer.

    Attributes:
        reads_draft: Whether this depends on the draft.
        chains_only: Whether it is limited to chains.
    """

    spec: RuleSpec
    reads_draft: ClassVar[bool] = True
    chains_only: ClassVar[bool] = False

    def precompute(
        self, p: Tensor, q: Tensor | None, tokens: Tensor, u: Tensor, drawn: Drawn
    ) -> tuple[Tensor, ...]:
        """Return `Precomputed.last`, as a tensor `Precomputed.numbers`, and `Precomputed.later`.

        The host must not wait for a value here.

        Args:
            p: (n, V).
            q: (n, V), of which rows of nodes without children have no meaning; None if the rule
                reads none.
            tokens: The tokens of the children of each node, (n, the most children); -1 after the
                last one.
            u: The random number that samples the last token, (1,).
            drawn: How siblings were sampled.
        """
        raise NotImplementedError

    def conclude(self, tree: DraftTree, found: Precomputed, chance: UniformSource) -> Verdict:
        """Return the verdict on a draft."""
        raise NotImplementedError


def draw_at_every_node(last: Tensor, u: Tensor, *columns: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first two results of `PrecomputedRule.precompute`.

    Args:
        last: (n, V).
        u: The random number that samples the last token, (1,).
        columns: The rule's own numbers, (n, 1) each.
    """
    token, lo, hi, _ = walk_to(*top_tokens(last), u)
    return last, torch.cat([token.to(lo.dtype), lo, hi, *columns], -1)


class Walk:
    """Base of rules that test siblings in order and continue below the accepted one.

    Args:
        name: The rule's name.
        parameters: The rule's parameters; missing ones have their defaults. Every decision records
            them.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = self.spec.defaults() | dict(parameters or {})

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Return the inputs of the test that are the same for all candidates of a position."""
        return {}

    def candidate_inputs(self, dists: NodeDistributions, token: int, extra: Inputs) -> Inputs:
        """Return the inputs for one candidate: p, and q if the rule reads it."""
        if dists.q is None:
            return {"p": dists.p[token].item()}
        p, q = (one.item() for one in to_host(dists.p[token], dists.q[token]))
        return {"p": p, "q": q}

    def after_rejection(
        self, dists: NodeDistributions, token: int, extra: Inputs
    ) -> tuple[NodeDistributions, Inputs]:
        """Return distributions and inputs for the next candidate; by default unchanged."""
        return dists, extra

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Return the last token's distribution (V,) after all candidates were rejected: p."""
        return dists.p

    def bonus_probs(self, p: Tensor) -> Tensor:
        """Return the last token's distribution (V,) after all guesses were accepted: p."""
        return p

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. A rule that reads q needs q at every node with children."""
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
        # The accepted child, or None and the distribution of the last token.
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


class AcceptanceProbability(NamedTuple):
    """The probability that one of a position's candidates is accepted.

    Attributes:
        value: The probability; None if it was not computed.
        tries: For several sampled candidates, the p and q that each is tested with, after the
            rejections before it; otherwise None.
    """

    value: float | None
    tries: list[list[float]] | None


def acceptance_probability(
    distributions: NodeDistributions, tokens: Sequence[int], drawn: Drawn
) -> AcceptanceProbability:
    """Return α of a position: the probability that one of the siblings `tokens` is accepted.

    It is exact and does not depend on any u. With several sampled candidates it depends on which
    were sampled; its mean over all samples is the rule's acceptance probability.

    For a point mass (no q, or a rule that reads none) it is Σ p over the distinct candidates; for
    one sampled candidate Σ min(p, q); for several 1 − Π(1 − min(1, pᵢ/qᵢ)), given the candidates.
    """
    if distributions.q is None:
        return AcceptanceProbability(
            min(1.0, distributions.p[list(set(tokens))].sum().item()), None
        )
    if len(tokens) == 1:
        return AcceptanceProbability(
            min(1.0, overlap(distributions.p, distributions.q).item()), None
        )
    pairs = sibling_tries(distributions.p, distributions.q, tokens, drawn)
    return AcceptanceProbability(probability_any_accepted(pairs), pairs)


def sibling_tries(p: Tensor, q: Tensor, tokens: Sequence[int], drawn: Drawn) -> list[list[float]]:
    """Return p and q of every sibling if all earlier ones were rejected.

    Args:
        p: The target's distribution (V,) for the first sibling.
        q: The draft's distribution (V,) for the first sibling.
        tokens: The siblings' tokens.
        drawn: How the siblings were sampled.
    """
    found = []
    for token in tokens:
        found.append([p[token].item(), q[token].item()])
        p = residual(p, q)
        if drawn is Drawn.WITHOUT_REPLACEMENT:
            q = remove_token(q, token)
    return found
