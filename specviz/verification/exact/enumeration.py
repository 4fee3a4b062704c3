"""A rule's output law by enumeration: no random numbers, and the production rule itself is run.

Every draft is weighed by the law it is drawn from, every coin is tried on both sides and weighed
by the threshold that the rule reports, and the last token's law is taken whole. What comes out is
exact up to float64 rounding (VERIFICATION.md section 8): the oracle of the tests. The same branches
carry coins that are really thrown: see `monte_carlo`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification.base import Rule, Verdict
from specviz.verification.distributions import total_variation
from specviz.verification.exact.candidates import (
    CandidateMethod,
    Context,
    Model,
    as_method,
    path_tokens,
    proposals,
)
from specviz.verification.exact.masses import ExactMass, Mass
from specviz.verification.tree import DraftTree

StringDistribution = dict[Context, float]


M = TypeVar("M", bound=Mass)
ACCEPT, REJECT = 0.0, 1.0 - 2.0**-53


@dataclass
class ScriptedSource:
    """Coins that fall as told, in the order asked for, REJECT where nothing is told.

    asked: the coins' names, in that order; one asked for twice stands there twice.
    """

    told: Sequence[bool] = ()
    asked: list[int] = field(default_factory=list)

    def judge(self, node: int) -> float:
        """The scripted coin of `node`."""
        place = len(self.asked)
        self.asked.append(node)
        return ACCEPT if place < len(self.told) and self.told[place] else REJECT

    def final(self) -> float:
        """Never matters: the law of the last token is taken whole."""
        return 0.0


@dataclass(frozen=True, slots=True)
class RoundSetup:
    """What is asked about: a rule, two models, the tree's shape, and how candidates are drawn.

    target, draft: contexts to laws. parents: by node, its parent; [-1, 0, 1] is a chain of two.
    """

    rule: Rule
    target: Model
    draft: Model
    parents: Sequence[int]
    drawing: CandidateMethod

    @classmethod
    def position(
        cls, rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
    ) -> RoundSetup:
        """One position with so many candidates. p, q: (V,), whatever the context."""
        return cls(rule, lambda _: p, lambda _: q, [-1] + [0] * candidates, as_method(how))

    @classmethod
    def chain(
        cls, rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, gamma: int
    ) -> RoundSetup:
        """A chain of γ guesses, every one under the same p and q, whatever the context."""
        return cls(rule, lambda _: p, lambda _: q, list(range(-1, gamma)), as_method(how))


def branches(
    rule: Rule, tree: DraftTree, p: Tensor, q: Mapping[int, Tensor], drawn: Drawn, start: M
) -> Iterator[tuple[M, Verdict]]:
    """Every verdict that a mass can reach on this tree, with what of it goes there."""
    waiting: list[tuple[tuple[bool, ...], M]] = [((), start)]
    while waiting:
        told, mass = waiting.pop()
        script = ScriptedSource(told)
        verdict = rule.judge(tree, drawn, p, q, script)
        for place in range(len(told), len(verdict.decisions)):
            coin, threshold = script.asked[place], verdict.decisions[place].threshold
            kept, mass = mass.split(coin, threshold)
            if kept.size:
                waiting.append(((*told, True), kept))
            told = (*told, False)
            if not mass.size:
                break
        if mass.size:
            yield mass, verdict


def verdicts(
    rule: Rule, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor]
) -> Iterator[tuple[float, Verdict]]:
    """Every verdict the rule can reach on this tree, with its probability (they sum to 1)."""
    for mass, verdict in branches(rule, tree, p, q, drawn, ExactMass()):
        yield mass.size, verdict


def play_round(round: RoundSetup, start: M) -> Iterator[tuple[M, DraftTree, Verdict]]:
    """Every way that a round can go, with what of the mass goes it."""
    trees = list(proposals(round.draft, round.parents, round.drawing))
    if not trees:
        return
    weights = torch.tensor([weight for weight, _, _ in trees], dtype=torch.float64)
    shares = start.spread(weights)
    for mass, (_, tree, q) in zip(shares, trees, strict=True):
        if mass.size:
            p = torch.stack([round.target(path_tokens(tree, node)) for node in range(len(tree))])
            for share, verdict in branches(round.rule, tree, p, q, round.drawing.drawn, mass):
                yield share, tree, verdict


def string_masses(round: RoundSetup, start: M, length: int) -> StringDistribution:
    """How much of a mass ends in every string of `length` tokens: a round, then plain decoding.

    length: at least the tree's depth plus 1 to see the whole round.
    """
    out: defaultdict[Context, float] = defaultdict(float)
    for mass, tree, verdict in play_round(round, start):
        kept = path_tokens(tree, verdict.path[-1]) if verdict.path else ()
        for token, share in enumerate(mass.spread(verdict.final.probs)):
            _extend(out, round.target, (*kept, token), share, length)
    return dict(out)


def _extend(
    out: StringDistribution, target: Model, context: Context, mass: Mass, length: int
) -> None:
    """Add `mass` at `context`, cut or continued by plain decoding to `length` tokens."""
    if not mass.size:
        return
    if len(context) >= length:
        out[context[:length]] += mass.size
        return
    for token, share in enumerate(mass.spread(target(context))):
        _extend(out, target, (*context, token), share, length)


def joint_distribution(
    rule: Rule,
    target: Model,
    draft: Model,
    parents: Sequence[int],
    how: Drawn | CandidateMethod,
    length: int,
) -> StringDistribution:
    """The law of the first `length` tokens that a round and plain decoding after it emit."""
    return string_masses(
        RoundSetup(rule, target, draft, parents, as_method(how)), ExactMass(), length
    )


def plain_distribution(target: Model, length: int) -> StringDistribution:
    """The law of `length` tokens of plain decoding: what every lossless rule must give."""
    out: defaultdict[Context, float] = defaultdict(float)
    _extend(out, target, (), ExactMass(), length)
    return dict(out)


@dataclass(frozen=True, slots=True)
class PositionResult:
    """What a rule makes of one position: all laws and masses by token, (V,), in float64.

    through_draft: the mass of a token that came as a kept candidate. through_rest: what was drawn
    after all candidates fell. They sum to the output's law. p: what it should be.
    """

    p: Tensor
    through_draft: Tensor
    through_rest: Tensor

    @property
    def output(self) -> Tensor:
        """The output's law."""
        return self.through_draft + self.through_rest

    @property
    def acceptance(self) -> float:
        """α: the chance that a candidate is kept."""
        return self.through_draft.sum().item()

    @property
    def tv(self) -> float:
        """Total variation ½ Σ |out − p|: 0 where nothing is lost, but for rounding."""
        return total_variation(self.output, self.p).item()

    @property
    def wrong(self) -> Tensor:
        """By token, what it gets beyond p; below 0 where it is robbed."""
        return self.output - self.p


