"""Answer a question of the sandbox: the exact output distribution, and a verdict in words.

No state is kept. The real rule is run on every branch of a round, so no formula of a rule is
repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isfinite
from typing import Any, Final, Self, TypedDict

import torch
from torch import Tensor

from specviz import texts
from specviz.cost.formula import expected_tokens
from specviz.settings.settings import Sampling
from specviz.trace.rule_choice import select_rule
from specviz.trace.rule_specs import Drawn
from specviz.ui.lossless.sandbox import DRAWN, FEWEST_WORDS, MOST_CANDIDATES, MOST_WORDS
from specviz.ui.questions import BadRequest
from specviz.verification import Rule, make_rule
from specviz.verification.exact import (
    CandidateMethod,
    PositionResult,
    RoundSetup,
    enumerate_position,
)
from specviz.verification.exact.candidates import as_method
from specviz.verification.exact.closed_form import acceptance_ceiling
from specviz.verification.published_rules import EXACT, CaseVerdict

DEEP: Final = 4  # positions of a round; p and q are equal at each, so the formula is exact
WARM: Final = Sampling(1.0)
LONGEST_RULE: Final = 80  # maximum characters
NEAR_ONE: Final = 1e-6  # how much the sum of probabilities may differ from 1
DRAWN_BY_NAME: Final = {name: drawn for name, _, drawn in DRAWN}
HEADS: Final = (
    "p",
    "q",
    "min(p, q)",
    "max(p − q, 0)",
    "accepted guesses",
    "replacements",
    "output − p",
)


class Table(TypedDict):
    """All numbers: one row per word, and one with the sums."""

    heads: tuple[str, ...]
    rows: list[list[str]]


class Answer(TypedDict):
    """The exact output, and the verdict in words.

    Attributes:
        worst: Index of the word with the largest error, the subject of `sentence`.
        kept: For each word, the probability of an accepted guess.
        filled: For each word, the probability of a replacement; `kept` and `filled` sum to the
            output.
    """

    verdict: CaseVerdict
    sentence: str
    worst: int | None
    why: str
    kept: list[float]
    filled: list[float]
    numbers: dict[str, str]
    table: Table


@dataclass(frozen=True, slots=True)
class SandboxQuestion:
    """A question of the sandbox.

    Attributes:
        p: The target's probabilities (V,) of a few words.
        q: The drafter's probabilities (V,).
        rule: Name of the rule, or "auto" for the rule that fits.
    """

    p: tuple[float, ...]
    q: tuple[float, ...]
    drawn: Drawn
    candidates: int
    rule: str

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Validate the page's question. Raises BadRequest if it is invalid."""
        p, q = distribution(data.get("p"), "p"), distribution(data.get("q"), "q")
        if len(p) != len(q):
            raise BadRequest("p and q must have a probability for the same tokens.")
        drawn = str(data.get("drawn"))
        if drawn not in DRAWN_BY_NAME:
            ways = ", ".join(DRAWN_BY_NAME)
            raise BadRequest(f"Guesses are chosen in one of these ways: {ways}.")
        rule = data.get("rule")
        if not isinstance(rule, str) or len(rule) > LONGEST_RULE:
            raise BadRequest(f"A rule's name has at most {LONGEST_RULE} characters.")
        return cls(
            p=p,
            q=q,
            drawn=DRAWN_BY_NAME[drawn],
            candidates=min(
                whole(data.get("candidates"), "The number of guesses", 1, MOST_CANDIDATES),
                len(p),
            ),
            rule=rule,
        )


