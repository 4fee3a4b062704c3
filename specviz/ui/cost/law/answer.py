"""Validate a question about the speed-up formula, and answer it: sentences, numbers and figures.

Functions have no side effects. Everything is simulated except the numbers of a measured run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf, isfinite, log
from typing import Any, Final, Self, TypedDict

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
from specviz.ui.questions import BadRequest, Refusal

LONGEST_LIST: Final = 100
MOST_GUESSES: Final = 64
MOST_PLACES: Final = 8
DEEPEST: Final = 12
MAPS: Final = ("gamma", "c")
PARTS: Final = ("formula", "trees")  # parts of the page
LIMITS: Final[Mapping[str, tuple[str, float, float]]] = {  # name in errors, minimum, maximum
    "alpha": ("α", 0.0, 1.0),
    "gamma": ("γ", 0.0, 64.0),
    "c": ("c", 0.0, 10.0),
    "verify": ("The verification pass", 0.1, 20.0),
    "c_hat": ("ĉ", 0.0, 10.0),
}


@dataclass(frozen=True, slots=True)
class LawQuestion:
    """Slider values, chosen map, tree as typed, run to compare with, and open parts of the page."""

    terms: SpeedupModel
    gamma: float
    map: str
    widths: str
    places: str
    run: MeasuredPoint | None
    parts: tuple[str, ...] = PARTS

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest if it is invalid."""
        if data.get("map") not in MAPS:
            raise BadRequest(f"The map must be one of {', '.join(MAPS)}.")
        found = {name: _number(data.get(name), name) for name in LIMITS}
        gamma = found.pop("gamma")
        return cls(
            terms=SpeedupModel(**found),
            gamma=gamma,
            map=data["map"],
            widths=str(data.get("widths")),
            places=str(data.get("places")),
            run=_run(data.get("run")),
            parts=_open_parts(data.get("parts", PARTS)),
        )


def widths(text: str) -> list[int]:
    """Parse the number of children of a node at each depth, typed as in "3, 2, 1"."""
    found = [int(_typed(part, "widths", whole=True)) for part in _parts(text, "widths", DEEPEST)]
    guesses, level = 0, 1
    for width in found:
        level *= width
        guesses += level
        if guesses > MOST_GUESSES:
            raise BadRequest(f"This tree has more than {MOST_GUESSES} draft tokens.", "widths")
    if not all(width >= 1 for width in found):
        raise BadRequest("Each level needs at least 1 child, as in 3, 2, 1, 1.", "widths")
    return found


def places(text: str) -> list[float]:
    """Parse acceptance by sibling rank, typed as in "0.65, 0.11"."""
    found = [_typed(part, "places") for part in _parts(text, "places", MOST_PLACES)]
    if not all(0.0 <= chance <= 1.0 for chance in found):
        raise BadRequest(
            "Acceptance probabilities lie between 0 and 1, as in 0.65, 0.11.", "places"
        )
    if any(after > before for before, after in pairwise(found)):
        raise BadRequest(
            "A later sibling cannot have a higher probability than an earlier one.", "places"
        )
    if sum(found) > 1.0 + 1e-9:
        said = f"Only one sibling can be accepted, but these probabilities sum to {sum(found):.4g}."
        raise BadRequest(said, "places")
    return found


def _finite(value: Any, called: str, field: str = "") -> float:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or abs(value) > 1e15 or not isfinite(value):
        raise BadRequest(f"{called} must be a number.", field)
    return float(value)


def _number(value: Any, name: str) -> float:
    called, least, most = LIMITS[name]
    found = _finite(value, called, name)
    if not least <= found <= most:
        raise BadRequest(f"{called} must be between {least:g} and {most:g}.", name)
    return found


def _open_parts(data: Any) -> tuple[str, ...]:
    if not isinstance(data, list | tuple) or not all(part in PARTS for part in data):
        raise BadRequest(f"The parts must be among {', '.join(PARTS)}.")
    return tuple(data)


def _run(data: Any) -> MeasuredPoint | None:
    """Parse a measured point; unknown keys are ignored."""
    if data is None:
        return None
    if not isinstance(data, dict):
        raise BadRequest("A measured run must be a JSON object.")
    names = [field.name for field in fields(MeasuredPoint)]
    if data.get("tokens_per_pass") is None:  # a file of an older page
        names.remove("tokens_per_pass")
    found = {name: _finite(data.get(name), f"A run's {name}") for name in names}
    costs = [found[name] for name in names if name != "alpha"]
    if not 0.0 <= found["alpha"] <= 1.0 or min(costs) < 0.0 or max(costs) > 1e6:
        raise BadRequest("This measured run has impossible numbers.")
    if min(found["verify"], found["gamma"], found["tokens"], found["speedup"]) <= 0.0:
        raise BadRequest("This measured run has impossible numbers.")
    return MeasuredPoint(**found)


