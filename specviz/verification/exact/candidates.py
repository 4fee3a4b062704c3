"""How candidates are sampled from the draft's distribution, and which q is reported to the rule.

A rule is exact for one way of sampling. This module implements several ways, including wrong ones:
sampling at another temperature than the reported q has, reporting a q although nothing was sampled,
and dropping candidates after looking at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification.distributions import remove_token
from specviz.verification.tree import DraftTree

Context = tuple[int, ...]


Model = Callable[[Context], Tensor]  # maps a context to the distribution (V,) of the next token


def identity(probs: Tensor) -> Tensor:
    """Return the distribution unchanged."""
    return probs


def keep_all(probs: Tensor, token: int) -> bool:
    """Return False: no candidate is dropped."""
    return False


@dataclass(frozen=True, slots=True)
class CandidateMethod:
    """A way of choosing candidates.

    Attributes:
        reported_q: Computes the q that is reported to the rule from the draft's distribution; None
            if none is reported.
        sampled_from: Computes the distribution that candidates are really sampled from.
        drop: Returns whether a candidate is dropped after it was sampled, with all candidates below
            it.
    """

    drawn: Drawn
    reported_q: Callable[[Tensor], Tensor] | None = identity
    sampled_from: Callable[[Tensor], Tensor] = identity
    drop: Callable[[Tensor, int], bool] = keep_all


def as_method(how: Drawn | CandidateMethod) -> CandidateMethod:
    """Return the correct method: sample from the reported q, and report none for a point mass."""
    if isinstance(how, CandidateMethod):
        return how
    return CandidateMethod(how, None if how is Drawn.POINT_MASS else identity)


def proposals(
    draft: Model, parents: Sequence[int], how: Drawn | CandidateMethod, context: Context = ()
) -> Iterator[tuple[float, DraftTree, dict[int, Tensor]]]:
    """Yield every tree of this shape that the drafter can propose.

    A point mass takes the top tokens of the draft's distribution as children, ties by id. Nodes are
    in the order of `parents`; dropped candidates are removed. Yields the tree's probability, the
    tree, and q for each parent.
    """
    method, shape = as_method(how), DraftTree((0,) * len(parents), tuple(parents))
    for weight, guesses in _assignments(draft, shape, method, context):
        tree = DraftTree((0, *guesses), shape.parents)
        by_parent = {
            n: draft(context + path_tokens(tree, n)) for n in range(len(tree)) if shape.children[n]
        }
        tree, by_parent = _prune(tree, by_parent, method)
        report = method.reported_q
        q = {} if report is None else {n: report(probs) for n, probs in by_parent.items()}
        yield weight, tree, q


def _assignments(
    draft: Model, shape: DraftTree, method: CandidateMethod, context: Context
) -> Iterator[tuple[float, Context]]:
    size = draft(context).shape[-1]
    waiting: list[tuple[float, Context]] = [(1.0, ())]
    while waiting:
        weight, guesses = waiting.pop()
        node = len(guesses) + 1
        if node == len(shape):
            yield weight, guesses
            continue
        tree = DraftTree((0, *guesses), shape.parents[:node])
        parent = shape.parents[node]
        before = [tree.tokens[n] for n in tree.children[parent]]
        probs = method.sampled_from(draft(context + path_tokens(tree, parent)))
        for token, probability in _next_siblings(probs, before, method.drawn, size):
            waiting.append((weight * probability, (*guesses, token)))


def _next_siblings(
    probs: Tensor, before: Sequence[int], drawn: Drawn, size: int
) -> Iterator[tuple[int, float]]:
    # If none is left, the last one is repeated: `remove_token` never removes the only token.
    if drawn is Drawn.POINT_MASS:
        order = probs.sort(descending=True, stable=True).indices
        yield int(order[min(len(before), size - 1)]), 1.0
        return
    if drawn is Drawn.WITHOUT_REPLACEMENT:
        for token in before:
            probs = remove_token(probs, token)
    yield from (
        (token, probability)
        for token, probability in enumerate(probs.tolist())
        if probability > 0.0
    )


def _prune(
    tree: DraftTree, by_parent: dict[int, Tensor], method: CandidateMethod
) -> tuple[DraftTree, dict[int, Tensor]]:
    if method.drop is keep_all:
        return tree, by_parent
    retained = [0]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent in retained and not method.drop(by_parent[parent], tree.tokens[node]):
            retained.append(node)
    smaller = tree.subtree(retained)
    return smaller, {
        retained.index(n): by_parent[n] for n in retained if smaller.children[retained.index(n)]
    }


def path_tokens(tree: DraftTree, node: int) -> Context:
    """Return the guesses on the path to `node`, without the root."""
    return tuple(tree.tokens[n] for n in tree.path(node)[1:])


def at_temperature(probs: Tensor, temperature: float) -> Tensor:
    """Return a distribution at another temperature: q^(1/T), normalized; zeros stay zero."""
    scores = torch.where(probs > 0, probs.log() / temperature, -torch.inf)
    return scores.softmax(-1)


def truncate(probs: Tensor, count: int) -> Tensor:
    """Return a distribution cut to its `count` top tokens (ties by id) and normalized."""
    order = probs.sort(descending=True, stable=True).indices[:count]
    retained = torch.zeros_like(probs).scatter_(0, order, probs[order])
    return retained / retained.sum()