def enumerate_position(round: RoundSetup) -> PositionResult:
    """The first token of a round whose tree is one position (see `Round.place`)."""
    p = round.target(())
    found = PositionResult(p.double(), torch.zeros(len(p)).double(), torch.zeros(len(p)).double())
    for mass, tree, verdict in play_round(round, ExactMass()):
        if verdict.path:
            found.through_draft[tree.tokens[verdict.path[0]]] += mass.size
        else:
            found.through_rest.add_(verdict.final.probs.cpu().double(), alpha=mass.size)
    return found


def output_distribution(
    rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
) -> Tensor:
    """The law (V,) of the token at one position, with so many candidates tried there."""
    return enumerate_position(RoundSetup.position(rule, p, q, how, candidates)).output


def acceptance(
    rule: Rule, p: Tensor, q: Tensor, how: Drawn | CandidateMethod, candidates: int = 1
) -> float:
    """α at one position: the chance that one of the candidates is kept."""
    return enumerate_position(RoundSetup.position(rule, p, q, how, candidates)).acceptance


def accepted_length(
    rule: Rule, target: Model, draft: Model, parents: Sequence[int], how: Drawn | CandidateMethod
) -> float:
    """The expected number of draft tokens kept in a round; one more are emitted."""
    round = RoundSetup(rule, target, draft, parents, as_method(how))
    return sum(mass.size * len(verdict.path) for mass, _, verdict in play_round(round, ExactMass()))


def distance(a: StringDistribution, b: StringDistribution) -> float:
    """Total variation ½ Σ |a − b| between two laws over token strings."""
    return sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in a.keys() | b.keys()) / 2


def marginal(law: StringDistribution, length: int) -> StringDistribution:
    """The law of the first `length` tokens of each string."""
    out: defaultdict[Context, float] = defaultdict(float)
    for string, mass in law.items():
        out[string[:length]] += mass
    return dict(out)
