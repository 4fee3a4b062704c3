"""The lossless rules that judge from the root down: they test siblings, then sample a token.

They differ in the test, and in how a rejection changes p and q. `Greedy`, `PointMass` and
`RecursiveRejection` (speculative sampling) judge siblings one after the other. `AcceptReject` and
`KSeq` test every sibling in the same way, need candidates sampled independently from q, and do not
depend on their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor

from specviz.trace.rule_specs import RULE_SPECS, Drawn, RuleSpec
from specviz.verification.base import (
    Decision,
    Inputs,
    NodeDistributions,
    Precomputed,
    PrecomputedRule,
    UniformSource,
    Verdict,
    Walk,
    decide,
    draw_at_every_node,
    finish,
)
from specviz.verification.distributions import (
    Draw,
    draw_and_read,
    normalize,
    remove_token,
    residual,
)
from specviz.verification.transfer import to_host
from specviz.verification.tree import DraftTree


class Greedy(PrecomputedRule):
    """Accepts the target's top tokens; p must be one-hot.

    Used at temperature 0: a candidate is accepted if it is the target's top token. Every lossless
    rule gives the same text then; this rule uses neither u nor q.
    """

    spec = RULE_SPECS["greedy"]
    reads_draft = False

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. Decisions record u, although it has no effect."""
        return self.conclude(tree, Precomputed(p, q, p, _top_draws(p).tolist()), chance)

    def precompute(
        self, p: Tensor, q: Tensor | None, tokens: Tensor, u: Tensor, drawn: Drawn
    ) -> tuple[Tensor, ...]:
        """Implement `PrecomputedRule.precompute`."""
        return p, _top_draws(p)

    def conclude(self, tree: DraftTree, found: Precomputed, chance: UniformSource) -> Verdict:
        """Implement `PrecomputedRule.conclude`."""
        decisions: list[Decision] = []
        path: list[int] = []
        node, p = 0, found.p
        while tree.children[node]:
            dists, (top, _, sure) = NodeDistributions(p[node], None), found.numbers[node]
            for child in tree.children[node]:
                inputs = {"p": sure if tree.tokens[child] == top else 0.0}
                decisions.append(decide(self.spec.name, child, chance.judge(child), inputs, dists))
                if decisions[-1].accepted:
                    break
            else:
                break
            node = decisions[-1].node
            path.append(node)
        return finish(decisions, path, p[node], chance, found.draw(node, chance.final()))


def _top_draws(p: Tensor) -> Tensor:
    # The top token of one-hot distributions (n, V), with the ends of its interval.
    values, ids = p.max(dim=-1)
    return torch.stack([ids.to(p.dtype), torch.zeros_like(values), values], -1)


