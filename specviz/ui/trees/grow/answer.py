"""Answer a question about a growing tree: nodes, layout, steps, mask, verdict and gains.

Functions have no side effects. Everything is computed from a recorded position, without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import exp
from typing import Any, Final, TypedDict

from specviz.catalog.entry import title_of
from specviz.cost import tree_formula
from specviz.cost.figures.payoff import payoff_figure
from specviz.cost.sweep import Sweep
from specviz.figures.layout import LayoutData
from specviz.figures.tree import Label, whole_tree
from specviz.frames.scene import Word
from specviz.settings.chance import Chance
from specviz.shipped import HOUSE
from specviz.texts import text
from specviz.trees import shapes
from specviz.trees.grown_tree import (
    AcceptanceEstimates,
    GrownTree,
    Table,
    estimate_acceptance,
    fitted_pass_cost,
    greedy_matches,
    grow_tree,
    marginal_prices,
    static_tree,
    target_probabilities,
)
from specviz.trees.judging import PositionModels
from specviz.trees.ranking import shipped_tables
from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.shapes import paths_of
from specviz.ui.broken import read_unless_broken
from specviz.ui.instrument import shown as figure_text
from specviz.ui.trees.drawing import TreeNode, drawn, place, quoted, shown
from specviz.ui.trees.grow import GrowQuestion
from specviz.ui.trees.grow.steps import Step, format_total, steps

ROUND: Final = 1  # the round whose random numbers are used here
SHOWN: Final = 24  # how many tokens of the text are shown before the tree
Views = dict[str, list[int] | list[list[int]] | str]


class Origin(TypedDict):
    """The models and the machine that the numbers come from."""

    drafter: str
    target: str
    machine: str


class Node(TreeNode):
    """A guess of the pool, or the root.

    Attributes:
        total: The log-probability of its path, as text.
        rank: Rank among all guesses of the pool, from 1.
        row: Its row in the target's pass; None if it was dropped.
        kept: Probability that a round accepts it.
        believed: The same probability, computed from the drafter's own probabilities.
    """

    total: str
    q: float
    rank: int
    row: int | None
    p: float
    kept: float
    believed: float


class Layouts(TypedDict):
    """The layout of the pool, and of the tree alone."""

    all: LayoutData
    kept: LayoutData


class Level(TypedDict):
    """The layout of the pool down to one depth: its height, and the height of each guess."""

    height: float
    y: list[float]


class Decision(TypedDict):
    """A guess that was judged: it is accepted if u < p."""

    node: int
    u: float
    p: float


class Judgement(TypedDict):
    """What the target accepts: the path, and every decision."""

    path: list[int]
    decisions: list[Decision]


class Length(TypedDict):
    """An accepted length.

    Attributes:
        name: What it was computed from.
    """

    name: str
    said: str
    value: float


class Margins(TypedDict):
    """The gain of each guess, and up to which guess the gain is larger than the cost."""

    figure: str
    said: str


class Answer(TypedDict):
    """The answer for one tree at one position.

    Attributes:
        origin: The models and the machine that the numbers come from.
        text: The last tokens before the tree, and its root.
        kept: Nodes of the tree, one for each row of the pass.
        levels: Layouts of the pool, by depth.
        mask: For each row of the pass, the rows that it attends to.
        positions: Position of each row.
        views: The tree in the formats of other programs.
        names: Size of the tree, in the terms of each program.
    """

    origin: Origin
    text: list[Word]
    nodes: list[Node]
    kept: list[int]
    layouts: Layouts
    levels: list[Level]
    steps: list[Step]
    mask: list[list[int]]
    positions: list[int]
    views: Views
    names: dict[str, dict[str, int]]
    verdict: Judgement
    lengths: list[Length]
    margins: Margins
    notes: list[str]


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises ValueError if it is invalid."""
    return whole(GrowQuestion.from_data(data))