def whole(value: Any, called: str, least: int, most: int) -> int:
    """Return a whole number within limits. Raises BadRequest for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequest(f"{called} must be a whole number from {least} to {most}.")
    return value


def distribution(values: Any, called: str) -> tuple[float, ...]:
    """Scale probabilities (V,) so that they sum to 1. Raises BadRequest if they are invalid."""
    if not isinstance(values, list) or not FEWEST_WORDS <= len(values) <= MOST_WORDS:
        raise BadRequest(f"{called} must have {FEWEST_WORDS} to {MOST_WORDS} probabilities.")
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or not all(isfinite(v) and 0.0 <= v <= 1.0 for v in numbers):
        raise BadRequest(f"Every probability in {called} must be a number from 0 to 1.")
    total = fsum(numbers)
    if abs(total - 1.0) > NEAR_ONE:
        raise BadRequest(f"The probabilities in {called} sum to {total:.6g}; they must sum to 1.")
    return tuple(value / total for value in numbers)


def answer(data: Mapping[str, Any]) -> Answer:
    """Answer a question. Raises BadRequest or MismatchedRule if it is invalid."""
    question = SandboxQuestion.from_data(data)
    round_ = round_of(question)
    found = enumerate_position(round_)
    exact = found.tv < EXACT
    worst = None if exact else int(found.wrong.abs().argmax())
    return {
        "verdict": "exact" if exact else "lossy",
        "sentence": sentence(found, worst),
        "worst": worst,
        "why": why(question, round_.rule, exact),
        "kept": found.through_draft.tolist(),
        "filled": found.through_rest.tolist(),
        "numbers": format_numbers(question, found),
        "table": {"heads": HEADS, "rows": rows(question.q, found)},
    }


def round_of(question: SandboxQuestion) -> RoundSetup:
    """Build the round that a question describes.

    A rule that reads q gets q even if the guess was not sampled: a common mistake, which visitors
    should be able to try. Block and traversal verification judge whole branches, so they are not
    offered for a single position.

    Raises:
        MismatchedRule: If the rule cannot check such guesses.
    """
    drawn, fits = question.drawn, question.rule == "auto"
    rule = make_rule(select_rule(drawn, WARM) if fits else question.rule)
    method = CandidateMethod(drawn) if rule.spec.reads_q else as_method(drawn)
    p, q = tensor(question.p), tensor(question.q)
    return RoundSetup.position(rule, p, q, method, question.candidates)


def tensor(probabilities: Sequence[float]) -> Tensor:
    """Convert a distribution to a float64 tensor of shape (V,)."""
    return torch.tensor(probabilities, dtype=torch.float64)


def sentence(found: PositionResult, worst: int | None) -> str:
    """Return a sentence on whether the output is p, with the largest error and its word."""
    if worst is None:
        return texts.text("lossless", "output_is_p")
    out, p = found.output[worst].item(), found.p[worst].item()
    numbers = {"out": f"{out:.3f}", "p": f"{p:.3f}"}
    return texts.text("lossless", "output_differs", too_often=out > p, **numbers)


def why(question: SandboxQuestion, rule: Rule, exact: bool) -> str:
    """Return why the verdict is as it is: a property of the rule and of how guesses are chosen."""
    spec = rule.spec
    hidden = [texts.text("lossless", "error_hidden")] if exact else []
    if not spec.lossless:
        return " ".join([spec.tradeoff, *hidden])
    if question.drawn in spec.accepts:
        return texts.text("lossless", f"why_{_explanation(question, spec.name)}")
    if exact and question.candidates == 1 and question.drawn is not Drawn.POINT_MASS:
        hidden = [texts.text("lossless", "try_more_guesses")]
    elif exact:
        hidden.append(texts.text("lossless", "move_a_bar"))
    return " ".join([texts.text("lossless", MISFIT[question.drawn]), *hidden])


def _explanation(question: SandboxQuestion, rule: str) -> str:
    """Return the explanation of a lossless rule; with one guess, all rules that use q are equal."""
    if rule in EXPLAINED:
        return rule.replace("-", "_")
    if question.candidates == 1:
        return "speculative"
    return "without_replacement" if rule == "without-replacement" else "several"


EXPLAINED: Final = ("point-mass", "accept-reject", "k-seq")
MISFIT: Final[Mapping[Drawn, str]] = {  # names of macros, by how the guesses were chosen
    Drawn.POINT_MASS: "misfit_point_mass",
    Drawn.WITHOUT_REPLACEMENT: "misfit_without_replacement",
    Drawn.SAMPLED: "misfit_sampled",
}


def format_numbers(question: SandboxQuestion, found: PositionResult) -> dict[str, str]:
    """Format the numbers that are shown beside the bars."""
    best = acceptance_ceiling(
        tensor(question.p), tensor(question.q), question.drawn, question.candidates
    )
    return {
        "tv": "0" if found.tv < EXACT else f"{found.tv:.4f}",
        "kept": f"{found.acceptance:.4f}",
        "ceiling": f"{best:.4f}",
        "tokens": f"{expected_tokens(min(found.acceptance, 1.0), DEEP):.3f}",
    }


def rows(draft: Sequence[float], found: PositionResult) -> list[list[str]]:
    """Build the table: one row per word, then the sums; `draft` is the draft's distribution."""
    p, q = found.p, tensor(draft)
    both, above = torch.minimum(p, q), (p - q).clamp(min=0.0)
    columns = (p, q, both, above, found.through_draft, found.through_rest)
    lines = [
        [*(f"{column[at].item():.4f}" for column in columns), signed(found.wrong[at].item())]
        for at in range(len(p))
    ]
    return [*lines, [*(f"{column.sum().item():.4f}" for column in columns), ""]]


def signed(value: float) -> str:
    """Format a difference with its sign; a rounding error is 0."""
    return "0" if abs(value) < EXACT else f"{value:+.4f}".replace("-", "−")