class SiblingRejection(PrecomputedRule):
    """Tests siblings in order; each rejection changes p and q for the next sibling.

    These distributions do not depend on u. So after the first sibling of a position is rejected,
    the distributions for all later siblings are computed at once, and the values needed are copied
    in one transfer, with the draw that ends the round if no sibling is accepted.
    """

    spec: RuleSpec
    parameters: Mapping[str, float]

    def after_rejection(
        self, dists: NodeDistributions, x: int | Tensor, drawn: Drawn
    ) -> NodeDistributions:
        """Return the distributions for the next sibling after x was rejected.

        They may have a row for each of several positions; x then is a tensor (n, 1).
        """
        raise NotImplementedError

    def judge(
        self,
        tree: DraftTree,
        drawn: Drawn,
        p: Tensor,
        q: Mapping[int, Tensor],
        chance: UniformSource,
    ) -> Verdict:
        """Implement `Rule.judge`. A rule that reads q needs q at every node with children."""
        judged = RoundDecisions(self.spec.name, self.parameters, chance)
        path: list[int] = []
        node, q = 0, q if self.spec.reads_q else {}
        first = first_sibling_inputs(tree, p, q)
        while kids := tree.children[node]:
            dists = NodeDistributions(p[node], q.get(node))
            accepted_node = judged.first_accepted(kids[:1], [dists], [first[node]])
            if accepted_node is None:
                tokens = [tree.tokens[kid] for kid in kids]
                rejections = list(
                    accumulate(tokens, partial(self.after_rejection, drawn=drawn), initial=dists)
                )[1:]
                final, inputs = later_sibling_inputs(rejections, tokens[1:], chance)
                accepted_node = judged.first_accepted(kids[1:], rejections, inputs)
                if accepted_node is None:
                    return finish(judged.decisions, path, rejections[-1].p, chance, final)
            path.append(accepted_node)
            node = accepted_node
        return finish(judged.decisions, path, p[node], chance)

    def precompute(
        self, p: Tensor, q: Tensor | None, tokens: Tensor, u: Tensor, drawn: Drawn
    ) -> tuple[Tensor, ...]:
        """Implement `PrecomputedRule.precompute`: p and q of each token are added."""
        if self.spec.reads_q and q is None:  # nothing was drafted
            return draw_at_every_node(p, u)
        now = [p] if q is None else [p, q]
        columns, later = [], []
        for x in tokens.split(1, -1):
            index = x.clamp(min=0)
            columns += [each.gather(-1, index) for each in now]
            left = self.after_rejection(NodeDistributions(p, q), index, drawn)
            p = torch.where(x < 0, p, left.p)
            q = left.q
            now = [p] if q is None else [p, q]
            later += now
        return *draw_at_every_node(p, u, *columns), *later[: -len(now)]

    def conclude(self, tree: DraftTree, found: Precomputed, chance: UniformSource) -> Verdict:
        """Implement `PrecomputedRule.conclude`."""
        judged = RoundDecisions(self.spec.name, self.parameters, chance)
        path: list[int] = []
        node = 0
        while kids := tree.children[node]:
            dists = [found.distributions(node, place) for place in range(len(kids))]
            numbers, width = found.numbers[node][3:], 1 if dists[0].q is None else 2
            tests = [
                dict(zip("pq", numbers[start : start + width], strict=False))
                for start in range(0, len(numbers), width)
            ]
            accepted_node = judged.first_accepted(kids, dists, tests)
            if accepted_node is None:
                break
            path.append(accepted_node)
            node = accepted_node
        final = found.draw(node, chance.final())
        return finish(judged.decisions, path, found.last[node], chance, final)


@dataclass(frozen=True, slots=True)
class RoundDecisions:
    """The decisions of one round.

    Attributes:
        name: The rule's name.
        parameters: The rule's parameters.
        chance: The random numbers.
        decisions: The decisions so far.
    """

    name: str
    parameters: Mapping[str, float]
    chance: UniformSource
    decisions: list[Decision] = field(default_factory=list)

    def first_accepted(
        self,
        siblings: Sequence[int],
        distributions: Sequence[NodeDistributions],
        inputs: Sequence[Inputs],
    ) -> int | None:
        """Test siblings in order until one is accepted; return it, or None.

        Args:
            siblings: Their nodes.
            distributions: The distributions that each is judged by.
            inputs: p and q of each sibling.
        """
        for child, dists, own in zip(siblings, distributions, inputs, strict=False):
            u = self.chance.judge(child)
            self.decisions.append(decide(self.name, child, u, {**own, **self.parameters}, dists))
            if self.decisions[-1].accepted:
                return child
        return None


class PointMass(SiblingRejection):
    """Tests candidates that were not sampled, and does not read q.

    It accepts x with probability p(x), otherwise it removes x from p. Top tokens and copied n-grams
    have no q: they are point masses. Accepting with p(x) and removing x after a rejection gives p
    for *every* proposal, so the rule is also exact for sampled candidates, but accepts fewer
    (SGLang's kernel, EAGLE-2/3's `qx = 1`; SafeAILab/EAGLE issues 93, 171, 329).
    """

    spec = RULE_SPECS["point-mass"]
    parameters: Mapping[str, float] = MappingProxyType({})

    def after_rejection(
        self, dists: NodeDistributions, x: int | Tensor, drawn: Drawn
    ) -> NodeDistributions:
        """Implement `SiblingRejection.after_rejection`: x is removed."""
        return NodeDistributions(remove_token(dists.p, x), None)