def whole(asked: GrowQuestion) -> Answer:
    """Return everything that the section shows about one tree at one position."""
    field = place(asked.place)
    table = ranks(field)
    one = tree_of(asked, field, table)
    value = chances_of(field, one, table, asked.cold)
    verdict = verified(field, one, asked)
    found = nodes(field, one, value)
    labels = [node["label"] for node in found]
    return {
        "origin": origin(field),
        "text": [shown(field, token) for token in field.context[-SHOWN:]],
        "nodes": found,
        "kept": one.kept,
        "layouts": {"all": layout(labels, one, None), "kept": layout(labels, one, one.kept)},
        "levels": levels(labels, one),
        "steps": [*steps(field, one, asked.kind == "dynamic"), judged(field, one, verdict)],
        "mask": shapes.mask(one.tree.parents),
        "positions": shapes.positions(one.tree.parents, field.length),
        "views": lists(one),
        "names": asked.parameters.names if asked.kind == "dynamic" else {},
        "verdict": verdict,
        "lengths": lengths(one, value, verdict, bool(table)),
        "margins": marginal(one, value),
        "notes": notes(asked, field, one),
    }


def tree_of(asked: GrowQuestion, field: RecordedPosition, table: Table) -> GrownTree:
    """Grow or build the requested tree. Raises BadTree."""
    asked.parameters.check_vocabulary(field.vocabulary)
    if asked.kind == "dynamic":
        return grow_tree(field, asked.parameters)
    first = list(table[0]) if table else list(field.rows[()].p)
    return static_tree(field, paths_of(asked.parents(first)))


def ranks(field: RecordedPosition) -> Table:
    """Return the drafter's acceptance by depth and rank; empty if it was not measured."""
    found = shipped_tables().get(field.drafter) if field.target == HOUSE else None
    return found.by_depth if found else []


def chances_of(
    field: RecordedPosition, one: GrownTree, table: Table, cold: bool
) -> AcceptanceEstimates:
    """Return each guess's probability of acceptance, at temperature 1 or 0."""
    warm = estimate_acceptance(field, one, table)
    if not cold:
        return warm
    return AcceptanceEstimates(
        tree_formula.path_probabilities(one.growth.parents, greedy_matches(field, one)),
        warm.ranks,
        warm.believed,
    )


def origin(field: RecordedPosition) -> Origin:
    """Return which models and machine the numbers come from."""
    return {
        "drafter": title_of(field.drafter),
        "target": title_of(field.target),
        "machine": f"{field.machine} · {field.dtype}",
    }


def nodes(field: RecordedPosition, one: GrownTree, value: AcceptanceEstimates) -> list[Node]:
    """Return each node of the pool with its numbers."""
    growth, p = one.growth, target_probabilities(field, one)
    at = {node: row for row, node in enumerate(one.kept)}
    rank = {node: number for number, node in enumerate(one.order, 1)}
    return [
        {
            **drawn(field, token, growth.parents[node], growth.depths[node]),
            "total": format_total(growth.totals[node]) if node else "",
            "q": round(_confidence(one, node), 4),
            "rank": rank.get(node, 0),
            "row": at.get(node),
            "p": round(p[node], 5),
            "kept": round(value.exact[node], 5),
            "believed": round(value.believed[node], 5),
        }
        for node, token in enumerate(growth.tokens)
    ]


def _confidence(one: GrownTree, node: int) -> float:
    """Return the drafter's probability of a guess after its parent."""
    totals, parent = one.growth.totals, one.growth.parents[node]
    return exp(totals[node] - totals[parent]) if node else 1.0


def layout(labels: Sequence[Label], one: GrownTree, only: Sequence[int] | None) -> LayoutData:
    """Return the layout of the pool by node, for all nodes or only some of them."""
    chosen = list(range(len(labels))) if only is None else list(only)
    new = {node: place for place, node in enumerate(chosen)}
    parents = [new[one.growth.parents[node]] if node else -1 for node in chosen]
    found = whole_tree([labels[node] for node in chosen], parents).to_json()
    places = {str(node): found["places"][str(place)] for place, node in enumerate(chosen)}
    return {**found, "places": places}


def levels(labels: Sequence[Label], one: GrownTree) -> list[Level]:
    """Return, for each depth, the layout of the pool down to it: its height, and each node's."""
    parents, depths = one.growth.parents, one.growth.depths
    found = [whole_tree(labels, parents, deepest=depth) for depth in range(max(depths) + 1)]
    return [
        {"height": made.height, "y": [made.places[node][1] for node in sorted(made.places)]}
        for made in found
    ]