def _parts(text: str, field: str, most: int) -> list[str]:
    if len(text) > LONGEST_LIST:
        raise BadRequest(f"The list is longer than {LONGEST_LIST} characters.", field)
    found = text.replace(",", " ").split()
    if not 1 <= len(found) <= most:
        raise BadRequest(f"Type 1 to {most} numbers, separated by commas.", field)
    return found


def _typed(part: str, field: str, whole: bool = False) -> float:
    kind = "an integer" if whole else "a number"
    try:
        found = float(int(part)) if whole else float(part)
    except (ValueError, OverflowError) as problem:
        raise BadRequest(f"“{part[:20]}” is not {kind}.", field) from problem
    if not isfinite(found):
        raise BadRequest(f"“{part[:20]}” is not {kind}.", field)
    return found


NEAR: Final = 0.03  # relative difference up to which formula and run agree


class Round(TypedDict):
    """Tokens and cost of a round in plain passes, as numbers and as texts."""

    tokens: float
    draft: float
    check: float
    numbers: dict[str, str]


class RunFacts(TypedDict):
    """A run compared with the formula.

    Attributes:
        rows: Term, value and meaning of each row.
    """

    measured: str
    law: str
    why: str
    rows: list[tuple[str, str, str]]


class Formula(TypedDict):
    """The results of the formula for the chosen values."""

    best: str
    chosen: str
    round: Round
    speed: Figure
    time: Figure
    map: Figure
    run: RunFacts | None


class Card(TypedDict):
    """A tree, with its expected results by the formula."""

    name: str
    tokens: float
    speedup: float
    tree: ExpectedTree
    numbers: dict[str, str]


class Trees(TypedDict):
    """The typed tree, a chain and the best tree of the same size."""

    cards: list[Card]
    said: str


class Answer(TypedDict):
    """The answers for the parts of the page; None for closed parts."""

    formula: Formula | None
    trees: Trees | Refusal | None


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question for the parts that are open. Raises BadRequest if it is invalid."""
    asked = LawQuestion.from_data(data)
    return {
        "formula": formula_facts(asked) if "formula" in asked.parts else None,
        "trees": tree_facts(asked) if "trees" in asked.parts else None,
    }


def formula_facts(asked: LawQuestion) -> Formula:
    """Return the results of the formula: sentences, a round, figures, and the measured run."""
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
    """Return one sentence that says when drafting saves time for these values."""
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
    """Return the sentence on the prediction of the formula for the chosen γ."""
    if gamma == 0.0:
        return text("cost", "formula_nothing_drafted")
    here, shown = terms.speedup(gamma), number(gamma, 0)
    if abs(here - 1.0) < formula.TOLERANCE:
        return text("cost", "formula_break_even", gamma=shown)
    return text("cost", "formula_chosen", gamma=shown, speedup=times(here), slower=here < 1.0)


def round_of(terms: SpeedupModel, gamma: float) -> Round:
    """Return the tokens and cost of a round at the chosen γ, as the page shows them."""
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


# Why α differs from the share of accepted guesses that Step's end card gives.
ALPHA: Final = (
    "probability that a judged position accepts a draft token; the coins decide which share is "
    "accepted"
)


DRAFTED: Final = "of a round that drafted"
EVERY_PASS: Final = "over all passes, the one over the prompt included, as on Step and Compare"


def compared(run: MeasuredPoint) -> RunFacts:
    """Compare a run with the formula for the run's own α, γ, c and v."""
    predicted = formula.expected_tokens(run.alpha, run.gamma)
    gamma = "draft tokens in a chain" if run.chain else "levels of the draft tree"
    mean = run.tokens_per_pass
    per_pass = [] if mean is None else [("tokens per pass", f"{mean:.2f}", EVERY_PASS)]
    return {
        "measured": times(run.speedup),
        "law": times(run.predicted),
        "why": why(run, predicted),
        "rows": [
            ("α", f"{run.alpha:.2f}", ALPHA),
            ("γ", f"{run.gamma:.2f}", gamma),
            ("c", f"{run.c:.2f}", "drafting one of them, in plain passes"),
            ("v", f"{run.verify:.2f}", "the verification pass, in plain passes"),
            ("tokens", f"{run.tokens:.2f}", f"{DRAFTED}; the formula predicts {predicted:.2f}"),
            *per_pass,
        ],
    }


def why(run: MeasuredPoint, predicted: float) -> str:
    """Return why formula and run differ: the larger one of two measurable reasons.

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
    """Compare trees, or return the error in what was typed."""
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
    """Format a visitor's number with its own decimals: at least `fewest`, at most four."""
    shown = f"{value:.4f}".rstrip("0")
    whole, _, decimals = shown.partition(".")
    return f"{whole}.{decimals.ljust(fewest, '0')}" if decimals or fewest else whole


def times(value: float) -> str:
    """Format a ratio to plain decoding, with more decimals if two would round it to 1."""
    digits = next((d for d in (2, 3, 4) if round(value, d) != 1.0 or value == 1.0), 2)
    return f"{value:.{digits}f} ×"
