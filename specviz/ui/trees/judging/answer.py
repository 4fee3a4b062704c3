"""Answer a question about two rules on a sampled tree: their decisions and expectations.

Functions have no side effects. The real rules are run; their formulas are not repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self, TypedDict

from specviz.figures.layout import LayoutData
from specviz.figures.tree import whole_tree
from specviz.settings.chance import Chance
from specviz.texts import text
from specviz.trees.judging import (
    SAMPLING_MODES,
    SHAPES,
    PositionModels,
    SampledTree,
    Scores,
    average,
)
from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.shapes import check_range
from specviz.ui.questions import BadRequest
from specviz.ui.trees.drawing import TreeNode, drawn, place, quoted
from specviz.verification import Verdict

TREES: Final = 600  # number of trees for an average, which takes a second or two, once
ROUND: Final = 1
TITLES: Final = {"top-down": "Top-down", "traversal": "Traversal"}
GAP: Final = 44
SEEDS: Final = 2**31
Coin = tuple[str, str, str, str]  # guess, u, threshold, outcome


class JudgedNode(TreeNode, Scores):
    """A token of the sampled tree."""


class RuleAnswer(TypedDict):
    """The result of a rule.

    Attributes:
        roles: State of each node.
        coins: The random numbers, in the order in which they were used.
    """

    name: str
    title: str
    roles: list[str]
    coins: list[Coin]
    expected: str
    said: str


class Answer(TypedDict):
    """Two rules on one sampled tree.

    Attributes:
        average: The result over many trees, as a sentence.
    """

    nodes: list[JudgedNode]
    layout: LayoutData
    rules: list[RuleAnswer]
    average: str | None


@dataclass(frozen=True, slots=True)
class JudgingQuestion:
    """A sampled tree to judge.

    Attributes:
        place: Name of a position.
        shape: Index in SHAPES.
        drawn: Key of SAMPLING_MODES.
        seed: Seed of the tree and of the random numbers.
        average: Whether to add the average over many trees.
    """

    place: str
    shape: int
    drawn: str
    seed: int
    average: bool

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest or BadTree if it is invalid."""
        drawn = data.get("drawn")
        if not isinstance(drawn, str) or drawn not in SAMPLING_MODES:
            raise BadRequest(f"The sampling must be one of {', '.join(SAMPLING_MODES)}.")
        return cls(
            place=str(data.get("place")),
            shape=check_range("The shape", data.get("shape"), 0, len(SHAPES) - 1),
            drawn=drawn,
            seed=check_range("The seed", data.get("seed"), 0, SEEDS),
            average=bool(data.get("average")),
        )


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises ValueError if it is invalid."""
    return whole(JudgingQuestion.from_data(data))


def whole(asked: JudgingQuestion) -> Answer:
    """Return everything that the section shows about one sampled tree."""
    field = place(asked.place)
    chance = Chance(asked.seed, ROUND)
    draft = PositionModels(field).draft(SHAPES[asked.shape], SAMPLING_MODES[asked.drawn], chance)
    tokens = [field.root, *(draft.vocabulary[at] for at in draft.tree.tokens[1:])]
    verdicts, expected = draft.verdicts(chance), draft.expected()
    parents = draft.tree.parents
    nodes: list[JudgedNode] = [
        {**drawn(field, token, parent, depth), **draft.scores(node)}
        for node, (token, parent, depth) in enumerate(
            zip(tokens, parents, draft.tree.depths, strict=True)
        )
    ]
    return {
        "nodes": nodes,
        "layout": whole_tree([node["label"] for node in nodes], parents, GAP).to_json(),
        "rules": [
            {
                "name": name,
                "title": TITLES[name],
                "roles": roles(draft, verdict),
                "coins": coins(field, tokens, verdict),
                "expected": f"{expected[name]:.3f}",
                "said": said(field, tokens, verdict),
            }
            for name, verdict in verdicts.items()
        ],
        "average": mean(asked.place, asked.shape, asked.drawn) if asked.average else None,
    }


def roles(draft: SampledTree, verdict: Verdict) -> list[str]:
    """Return the state of each node after a verdict."""
    found = ["unreached"] * len(draft.tree)
    for each in verdict.decisions:
        found[each.node] = "accepted" if each.accepted else "rejected"
    for node in verdict.path:
        found[node] = "accepted"
    found[0] = "kept"
    return found


def coins(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> list[Coin]:
    """Return the decisions in order: guess, u, threshold, and outcome."""
    return [
        (
            quoted(field, tokens[each.node]),
            f"{each.u:.3f}",
            f"{each.threshold:.3f}",
            "accepted" if each.accepted else "rejected",
        )
        for each in verdict.decisions
    ]


def said(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> str:
    """Return the sentence that names the tokens which this verdict accepts."""
    coins_thrown = len(verdict.decisions)
    if not verdict.path:
        return text("trees", "rule_keeps_nothing", coins=coins_thrown)
    words = " ".join(quoted(field, tokens[node]) for node in verdict.path)
    return text("trees", "rule_keeps", coins=coins_thrown, tokens=words)


@lru_cache(64)  # limited, since visitors' positions change
def mean(name: str, shape: int, drawn: str) -> str:
    """Return both rules' averages over many sampled trees; cached for all visitors."""
    found = average(PositionModels(place(name)), SHAPES[shape], SAMPLING_MODES[drawn], TREES, 1)
    gain = found.lengths["traversal"] - found.lengths["top-down"]
    return text(
        "trees",
        "rules_on_average",
        trees=found.trees,
        top_down=f"{found.lengths['top-down']:.3f}",
        traversal=f"{found.lengths['traversal']:.3f}",
        gain=f"{gain:+.3f}".replace("-", "−"),
        error=f"{1.96 * found.error:.3f}",
    )