def lists(one: GrownTree) -> Views:
    """Return the tree in the formats of other programs."""
    parents = one.tree.parents
    links = shapes.linked_list(parents)
    paths = ";".join(",".join(map(str, path)) for path in paths_of(parents))
    return {
        "parents": list(parents),
        "next_token": links.next_token,
        "next_sibling": links.next_sibling,
        "retrieve_indices": shapes.retrieve_indices(parents),
        "rank_paths": paths,
    }


def verified(field: RecordedPosition, one: GrownTree, asked: GrowQuestion) -> Judgement:
    """Judge the tree once, by the rule for guesses that were not sampled."""
    verdict = PositionModels(field).verify(one, Chance(asked.seed, ROUND), asked.cold)
    decisions: list[Decision] = [
        {"node": one.kept[each.node], "u": round(each.u, 3), "p": round(each.threshold, 3)}
        for each in verdict.decisions
    ]
    return {"path": [one.kept[node] for node in verdict.path], "decisions": decisions}


def judged(field: RecordedPosition, one: GrownTree, verdict: Judgement) -> Step:
    """Return the last step: which guesses the target accepts."""
    path = verdict["path"]
    tokens = " ".join(quoted(field, one.growth.tokens[node]) for node in path)
    kept = text("trees", "verify_none")
    if path:
        kept = text("trees", "verify_accepted", guesses=len(path), tokens=tokens)
    sentence = text("trees", "verify", judged=len(verdict["decisions"]), kept=kept)
    return {"kind": "verify", "born": len(one.growth.tokens), "say": sentence}


def lengths(
    one: GrownTree, value: AcceptanceEstimates, verdict: Judgement, measured: bool
) -> list[Length]:
    """Return accepted lengths and what each was computed from, in the order shown."""
    found = value.length(one.kept)
    rows = [
        ("ranks", "predicted from acceptance by rank", found["ranks"] if measured else None),
        ("believed", "predicted from the drafter’s confidence", found["believed"]),
        ("exact", "exact, from the target’s p here", found["exact"]),
        ("thrown", "with these coins", float(len(verdict["path"]))),
    ]
    return [
        {"name": name, "said": said, "value": round(length, 3)}
        for name, said, length in rows
        if length is not None
    ]


def marginal(one: GrownTree, value: AcceptanceEstimates) -> Margins:
    """Return the gain and the cost of each guess, the most probable guess first."""
    kept = one.order[: len(one.kept) - 1]
    gains = [value.exact[node] for node in kept]
    brought = [1.0]
    for gain in gains:
        brought.append(brought[-1] + gain)
    sweep = measured_sweep()
    costs = [fitted_pass_cost(sweep, 1 + many) if sweep else None for many in range(len(kept) + 1)]
    price = marginal_prices(brought, costs)
    forecast = [value.ranks[node] for node in kept]
    paying = [gain > cost for gain, cost in zip(gains, price, strict=True) if cost is not None]
    last = max((at for at, pays in enumerate(paying, 1) if pays), default=0)
    said = _paid(last, len(kept), sweep)
    return {"figure": figure_text(payoff_figure(gains, forecast, price), said), "said": said}


def _paid(last: int, guesses: int, sweep: Sweep | None) -> str:
    if sweep is None:
        return text("trees", "price_unknown")
    if last == guesses:
        return text("trees", "every_guess_pays", machine=sweep.machine)
    if not last:
        return text("trees", "no_guess_pays", machine=sweep.machine)
    return text("trees", "guesses_pay_up_to", number=last, machine=sweep.machine)


@cache
def measured_sweep() -> Sweep | None:
    """Return the measured pass times that the Cost tab shows; None if they cannot be read."""
    return read_unless_broken(Sweep.shipped, None)


def notes(asked: GrowQuestion, field: RecordedPosition, one: GrownTree) -> list[str]:
    """Return sentences that say how the tree differs from the request."""
    found = []
    if asked.kind == "dynamic" and asked.parameters.depth > field.deepest:
        sentence = text(
            "trees",
            "depth_limited",
            drafter=title_of(field.drafter),
            levels=field.deepest,
            depth=asked.parameters.depth,
        )
        found.append(sentence)
    if one.missing:
        found.append(text("trees", "not_recorded", guesses=len(one.missing)))
    return found
