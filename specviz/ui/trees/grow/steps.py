"""The steps of a growth in words: what the drafter read, what went on, what was kept, and why."""

from __future__ import annotations

from math import exp
from typing import Any

from specviz.texts import count
from specviz.trees.grown_tree import GrownTree
from specviz.trees.recorded_position import RecordedPosition
from specviz.ui.trees.words import quoted

Step = dict[str, Any]


def steps(field: RecordedPosition, one: GrownTree, dynamic: bool) -> list[Step]:
    """All steps up to the tree that goes to the target. born: how many nodes are there then."""
    found = [_start(field)]
    for number, level in enumerate(one.levels, 1):
        if dynamic and number > 1:
            found.append(_frontier(one, level, found[-1]["born"]))
        found += [_expand(field, one, level, at) for at in range(len(level))]
    born = len(one.growth.tokens)
    if dynamic:
        found.append({"kind": "rerank", "born": born, "say": _reranked(one)})
    found.append({"kind": "mask", "born": born, "say": _masked(field, one)})
    return found


def _start(field: RecordedPosition) -> Step:
    said = f"The text ends with {quoted(field, field.root)}. Nothing is guessed yet."
    return {"kind": "start", "born": 1, "say": said}


def _expand(field: RecordedPosition, one: GrownTree, level: list[int], at: int) -> Step:
    node, growth = level[at], one.growth
    kids = [n for n, parent in enumerate(growth.parents) if parent == node and n]
    best = kids[0] if kids else node
    of = f", {at + 1} of {len(level)} that it reads in this pass" if len(level) > 1 else ""
    chance = exp(growth.totals[best] - growth.totals[node])
    said = (
        f"After {quoted(field, growth.tokens[node])}{of}, the drafter’s best guess is "
        f"{quoted(field, growth.tokens[best])}, with {chance:.2f}. "
        f"{count(len(kids), 'guess', 'guesses')} join the pool; on each line stands the "
        "log-probability of the whole path."
        if kids
        else f"After {quoted(field, growth.tokens[node])} nothing was recorded."
    )
    born = (kids[-1] if kids else node) + 1
    return {"kind": "expand", "born": born, "node": node, "level": level, "say": said}


def _frontier(one: GrownTree, level: list[int], born: int) -> Step:
    deep = one.growth.depths[level[0]]
    many = one.growth.depths.count(deep)
    said = (
        f"{count(many, 'guess', 'guesses')} stand at +{deep}. The {len(level)} with the highest "
        "totals are the frontier: only they are read on. All stay in the pool."
    )
    return {"kind": "frontier", "born": born, "level": level, "say": said}


def _reranked(one: GrownTree) -> str:
    weighed, kept, totals = len(one.order), len(one.kept) - 1, one.growth.totals
    if weighed == kept:
        return f"All {count(weighed, 'guess', 'guesses')} weighed fit the budget; none is dropped."
    last, first = one.order[kept - 1], one.order[kept]
    return (
        f"Of {weighed} guesses weighed, the {kept} with the highest totals are kept, "
        f"whatever their level. The last one in has {told(totals[last])}, the first one out "
        f"{told(totals[first])}. No child has more than its parent, so none is kept without it."
    )


def _masked(field: RecordedPosition, one: GrownTree) -> str:
    rows, deep = len(one.kept), max(one.tree.depths)
    return (
        f"The tree goes to the target as {count(rows, 'row')} in one pass. Each row sees the text, "
        f"its own ancestors and itself, and stands at position {field.length} + its depth (up to "
        f"{deep}): to the target every path is a text of its own, so one pass judges them all."
    )


def told(total: float) -> str:
    """A log-probability as it is shown."""
    return f"{total:.2f}".replace("-", "−")
