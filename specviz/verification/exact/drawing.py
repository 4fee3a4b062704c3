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
from specviz.verification.distributions import without
from specviz.verification.tree import DraftTree

Context = tuple[int, ...]


Model = Callable[[Context], Tensor]  # a context to the law (V,) of the next token


def itself(law: Tensor) -> Tensor:
    """The law as it is."""
    return law


def never(law: Tensor, token: int) -> bool:
    """No candidate is dropped."""
    return False


@dataclass(frozen=True, slots=True)
class Drawing:
    """drawn: how siblings stand to each other. source: from the draft's law, what they are really
    drawn from. told: from the draft's law, the q that the rule is told; None where it has none.
    drops: whether a candidate is taken out again, with all below it, once it is seen.
    """

    drawn: Drawn
    told: Callable[[Tensor], Tensor] | None = itself
    source: Callable[[Tensor], Tensor] = itself
    drops: Callable[[Tensor, int], bool] = never


def plainly(how: Drawn | Drawing) -> Drawing:
    """A way of drawing in which nothing is hidden: from q, and q is told; a point mass has none."""
    if isinstance(how, Drawing):
        return how
    return Drawing(how, None if how is Drawn.POINT_MASS else itself)


def proposals(
    draft: Model, parents: Sequence[int], how: Drawn | Drawing, context: Context = ()
) -> Iterator[tuple[float, DraftTree, dict[int, Tensor]]]:
    """Every tree of this shape that the drafter can propose, with its probability and q by parent.

    A point mass takes the top tokens of the draft law as children, ties by id. The trees' nodes are
    in the order of `parents`; a dropped candidate is not among them.
    """
    drawing, shape = plainly(how), DraftTree((0,) * len(parents), tuple(parents))
    for weight, guesses in _grown(draft, shape, drawing, context):
        tree = DraftTree((0, *guesses), shape.parents)
        laws = {n: draft(context + words(tree, n)) for n in range(len(tree)) if shape.children[n]}
        tree, laws = _pruned(tree, laws, drawing)
        told = drawing.told
        yield weight, tree, {} if told is None else {n: told(law) for n, law in laws.items()}


def _grown(
    draft: Model, shape: DraftTree, drawing: Drawing, context: Context
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
        law = drawing.source(draft(context + words(tree, parent)))
        for token, share in _next(law, before, drawing.drawn, size):
            waiting.append((weight * share, (*guesses, token)))


def _next(
    law: Tensor, before: Sequence[int], drawn: Drawn, size: int
) -> Iterator[tuple[int, float]]:
    """What the sibling after those `before` can be, with its chance.

    Where no token is left, the last one comes again: `without` gives such a law back as it is.
    """
    if drawn is Drawn.POINT_MASS:
        order = law.sort(descending=True, stable=True).indices
        yield int(order[min(len(before), size - 1)]), 1.0
        return
    if drawn is Drawn.WITHOUT_REPLACEMENT:
        for token in before:
            law = without(law, token)
    yield from ((token, share) for token, share in enumerate(law.tolist()) if share > 0.0)


def _pruned(
    tree: DraftTree, laws: dict[int, Tensor], drawing: Drawing
) -> tuple[DraftTree, dict[int, Tensor]]:
    """Without the candidates that are dropped once they are seen, and all below them."""
    if drawing.drops is never:
        return tree, laws
    kept = [0]
    for node in range(1, len(tree)):
        parent = tree.parents[node]
        if parent in kept and not drawing.drops(laws[parent], tree.tokens[node]):
            kept.append(node)
    smaller = tree.kept(kept)
    return smaller, {kept.index(n): laws[n] for n in kept if smaller.children[kept.index(n)]}


def words(tree: DraftTree, node: int) -> Context:
    """The guesses on the path to `node`, root left out."""
    return tuple(tree.tokens[n] for n in tree.path(node)[1:])


def tempered(law: Tensor, temperature: float) -> Tensor:
    """A law as it would have come out at another temperature: scaled q^(1/T), 0 staying 0."""
    scores = torch.where(law > 0, law.log() / temperature, -torch.inf)
    return scores.softmax(-1)


def truncated(law: Tensor, many: int) -> Tensor:
    """A law cut to its top tokens and scaled to 1; ties by id."""
    order = law.sort(descending=True, stable=True).indices[:many]
    kept = torch.zeros_like(law).scatter_(0, order, law[order])
    return kept / kept.sum()
