"""The law's answer to one question: sentences, numbers as they are shown, figures.

Pure: text in, text out, no state. All that is said here is simulated, except what a run measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import inf, log
from typing import Any, Final

from specviz.cost import formula, tree_formula
from specviz.cost.figures.speedup import (
    cost_map,
    gamma_map,
    shown_to,
    small_tree,
    speed_figure,
    time_figure,
)
from specviz.cost.formula import SpeedupModel
from specviz.cost.measured_point import MeasuredPoint
from specviz.ui.cost.law.question import LawQuestion, places, widths
from specviz.ui.question import Unasked, number_of

NEAR: Final = 0.03  # the law and a run that differ by less agree


def answer(text: Any) -> str:
    """JSON for the page; a question that cannot be answered gets the sentence that says why."""
    try:
        asked = LawQuestion.from_text(text)
    except Unasked as problem:
        return _json({"id": number_of(text), "problem": str(problem), "field": problem.field})
    terms, gamma, run = asked.terms, asked.gamma, asked.run
    end = shown_to(terms, gamma, run.gamma if run else 0.0)
    chart = gamma_map(terms, gamma, end, run) if asked.map == "gamma" else cost_map(terms, run)
    told = {
        "id": asked.number,
        "best": best_sentence(terms),
        "chosen": chosen_sentence(terms, gamma),
        "round": round_of(terms, gamma),
        "speed": speed_figure(terms, gamma, end, run),
        "time": time_figure(terms, gamma, end),
        "map": chart,
        "trees": _trees(asked),
        "run": run and compared(run),
    }
    return _json(told)


def best_sentence(terms: SpeedupModel) -> str:
    """The one sentence that answers "when does drafting pay?" on these terms."""
    best = terms.best()
    checking = "" if terms.verify == 1.0 else f" and a checking pass of {number(terms.verify)}"
    cost = (
        f"a guess costing {number(terms.c)} of a pass" if terms.c else "guesses that cost nothing"
    )
    said = f"With α {number(terms.alpha)} and {cost}{checking}"
    if best.gamma == 0:
        above = formula.can_pay(terms.alpha, terms.c)
        reason = "checking costs too much" if above else "α must be above what a guess costs"
        return f"{said}, no draft length pays: {reason}."
    if best.gamma is None:
        reach = "without limit" if best.speedup == inf else f"up to {times(best.speedup)} plain"
        return f"{said}, the longer the draft the better: {reach}."
    return f"{said}, the best draft is γ = {best.gamma}: {times(best.speedup)} plain."


def chosen_sentence(terms: SpeedupModel, gamma: float) -> str:
    """What the law says of the chosen γ."""
    if gamma == 0.0:
        return "γ = 0 drafts nothing: this is plain decoding."
    here, told = terms.speedup(gamma), f"Your γ = {number(gamma, 0)}"
    if abs(here - 1.0) < formula.TOLERANCE:
        return f"{told} is as fast as plain decoding."
    end = "" if here > 1.0 else ": drafting loses here"
    return f"{told} gives {times(here)} plain{end}."


def round_of(terms: SpeedupModel, gamma: float) -> dict[str, Any]:
    """What a round at the chosen γ brings and costs, as the page shows it."""
    drafted = gamma > 0.0
    tokens = formula.expected_tokens(terms.alpha, gamma)
    draft, check = gamma * terms.c, terms.verify if drafted else 1.0
    work = terms.arithmetic(gamma)
    return {
        "tokens": tokens, "draft": draft, "check": check,
        "told": {
            "tokens": f"{tokens:.2f}", "cost": f"{draft + check:.2f}", "draft": f"{draft:.2f}",
            "check": f"{check:.2f}", "speedup": times(terms.speedup(gamma)), "work": times(work),
        },
    }  # fmt: skip


def compared(run: MeasuredPoint) -> dict[str, Any]:
    """A run beside the law at the run's own α, γ, c and checking pass."""
    expected = formula.expected_tokens(run.alpha, run.gamma)
    return {
        "measured": times(run.speedup),
        "law": times(run.predicted),
        "why": why(run, expected),
        "rows": [
            ["α", f"{run.alpha:.2f}", "the chance that a judged position keeps a guess"],
            ["γ", f"{run.gamma:.2f}", "guesses in a row" if run.chain else "levels of the tree"],
            ["c", f"{run.c:.2f}", "drafting one of them, in plain passes"],
            ["v", f"{run.verify:.2f}", "the checking pass, in plain passes"],
            ["tokens", f"{run.tokens:.2f}", f"a round brought; the law expects {expected:.2f}"],
        ],
        "take": {name: round(getattr(run, name), 3) for name in ("alpha", "gamma", "c", "verify")},
    }


