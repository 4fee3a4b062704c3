"""Answer a question of the ranking lab: one tree ranked in eight ways, side by side.

Functions have no side effects. Each way is really computed in its precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

from specviz.figures.tree import whole_tree
from specviz.settings.chance import Chance
from specviz.texts import text
from specviz.trace.depths import node_depths
from specviz.trees import judging
from specviz.trees.grown_tree import estimate_acceptance, grow_tree, target_probabilities
from specviz.trees.ranking import RankedTree, rank_all_ways
from specviz.trees.recorded_position import Path, RecordedPosition
from specviz.trees.rounding import EXACT
from specviz.ui.trees.drawing import Tree, drawn, quoted
from specviz.ui.trees.ranking import RankingQuestion
from specviz.verification.tree import DraftTree

GAP: Final = 96  # space between columns: a number on an edge has up to eleven characters
DIGITS: Final = 5
COINS: Final = Chance(1, 1)  # round whose random numbers are used for both trees
SHORT: Final = 34  # space between columns without numbers
Role = Literal["kept", "dropped", "gained", "lost", "tied"]


class Way(TypedDict):
    """A way of ranking.

    Attributes:
        length: Expected accepted length; None for a constructed tree, which has no target.
        roles: Role of each node that is drawn; `totals` has the same order.
    """

    name: str
    differ: int
    tied: int
    zeros: int
    orphans: list[str]
    length: float | None
    roles: list[Role]
    totals: list[str]
    said: str


class ComparedTree(Tree):
    """A tree with correct or wrong parents.

    Attributes:
        moved: For each node, whether its parent is wrong.
    """

    name: str
    moved: list[bool]
    length: float
    kept: str


class Answer(Tree):
    """One tree, ranked in eight ways.

    Attributes:
        exhibit: The tree as drafted, and with its parents off by one.
    """

    ways: list[Way]
    exhibit: list[ComparedTree] | None


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises ValueError if it is invalid."""
    return whole(RankingQuestion.from_data(data))


def whole(asked: RankingQuestion) -> Answer:
    """Return everything that the lab shows about one tree."""
    field, parameters = asked.field()
    made = rank_all_ways(field, parameters)
    paths = union(made)
    at = {path: node for node, path in enumerate(paths)}
    parents = [at[path[:-1]] if path else -1 for path in paths]
    tokens = [path[-1] if path else field.root for path in paths]
    real = asked.example is None
    return {
        **_tree(field, tokens, parents, GAP),
        "ways": [way(field, one, paths, real) for one in made],
        "exhibit": off_by_one_facts(field) if real and field.p_off_by_one else None,
    }


def _tree(
    field: RecordedPosition, tokens: Sequence[int], parents: Sequence[int], gap: float
) -> Tree:
    """Return the nodes of a tree and its layout."""
    rows = zip(tokens, parents, node_depths(list(parents)), strict=True)
    nodes = [drawn(field, token, parent, depth) for token, parent, depth in rows]
    layout = whole_tree([node["label"] for node in nodes], parents, gap).to_json()
    return {"nodes": nodes, "layout": layout}


def union(made: list[RankedTree]) -> list[Path]:
    """Return, by level, every path that some way keeps, and the first path that each way drops."""
    found: set[Path] = {()}
    for one in made:
        found |= one.grown.paths
        for node in one.grown.order[one.grown.budget : one.grown.budget + 1]:
            path = one.grown.path(node)
            found |= {path[:length] for length in range(1, len(path) + 1)}
    first = made[0].grown
    order = {first.path(node): node for node in range(len(first.growth.tokens))}
    return sorted(found, key=lambda path: (len(path), order.get(path, len(order)), path))


def way(field: RecordedPosition, one: RankedTree, paths: list[Path], real: bool) -> Way:
    """Return one way of ranking: the role and the total of each node that is drawn."""
    totals = one.grown.growth.totals
    at = {one.grown.path(node): node for node in range(len(totals))}
    last = totals[one.grown.order[len(one.grown.kept) - 2]]
    ties = {path for path, node in at.items() if totals[node] == last}
    length = (
        estimate_acceptance(field, one.grown, []).length(one.grown.kept)["exact"] if real else None
    )
    return {
        "name": one.way,
        "differ": len(one.gained),
        "tied": one.tied,
        "zeros": one.zeros,
        "orphans": [quoted(field, one.grown.growth.tokens[node]) for node in one.orphans],
        "length": None if length is None else round(length, 4),
        "roles": [role(path, one, ties) for path in paths],
        "totals": [figure(totals[at[path]]) if at.get(path) else "" for path in paths],
        "said": said(one),
    }


def role(path: Path, one: RankedTree, ties: set[Path]) -> Role:
    """Return the role of a guess in one way of ranking, such as kept or dropped.

    Args:
        path: The guess.
        one: The tree ranked that way.
        ties: Paths with the same score as the last one kept.
    """
    if path in one.gained:
        return "gained"
    if path in one.lost:
        return "lost"
    if not path or path in one.grown.paths:
        return "kept"
    return "tied" if path in ties else "dropped"


def figure(total: float) -> str:
    """Format a score with enough digits to distinguish it from similar ones."""
    return f"{total:.{DIGITS}g}".replace("-", "−")


def said(one: RankedTree) -> str:
    """Return how this way of ranking changes the tree, as a sentence."""
    if one.way == EXACT:
        found = [text("trees", "ranking_exact")]
    elif one.gained:
        found = [text("trees", "ranking_differs", guesses=len(one.gained))]
    else:
        found = [text("trees", "ranking_same")]
    if one.tied:
        found.append(text("trees", "ranking_tied", guesses=one.tied))
    if one.zeros:
        found.append(text("trees", "ranking_zeros", products=one.zeros))
    if one.orphans:
        found.append(text("trees", "ranking_orphans", guesses=len(one.orphans)))
    return " ".join(found)


def off_by_one_facts(field: RecordedPosition) -> list[ComparedTree]:
    """Return the tree as drafted, and with its parents off by one."""
    one = grow_tree(field, judging.SIZE)
    tree = one.tree
    wrong = judging.shift_parents(tree.parents)
    p = target_probabilities(field, one)
    right = [p[node] for node in one.kept]
    shapes = (
        ("As drafted", list(tree.parents), right),
        ("Parents off by one", wrong, field.p_off_by_one),
    )
    return [_hung(field, tree, *each) for each in shapes]


def _hung(
    field: RecordedPosition, tree: DraftTree, name: str, parents: list[int], p: list[float]
) -> ComparedTree:
    """Return a tree's guesses with these parents, its expected length, and one verdict."""
    kept = judging.accepted_nodes(parents, tree.tokens, p, COINS)
    return {
        **_tree(field, tree.tokens, parents, SHORT),
        "name": name,
        "moved": [a != b for a, b in zip(parents, tree.parents, strict=True)],
        "length": round(judging.expected_length(parents, tree.tokens, p), 2),
        "kept": " ".join(quoted(field, tree.tokens[node]) for node in kept) or "none",
    }
