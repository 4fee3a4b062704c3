"""How candidates come out of a draft's law, and which q a rule is told of them.

A rule is exact for one way of drawing. Here is every way, the wrong ones too: drawn at another
temperature than is told, told a q though nothing was drawn, dropped after they were seen.
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


Model = Callable[[Context], Tensor]  # a context to the law (V,) of the next token


def identity(law: Tensor) -> Tensor:
    """The law as it is."""
    return law


def keep_all(law: Tensor, token: int) -> bool:
    """No candidate is dropped."""
    return False


@dataclass(frozen=True, slots=True)
class CandidateMethod:
    """drawn: how siblings stand to each other. source: from the draft's law, what they are really
    drawn from. told: from the draft's law, the q that the rule is told; None where it has none.
    drops: whether a candidate is taken out again, with all below it, once it is seen.
    """

    drawn: Drawn
    reported_q: Callable[[Tensor], Tensor] | None = identity
    sampled_from: Callable[[Tensor], Tensor] = identity
    drop: Callable[[Tensor, int], bool] = keep_all


def as_method(how: Drawn | CandidateMethod) -> CandidateMethod:
    """A way of drawing in which nothing is hidden: from q, and q is told; a point mass has none."""
    if isinstance(how, CandidateMethod):
        return how
    return CandidateMethod(how, None if how is Drawn.POINT_MASS else identity)


def proposals(
    draft: Model, parents: Sequence[int], how: Drawn | CandidateMethod, context: Context = ()
) -> Iterator[tuple[float, DraftTree, dict[int, Tensor]]]:
    """Every tree of this shape that the drafter can propose, with its probability and q by parent.

    A point mass takes the top tokens of the draft law as children, ties by id. The trees' nodes are
    in the order of `parents`; a dropped candidate is not among them.
    """
    drawing, shape = as_method(how), DraftTree((0,) * len(parents), tuple(parents))
    for weight, guesses in _grown(draft, shape, drawing, context):
        tree = DraftTree((0, *guesses), shape.parents)
        laws = {
            n: draft(context + path_tokens(tree, n)) for n in range(len(tree)) if shape.children[n]
        }
        tree, laws = _pruned(tree, laws, drawing)
        told = drawing.reported_q
        yield weight, tree, {} if told is None else {n: told(law) for n, law in laws.items()}


def _grown(
    draft: Model, shape: DraftTree, drawing: CandidateMethod, context: Context
) -> Iterator[tuple[float, Context]]:
    """Every labelling of the shape's guesses that has a chance, with it, node by node."""
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
        law = drawing.sampled_from(draft(context + path_tokens(tree, parent)))
        for token, share in _next(law, before, drawing.drawn, size):
            waiting.append((weight * share, (*guesses, token)))


def _next(
    law: Tensor, before: Sequence[int], drawn: Drawn, size: int
) -> Iterator[tuple[int, float]]:
    """What the sibling after those `before` can be, with its chance.

    Where no token is left, the last one comes again: `remove_token` gives such a law back as it is.
    """
    if drawn is Drawn.POINT_MASS:
        order = law.sort(descending=True, stable=True).indices
        yield int(order[min(len(before), size - 1)]), 1.0
        return
    if drawn is Drawn.WITHOUT_REPLACEMENT:
        for token in before:
            law = remove_token(law, token)
    yield from ((token, share) for token, share in enumerate(law.tolist()) if share > 0.0)


def _pruned(
    tree: DraftTree, laws: dict[int, Tensor], drawing: CandidateMethod
) -> tuple[DraftTree, dict[int, Tensor]]:
    """Without the candidates that are dropped once they are seen, and all below them."""
    if drawing.drop is keep_all:
        return tree, laws
    kept = [0]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent in kept and not drawing.drop(laws[parent], tree.tokens[node]):
            kept.append(node)
    smaller = tree.subtree(kept)
    return smaller, {kept.index(n): laws[n] for n in kept if smaller.children[kept.index(n)]}


def path_tokens(tree: DraftTree, node: int) -> Context:
    """The guesses on the path to `node`, root left out."""
    return tuple(tree.tokens[n] for n in tree.path(node)[1:])


def at_temperature(law: Tensor, temperature: float) -> Tensor:
    """A law as it would have come out at another temperature: scaled q^(1/T), 0 staying 0."""
    scores = torch.where(law > 0, law.log() / temperature, -torch.inf)
    return scores.softmax(-1)


def truncate(law: Tensor, many: int) -> Tensor:
    """A law cut to its top tokens and scaled to 1; ties by id."""
    order = law.sort(descending=True, stable=True).indices[:many]
    kept = torch.zeros_like(law).scatter_(0, order, law[order])
    return kept / kept.sum()
