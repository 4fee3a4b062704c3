"""Answer one question about the speed-up formula: sentences, formatted numbers and figures.

Pure. Everything is simulated except what a run measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any, Final, TypedDict

from specviz.cost import formula, tree_formula
from specviz.cost.figures.maps import cost_map, gamma_map
from specviz.cost.figures.speedup import (
    ExpectedTree,
    expected_tree,
    shown_to,
    speed_figure,
    time_figure,
)
from specviz.cost.formula import MeasuredPoint, SpeedupModel
from specviz.frames.scene import Figure
from specviz.texts import text
from specviz.ui.cost.law.question import LawQuestion, places, widths
from specviz.ui.questions import BadRequest, Refusal

NEAR: Final = 0.03  # relative difference below which formula and run agree


class Round(TypedDict):
    """Tokens and cost of a round in plain passes, and as the page shows them."""

    tokens: float
    draft: float
    check: float
    numbers: dict[str, str]


class RunFacts(TypedDict):
    """A run compared with the formula; rows: term, value, meaning."""

    measured: str
    law: str
    why: str
    rows: list[tuple[str, str, str]]


class Formula(TypedDict):
    """What the formula says for the chosen values."""

    best: str
    chosen: str
    round: Round
    speed: Figure
    time: Figure
    map: Figure
    run: RunFacts | None


class Card(TypedDict):
    """A tree with what the formula expects of it."""

    name: str
    tokens: float
    speedup: float
    tree: ExpectedTree
    numbers: dict[str, str]


class Trees(TypedDict):
    """The typed tree beside a chain and the best tree of the same size."""

    cards: list[Card]
    said: str


class Answer(TypedDict):
    """The answers for the open parts; None for a closed one."""

    formula: Formula | None
    trees: Trees | Refusal | None


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question for the parts that are open. Raises BadRequest with a sentence."""
    asked = LawQuestion.from_data(data)
    return {
        "formula": formula_facts(asked) if "formula" in asked.parts else None,
        "trees": tree_facts(asked) if "trees" in asked.parts else None,
    }


def formula_facts(asked: LawQuestion) -> Formula:
    """Return what the formula says: sentences, a round, figures, and the measured run."""
    terms, gamma, run = asked.terms, asked.gamma, asked.run
    end = shown_to(terms, gamma, run.gamma if run else 0.0)
    chart = gamma_map(terms, gamma, end, run) if asked.map == "gamma" else cost_map(terms, run)
    return {
        "best": best_sentence(terms),
        "chosen": chosen_sentence(terms, gamma),
        "round": round_of(terms, gamma),
        "speed": speed_figure(terms, gamma, end, run),
        "time": time_figure(terms, gamma, end),
        "map": chart,
        "run": compared(run) if run else None,
    }


def best_sentence(terms: SpeedupModel) -> str:
    """Answer "when does drafting pay?" for these values in one sentence."""
    best = terms.best()
    values = {
        "alpha": number(terms.alpha),
        "c": number(terms.c) if terms.c else "",
        "v": number(terms.verify) if terms.verify != 1.0 else "",
    }
    if best.gamma == 0:
        above = formula.can_pay(terms.alpha, terms.c)
        return text("cost", "formula_never_pays", **values, alpha_above_c=above)
    if best.gamma is None:
        limit = "" if best.speedup == inf else times(best.speedup)
        return text("cost", "formula_longer_is_better", **values, limit=limit)
    speedup = times(best.speedup)
    return text("cost", "formula_best", **values, gamma=best.gamma, speedup=speedup)


def chosen_sentence(terms: SpeedupModel, gamma: float) -> str:
    """Say what the formula predicts for the chosen γ."""
    if gamma == 0.0:
        return text("cost", "formula_nothing_drafted")
    here, shown = terms.speedup(gamma), number(gamma, 0)
    if abs(here - 1.0) < formula.TOLERANCE:
        return text("cost", "formula_break_even", gamma=shown)
    return text("cost", "formula_chosen", gamma=shown, speedup=times(here), slower=here < 1.0)


def round_of(terms: SpeedupModel, gamma: float) -> Round:
    """Tokens and cost of a round at the chosen γ, as the page shows them."""
    drafted = gamma > 0.0
    tokens = formula.expected_tokens(terms.alpha, gamma)
    draft, check = gamma * terms.c, terms.verify if drafted else 1.0
    work = terms.arithmetic(gamma)
    return {
        "tokens": tokens, "draft": draft, "check": check,
        "numbers": {
            "tokens": f"{tokens:.2f}", "cost": f"{draft + check:.2f}", "draft": f"{draft:.2f}",
            "check": f"{check:.2f}", "speedup": times(terms.speedup(gamma)), "work": times(work),
        },
    }  # fmt: skip