class RecursiveRejection(SiblingRejection):
    """Speculative sampling for both kinds of sampled siblings, and its lossy variants.

    On a chain (Leviathan et al. 2211.17192, Chen et al. 2302.01318): accept x sampled from q with
    probability min(1, p/q); at the first rejection sample from the residual (p − q)₊. With
    siblings, each rejection leaves a residual that the next one is judged by: for independent
    samples as in SpecInfer 2305.09781, for samples without replacement as in 2402.14160, 2401.06706
    and EAGLE-1. The rule is lossless on average over drafts, which must be real samples of the q
    given. Proof for one position: x is guessed and accepted with probability q min(1, p/q) = min(p,
    q). A rejection has probability 1 − Σ min(p, q) = Σ (p − q)₊, and then (p − q)₊, normalized, is
    sampled. The two add up to p.

    The lossy variants differ only in the test. Lenience tests with p/l instead of p, so it accepts
    more of the tokens that the draft prefers. The ensemble tests with v = w p + (1 − w) q. Its
    residual is the same, since v − q = w (p − q), so the output is exactly v, and TV = (1 − w)
    TV(p, q).

    Args:
        name: The rule's name.
        parameters: The rule's parameters; missing ones have their defaults.
    """

    def __init__(self, name: str, parameters: Mapping[str, float] | None = None) -> None:
        self.spec = RULE_SPECS[name]
        self.parameters = self.spec.defaults() | dict(parameters or {})

    def after_rejection(
        self, dists: NodeDistributions, x: int | Tensor, drawn: Drawn
    ) -> NodeDistributions:
        """Implement `SiblingRejection.after_rejection`.

        p becomes the residual; q loses x if it was sampled without replacement.
        """
        assert dists.q is not None
        left = residual(dists.p, dists.q)
        q = remove_token(dists.q, x) if self._masks(drawn) else dists.q
        return NodeDistributions(left, q)

    def _masks(self, drawn: Drawn) -> bool:
        # A rejected candidate is removed from q if it was sampled without replacement.
        kinds = self.spec.accepts
        return Drawn.WITHOUT_REPLACEMENT in (kinds if len(kinds) == 1 else {drawn})


def first_sibling_inputs(tree: DraftTree, p: Tensor, q: Mapping[int, Tensor]) -> dict[int, Inputs]:
    """Return p (and q, if given) of each node's first child, copied in one transfer."""
    firsts = {node: tree.tokens[kids[0]] for node, kids in enumerate(tree.children) if kids}
    if not firsts:
        return {}
    values = [[p[node, x] for node, x in firsts.items()]]
    values += [[q[node][x] for node, x in firsts.items()]] if q else []
    pairs = zip(*(each.tolist() for each in to_host(*map(torch.stack, values))), strict=True)
    inputs = [dict(zip("pq", pair, strict=False)) for pair in pairs]
    return dict(zip(firsts, inputs, strict=True))


def later_sibling_inputs(
    rejections: Sequence[NodeDistributions], tokens: Sequence[int], chance: UniformSource
) -> tuple[Draw, list[Inputs]]:
    """Return the draw for the case that all tokens are rejected, and p and q of each.

    Args:
        rejections: The distributions that each token is judged by, then the distributions that
            remain after all rejections.
        tokens: The tokens.
        chance: The random numbers.
    """
    pairs = [
        [part[x] for part in (dists.p, dists.q) if part is not None]
        for dists, x in zip(rejections, tokens, strict=False)
    ]
    final, values = draw_and_read(rejections[-1].p, chance.final(), *chain.from_iterable(pairs))
    found = iter(values)
    return final, [dict(zip("pq", [next(found) for _ in pair], strict=False)) for pair in pairs]


