"""Two rules on one drawn tree: what each decides on the same coins, and what it expects.

Pure: text in, text out. The production rules are run; nothing here knows their formulas.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from specviz.settings.chance import Chance
from specviz.texts import count
from specviz.trees.recorded_position import RecordedPosition
from specviz.trees.rule_comparison import (
    SAMPLING_MODES,
    SHAPES,
    PositionModels,
    SampledTree,
    average,
)
from specviz.ui.trees.answering import answered
from specviz.ui.trees.drawn import placed
from specviz.ui.trees.judging.question import JudgingQuestion
from specviz.ui.trees.places import place
from specviz.ui.trees.words import quoted, shown
from specviz.verification import Verdict

TREES: Final = 600  # drawn for a mean: a second or two, once
ROUND: Final = 1
TITLES: Final = {"top-down": "Top-down", "traversal": "Traversal"}
GAP: Final = 44


def answer(text: Any) -> str:
    """JSON for the page; a question that cannot be answered gets the sentence that says why."""
    return answered(text, JudgingQuestion.from_text, whole)


def whole(asked: JudgingQuestion) -> dict[str, Any]:
    """Everything that the section shows of one drawn tree."""
    field = place(asked.place)
    chance = Chance(asked.seed, ROUND)
    draft = PositionModels(field).draft(SHAPES[asked.shape], SAMPLING_MODES[asked.drawn], chance)
    tokens = [field.root, *(draft.vocabulary[at] for at in draft.tree.tokens[1:])]
    verdicts, expected = draft.verdicts(chance), draft.expected()
    words = [shown(field, token) for token in tokens]
    rows = zip(words, draft.tree.parents, strict=True)
    return {
        "nodes": [{"w": word, "parent": parent} for word, parent in rows],
        "layout": placed(field, tokens, draft.tree.parents, GAP),
        "rules": [
            {
                "name": name,
                "title": TITLES[name],
                "roles": roles(draft, verdict),
                "coins": coins(field, tokens, verdict),
                "kept": len(verdict.path),
                "expected": f"{expected[name]:.3f}",
                "said": said(field, tokens, verdict),
            }
            for name, verdict in verdicts.items()
        ],
        "average": mean(asked) if asked.average else None,
    }


def roles(draft: SampledTree, verdict: Verdict) -> list[str]:
    """By node, what became of it."""
    found = ["unreached"] * len(draft.tree)
    for each in verdict.decisions:
        found[each.node] = "accepted" if each.accepted else "rejected"
    for node in verdict.path:
        found[node] = "accepted"
    found[0] = "kept"
    return found


def coins(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> list[list[str]]:
    """The decisions in the order made: guess, coin, chance to keep it, what it became."""
    return [
        [
            quoted(field, tokens[each.node]),
            f"{each.u:.3f}",
            f"{each.threshold:.3f}",
            "accepted" if each.accepted else "rejected",
        ]
        for each in verdict.decisions
    ]


def said(field: RecordedPosition, tokens: list[int], verdict: Verdict) -> str:
    """What a rule keeps, in words."""
    coins_ = count(len(verdict.decisions), "coin")
    if not verdict.path:
        return f"After {coins_} nothing is kept."
    words = " ".join(quoted(field, tokens[node]) for node in verdict.path)
    return f"After {coins_} it keeps {words}."


def mean(asked: JudgingQuestion) -> dict[str, Any]:
    """Both rules over many drawn trees; made once for everybody."""
    return dict(_mean(asked.place, asked.shape, asked.drawn))


@lru_cache(64)  # positions of visitors come and go
def _mean(name: str, shape: int, drawn: str) -> tuple[tuple[str, Any], ...]:
    found = average(PositionModels(place(name)), SHAPES[shape], SAMPLING_MODES[drawn], TREES, 1)
    gain = found.lengths["traversal"] - found.lengths["top-down"]
    told = (
        f"Over {found.trees} drawn trees, each with all of its coins: top-down keeps "
        f"{found.lengths['top-down']:.3f} guesses, traversal {found.lengths['traversal']:.3f}, "
        f"{gain:+.3f} ± {1.96 * found.error:.3f}. On a single tree either may be ahead; on average "
        "over drafts traversal never keeps fewer."
    ).replace("-0", "−0")
    return (("said", told),)