def compared(run: MeasuredPoint) -> RunFacts:
    """Compare a run with the formula at the run's own α, γ, c and v."""
    predicted = formula.expected_tokens(run.alpha, run.gamma)
    gamma = "draft tokens in a chain" if run.chain else "levels of the draft tree"
    return {
        "measured": times(run.speedup),
        "law": times(run.predicted),
        "why": why(run, predicted),
        "rows": [
            ("α", f"{run.alpha:.2f}", "probability that a judged position accepts a draft token"),
            ("γ", f"{run.gamma:.2f}", gamma),
            ("c", f"{run.c:.2f}", "drafting one of them, in plain passes"),
            ("v", f"{run.verify:.2f}", "the verification pass, in plain passes"),
            ("tokens", f"{run.tokens:.2f}", f"per round; the formula predicts {predicted:.2f}"),
        ],
    }


def why(run: MeasuredPoint, predicted: float) -> str:
    """Say why formula and run differ, by the larger of the two reasons that can be measured.

    Args:
        run: The measured run.
        predicted: Tokens per round that the formula predicts for it.
    """
    tree = not run.chain
    if abs(run.speedup / run.predicted - 1.0) < NEAR:
        return text("cost", "run_agrees", percent=f"{100 * NEAR:.0f}", tree=tree)
    rounds = formula.speedup_from_tokens(run.tokens, run.gamma * run.c, run.verify)
    by_tokens, by_time = log(run.tokens / predicted), log(run.speedup / rounds)
    gap = log(run.speedup / run.predicted)
    if by_tokens * gap > by_time * gap:
        return text(
            "cost",
            "run_tokens_differ",
            fewer=by_tokens < 0,
            tokens=f"{run.tokens:.2f}",
            predicted=f"{predicted:.2f}",
            tree=tree,
        )
    return text("cost", "run_time_differs", speedup=times(rounds), tree=tree)


def tree_facts(asked: LawQuestion) -> Trees | Refusal:
    """Compare trees, or name the error of what was typed."""
    try:
        return trees_compared(asked)
    except BadRequest as problem:
        return {"problem": str(problem), "field": problem.field}


def trees_compared(asked: LawQuestion) -> Trees:
    """Compare the typed tree, a chain and the best tree of the same size. Raises BadRequest."""
    shape, chances = widths(asked.widths), places(asked.places)
    typed = tree_formula.full_tree(shape)
    guesses = len(typed) - 1
    kinds = (
        ("Your tree", typed),
        ("A chain", list(range(-1, guesses))),
        ("Most tokens", tree_formula.best_tree(chances, guesses)),
    )
    cards = [_card(name, parents, chances, asked.terms) for name, parents in kinds]
    return {"cards": cards, "said": _trees_sentence(cards, guesses)}


def _card(name: str, parents: Sequence[int], chances: Sequence[float], terms: SpeedupModel) -> Card:
    keep = tree_formula.acceptance_by_position(parents, chances)
    depth, tokens = max(tree_formula.depths(parents)), tree_formula.expected_tokens(parents, keep)
    speedup = formula.speedup_from_tokens(tokens, depth * terms.c, terms.verify)
    return {
        "name": name,
        "tokens": tokens,
        "speedup": speedup,
        "tree": expected_tree(parents, tree_formula.path_probabilities(parents, keep)),
        "numbers": {"tokens": f"{tokens:.3f}", "levels": str(depth), "speedup": times(speedup)},
    }


def _trees_sentence(cards: Sequence[Card], guesses: int) -> str:
    tree, chain, best = (card["numbers"]["tokens"] for card in cards)
    fastest = max(cards, key=lambda card: card["speedup"])
    same = fastest is cards[2] or fastest["numbers"]["speedup"] == cards[2]["numbers"]["speedup"]
    faster = "" if same else fastest["name"].lower()
    return text(
        "cost", "trees_compared", guesses=guesses, tree=tree, chain=chain, best=best, faster=faster
    )


def number(value: float, fewest: int = 2) -> str:
    """Format a number that a visitor chose: its decimals, at least `fewest` and at most four."""
    shown = f"{value:.4f}".rstrip("0")
    whole, _, decimals = shown.partition(".")
    return f"{whole}.{decimals.ljust(fewest, '0')}" if decimals or fewest else whole


def times(value: float) -> str:
    """Format a ratio to plain decoding, with more digits where two would round it to 1."""
    digits = next((d for d in (2, 3, 4) if round(value, d) != 1.0 or value == 1.0), 2)
    return f"{value:.{digits}f} ×"