MAX_STEPS: Final = 100  # maximum steps of the search for ρ*, which takes about ten
ROUNDING: Final = 2.0**-52  # rounding error of a difference between numbers below 1


def max_ratio(p: Tensor, q: Tensor) -> Tensor:
    """Return M = max p/q over the tokens that p has; infinity if q misses one of them."""
    return torch.where(p > 0, p / q, torch.zeros_like(p)).amax(dim=-1)


class AcceptReject(Walk):
    """Von Neumann's accept-reject method (1951), the origin of speculative sampling.

    Accept x sampled from q with probability p(x)/(M q(x)), M = max p/q; the original samples again
    until one is accepted. Here the number of candidates is fixed, and if all are rejected, the
    token is sampled from p. Proof: a candidate is accepted as x with probability q p/(M q) = p/M,
    so accepted candidates follow p; the last draw follows p too and does not depend on the
    rejections. Each candidate is accepted with probability 1/M.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: 1/M, which is 0 if q misses a token."""
        assert dists.q is not None
        return {"least": (1.0 / max_ratio(dists.p, dists.q)).item()}


class KSeq(Walk):
    """k-SEQ (SpecTr 2310.15141): accept each of k independent draws with min(1, p/(ρ q)).

    With β = Σ min(q, p/ρ), one of them is accepted with probability P = 1 − (1 − β)^k, and the
    accepted mass at x is min(q, p/ρ) P/β. If all are rejected, the token is sampled from the
    difference of p and that mass. The rule is lossless if the difference is nowhere negative: for ρ
    ≥ ρ*, the root of 1 − (1 − β)^k = ρ β. At ρ* the difference is (p − ρ q)₊, not normalized.
    Proof: the accepted mass and the difference add up to p, token by token. By the published bound,
    its acceptance is at least 1 − 1/e of the optimum.
    """

    def extra_inputs(self, dists: NodeDistributions, candidates: int) -> Inputs:
        """Implement `Walk.extra_inputs`: ρ*."""
        assert dists.q is not None
        p, q = to_host(dists.p, dists.q)
        return {"rho": least_rho(p, q, candidates)}

    def final_probs(self, dists: NodeDistributions, extra: Inputs) -> Tensor:
        """Implement `Walk.final_probs`: (p − ρ q)₊."""
        assert dists.q is not None
        return normalize((dists.p - extra["rho"] * dists.q).clamp(min=0.0), dists.p)


def acceptance_of_one(p: Tensor, q: Tensor, rho: float) -> Tensor:
    """Return β(ρ) = Σ min(q, p/ρ) over the last axis: one candidate's acceptance probability."""
    return torch.minimum(q, p / rho).sum(dim=-1)


def least_rho(p: Tensor, q: Tensor, candidates: int) -> float:
    """Return ρ*, the least ρ from 1 to k with 1 − (1 − β)^k ≤ ρ β.

    From ρ* on, the residual is nowhere negative. It is found by the method of false position
    (Illinois variant), with about ten sums over the vocabulary.
    """
    low, high = 1.0, float(candidates)
    below, above = _excess(p, q, low, candidates), _excess(p, q, high, candidates)
    if candidates == 1 or below <= 0.0:
        return low
    moved = 0
    for _ in range(MAX_STEPS):
        middle = high - above * (high - low) / (above - below)
        excess = _excess(p, q, middle, candidates)
        if abs(excess) <= ROUNDING:
            return middle
        if excess > 0.0:
            low, below, above, moved = middle, excess, above / (2 if moved == 1 else 1), 1
        else:
            high, above, below, moved = middle, excess, below / (2 if moved == -1 else 1), -1
    return high


def _excess(p: Tensor, q: Tensor, rho: float, candidates: int) -> float:
    # Positive below ρ*.
    beta = acceptance_of_one(p, q, rho).item()
    return float(1.0 - (1.0 - beta) ** candidates - rho * beta)
