"""A rule's output law by enumeration: no random numbers, and the production rule itself is run.

Every draft is weighed by the law it is drawn from, every coin is tried on both sides and weighed
by the threshold that the rule reports, and the last token's law is taken whole. What comes out is
exact up to float64 rounding (VERIFICATION.md section 8): the oracle of the tests.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from torch import Tensor

from specviz.trace.promises import Drawn
from specviz.verification.base import Rule, Verdict
from specviz.verification.distributions import without
from specviz.verification.tree import DraftTree

Context = tuple[int, ...]


Model = Callable[[Context], Tensor]  # a context to the law (V,) of the next token


Law = dict[Context, float]


KEEP, REJECT = 0.0, 1.0 - 2.0**-53


@dataclass
class Script:
    """Coins that fall as told, REJECT where nothing is said; notes which were asked for."""

    fallen: Mapping[int, float] = field(default_factory=dict)

    def judge(self, node: int) -> float:
        """The scripted coin of `node`."""
        return self.fallen.get(node, REJECT)

    def final(self) -> float:
        """Never matters: the law of the last token is taken whole."""
        return 0.0


def verdicts(
    rule: Rule, tree: DraftTree, drawn: Drawn, p: Tensor, q: Mapping[int, Tensor]
) -> Iterator[tuple[float, Verdict]]:
    """Every verdict the rule can reach on this tree, with its probability (they sum to 1)."""
    open_scripts: list[dict[int, float]] = [{}]
    while open_scripts:
        fallen = open_scripts.pop()
        verdict = rule.judge(tree, drawn, p, q, Script(fallen))
        weight = 1.0
        for decision in verdict.decisions:
            keep = min(1.0, max(0.0, decision.threshold))
            if decision.node not in fallen:
                open_scripts.append({**fallen, decision.node: KEEP})
                fallen = {**fallen, decision.node: REJECT}
            weight *= keep if fallen[decision.node] == KEEP else 1.0 - keep
        if weight > 0.0:
            yield weight, verdict


def proposals(
    draft: Model, parents: Sequence[int], drawn: Drawn, context: Context = ()
) -> Iterator[tuple[float, DraftTree, dict[int, Tensor]]]:
    """Every tree of this shape that the drafter can propose, with its probability and q by parent.

    A point mass takes the top tokens of the draft law as children, ties by id.
    """
    shape = DraftTree((0,) * len(parents), tuple(parents))
    size = draft(context).shape[-1]
    choices = [range(size)] * (len(parents) - 1)
    for guesses in product(*choices):
        tree = DraftTree((0, *guesses), shape.parents)
        laws = {n: draft(context + words(tree, n)) for n in range(len(tree)) if shape.children[n]}
        weight = math.prod(
            siblings_weight(laws[n], [tree.tokens[c] for c in shape.children[n]], drawn)
            for n in laws
        )
        if weight > 0.0:
            yield weight, tree, {} if drawn is Drawn.POINT_MASS else laws


def siblings_weight(law: Tensor, tokens: Sequence[int], drawn: Drawn) -> float:
    """The probability that these siblings, in this order, are drawn from `law`."""
    if drawn is Drawn.POINT_MASS:
        order = law.sort(descending=True, stable=True).indices[: len(tokens)].tolist()
        return float(order == list(tokens))
    weight = 1.0
    for token in tokens:
        weight *= law[token].item()
        if weight == 0.0:
            return 0.0
        if drawn is Drawn.WITHOUT_REPLACEMENT:
            law = without(law, token)
    return weight


def words(tree: DraftTree, node: int) -> Context:
    """The guesses on the path to `node`, root left out."""
    return tuple(tree.tokens[n] for n in tree.path(node)[1:])


def joint_law(
    rule: Rule, target: Model, draft: Model, parents: Sequence[int], drawn: Drawn, length: int
) -> Law:
    """The law of the first `length` tokens that a round and plain decoding after it emit.

    target, draft: contexts to laws. parents: the tree's shape. length: at least the tree's depth
    plus 1 to see the whole round.
    """
    out: defaultdict[Context, float] = defaultdict(float)
    for weight, tree, q in proposals(draft, parents, drawn):
        p = torch.stack([target(words(tree, node)) for node in range(len(tree))])
        for chance, verdict in verdicts(rule, tree, drawn, p, q):
            kept = words(tree, verdict.path[-1]) if verdict.path else ()
            for token, mass in enumerate(verdict.final.law.tolist()):
                _extend(out, target, (*kept, token), weight * chance * mass, length)
    return dict(out)


def plain_law(target: Model, length: int) -> Law:
    """The law of `length` tokens of plain decoding: what every lossless rule must give."""
    out: defaultdict[Context, float] = defaultdict(float)
    _extend(out, target, (), 1.0, length)
    return dict(out)


def _extend(out: Law, target: Model, context: Context, mass: float, length: int) -> None:
    """Add `mass` at `context`, cut or continued by plain decoding to `length` tokens."""
    if mass <= 0.0:
        return
    if len(context) >= length:
        out[context[:length]] += mass
        return
    for token, chance in enumerate(target(context).tolist()):
        _extend(out, target, (*context, token), mass * chance, length)


def output_law(rule: Rule, p: Tensor, q: Tensor, drawn: Drawn, candidates: int = 1) -> Tensor:
    """The law (V,) of the token at one position, with so many candidates tried there."""
    law = joint_law(rule, lambda _: p, lambda _: q, [-1] + [0] * candidates, drawn, 1)
    return torch.tensor([law.get((t,), 0.0) for t in range(len(p))], dtype=torch.float64)


def acceptance(rule: Rule, p: Tensor, q: Tensor, drawn: Drawn, candidates: int = 1) -> float:
    """α at one position: the chance that one of the candidates is kept."""
    rows = p.repeat(candidates + 1, 1)
    return sum(
        weight * chance
        for weight, tree, laws in proposals(lambda _: q, [-1] + [0] * candidates, drawn)
        for chance, verdict in verdicts(rule, tree, drawn, rows, laws)
        if verdict.path
    )


def accepted_length(
    rule: Rule, target: Model, draft: Model, parents: Sequence[int], drawn: Drawn
) -> float:
    """The expected number of draft tokens kept in a round."""
    total = 0.0
    for weight, tree, q in proposals(draft, parents, drawn):
        p = torch.stack([target(words(tree, node)) for node in range(len(tree))])
        for chance, verdict in verdicts(rule, tree, drawn, p, q):
            total += weight * chance * len(verdict.path)
    return total


def distance(a: Law, b: Law) -> float:
    """Total variation ½ Σ |a − b| between two laws over token strings."""
    return sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in a.keys() | b.keys()) / 2


def exact_sampler_distance(p: Tensor, samples: int) -> float:
    """The total variation that an *exact* sampler would show after so many samples, about.

    ½ Σ √(2 p (1 − p) / (π N)): without this line readers take noise for error.
    """
    return float((2 * p * (1 - p) / (math.pi * samples)).sqrt().sum() / 2)


@dataclass(frozen=True, slots=True)
class GTest:
    """G = 2 Σ O ln(O/E), its degrees of freedom, and the chance of a larger G under the null."""

    statistic: float
    degrees: int
    p_value: float


def g_test(counts: Sequence[int], law: Sequence[float], least: float = 5.0) -> GTest:
    """Compare counts with a law by cell; cells expecting fewer than `least` are merged.

    Raises ValueError where a token of probability zero was seen: no test is needed then.
    """
    total = sum(counts)
    if any(count and not share for count, share in zip(counts, law, strict=True)):
        raise ValueError("A token of probability zero was drawn.")
    cells = [(c, share * total) for c, share in zip(counts, law, strict=True) if share]
    big = [cell for cell in cells if cell[1] >= least]
    small = [cell for cell in cells if cell[1] < least]
    if small:
        big.append((sum(c for c, _ in small), sum(e for _, e in small)))
    statistic = 2 * sum(c * math.log(c / e) for c, e in big if c)
    degrees = len(big) - 1
    return GTest(statistic, degrees, _chi_square_tail(statistic, degrees))


def _chi_square_tail(statistic: float, degrees: int) -> float:
    if degrees < 1:
        return 1.0
    half = torch.tensor([degrees / 2, max(statistic, 0.0) / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))
