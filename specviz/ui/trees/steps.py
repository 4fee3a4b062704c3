"""The steps in which a tree grows, as sentences: drafting, expanding, final selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Literal

from specviz.texts import text
from specviz.trees.grown_tree import GrownTree
from specviz.trees.recorded_position import RecordedPosition
from specviz.ui.trees.drawing import quoted


@dataclass(frozen=True, slots=True)
class Step:
    """A step in which a tree grows, or the verdict on it.

    Attributes:
        born: Number of nodes in the pool after this step.
        level: All nodes that are expanded at the same depth.
    """

    kind: Literal["start", "expand", "frontier", "rerank", "mask", "verify"]
    born: int
    say: str
    node: int | None = None
    level: Sequence[int] = ()


def steps(field: RecordedPosition, one: GrownTree, dynamic: bool) -> list[Step]:
    """Return all steps up to the tree that the target verifies.

    Args:
        field: The position.
        one: The tree and its pool.
        dynamic: Whether the tree is dynamic: only the best nodes are expanded, and only the best
            guesses kept.
    """
    found = [_start(field)]
    for number, level in enumerate(one.levels, 1):
        if dynamic and number > 1:
            found.append(_frontier(one, level, found[-1].born))
        found += [_expand(field, one, level, at) for at in range(len(level))]
    born = len(one.growth.tokens)
    if dynamic:
        found.append(Step("rerank", born, _reranked(one)))
    found.append(Step("mask", born, _masked(field, one)))
    return found


def _start(field: RecordedPosition) -> Step:
    sentence = text("trees", "start", token=quoted(field, field.root))
    return Step("start", 1, sentence)


def _expand(field: RecordedPosition, one: GrownTree, level: list[int], at: int) -> Step:
    node, growth = level[at], one.growth
    kids = [n for n, parent in enumerate(growth.parents) if parent == node and n]
    token = quoted(field, growth.tokens[node])
    if not kids:
        sentence = text("trees", "expand_nothing", token=token)
        return Step("expand", node + 1, sentence, node, level)
    best = kids[0]
    several = len(level) > 1
    of = text("trees", "expand_of", number=at + 1, nodes=len(level)) if several else ""
    sentence = text(
        "trees",
        "expand",
        token=token,
        of=f" {of}" if of else "",
        best=quoted(field, growth.tokens[best]),
        probability=f"{exp(growth.totals[best] - growth.totals[node]):.2f}",
        guesses=len(kids),
    )
    return Step("expand", kids[-1] + 1, sentence, node, level)


def _frontier(one: GrownTree, level: list[int], born: int) -> Step:
    depth = one.growth.depths[level[0]]
    guesses = one.growth.depths.count(depth)
    sentence = text("trees", "frontier", guesses=guesses, depth=depth, kept=len(level))
    return Step("frontier", born, sentence, level=level)


def _reranked(one: GrownTree) -> str:
    pool, kept, totals = len(one.order), len(one.kept) - 1, one.growth.totals
    if pool == kept:
        return text("trees", "rerank_all", guesses=pool)
    last, first = one.order[kept - 1], one.order[kept]
    return text(
        "trees",
        "rerank",
        pool=pool,
        kept=kept,
        last=format_total(totals[last]),
        first_dropped=format_total(totals[first]),
    )


def _masked(field: RecordedPosition, one: GrownTree) -> str:
    rows, depth = len(one.kept), max(one.tree.depths)
    return text("trees", "mask", rows=rows, position=field.length, depth=depth)


def format_total(total: float) -> str:
    """Format a log-probability with two decimals."""
    return f"{total:.2f}".replace("-", "−")