def why(run: MeasuredPoint, expected: float) -> str:
    """Where the law and the run part, by the larger of the two reasons that can be measured."""
    tree = "" if run.chain else " It drafted trees, and γ is their depth."
    if abs(run.speedup / run.predicted - 1.0) < NEAR:
        return f"They agree to within {100 * NEAR:.0f} %.{tree}"
    rounds = formula.speedup_from_tokens(run.tokens, run.gamma * run.c, run.verify)
    brought, rest = log(run.tokens / expected), log(run.speedup / rounds)
    gap = log(run.speedup / run.predicted)
    if brought * gap > rest * gap:
        few = "fewer" if brought < 0 else "more"
        said = (
            f"A round brought {few} tokens than the law expects, {run.tokens:.2f} for "
            f"{expected:.2f}: it takes all guesses as equally likely to be kept, and one run is a "
            "small sample."
        )
    else:
        said = (
            f"By its drafted rounds alone the run would be at {times(rounds)}: the first pass and "
            "rounds that drafted nothing count for the run, and the law leaves them out."
        )
    return said + tree


def _trees(asked: LawQuestion) -> dict[str, Any]:
    """The typed tree, a chain and the best tree of as many guesses; or what is wrong with it."""
    try:
        shape, chances = widths(asked.widths), places(asked.places)
    except Unasked as problem:
        return {"problem": str(problem), "field": problem.field}
    typed = tree_formula.full_tree(shape)
    guesses = len(typed) - 1
    kinds = (
        ("Your tree", typed),
        ("A chain", list(range(-1, guesses))),
        ("Most tokens", tree_formula.best_tree(chances, guesses)),
    )
    cards = [_card(name, parents, chances, asked.terms) for name, parents in kinds]
    return {"cards": cards, "said": _trees_sentence(cards, guesses)}


def _card(
    name: str, parents: Sequence[int], chances: Sequence[float], terms: SpeedupModel
) -> dict[str, Any]:
    keep = tree_formula.acceptance_by_position(parents, chances)
    depth, tokens = max(tree_formula.depths(parents)), tree_formula.expected_tokens(parents, keep)
    speedup = formula.speedup_from_tokens(tokens, depth * terms.c, terms.verify)
    return {
        "name": name,
        "tokens": tokens,
        "speedup": speedup,
        "figure": small_tree(parents, tree_formula.path_probabilities(parents, keep)),
        "told": {"tokens": f"{tokens:.3f}", "levels": str(depth), "speedup": times(speedup)},
    }


def _trees_sentence(cards: Sequence[dict[str, Any]], guesses: int) -> str:
    tree, chain, best = (card["told"]["tokens"] for card in cards)
    fastest = max(cards, key=lambda card: float(card["speedup"]))
    slower = fastest is cards[2] or fastest["told"]["speedup"] == cards[2]["told"]["speedup"]
    faster = "" if slower else f" Each level costs c, so {fastest['name'].lower()} is faster."
    return (
        f"With {guesses} guess{'' if guesses == 1 else 'es'} a round, this tree brings "
        f"{tree} tokens, a chain {chain}, and no tree more than {best}.{faster}"
    )


def number(value: float, fewest: int = 2) -> str:
    """A number that a visitor chose: two decimals, or as many as it has, up to four."""
    shown = f"{value:.4f}".rstrip("0")
    whole, _, decimals = shown.partition(".")
    return f"{whole}.{decimals.ljust(fewest, '0')}" if decimals or fewest else whole


def times(value: float) -> str:
    """A ratio to plain decoding; more digits only where two would say 1 of what is not."""
    digits = next((d for d in (2, 3, 4) if round(value, d) != 1.0 or value == 1.0), 2)
    return f"{value:.{digits}f} ×"


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)
