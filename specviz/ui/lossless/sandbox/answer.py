"""The answer to an experiment of the sandbox: the exact output, and a verdict in words.

No state is kept. The real rule is run on every branch of a round, so no formula of a rule is
repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NotRequired, TypedDict

import torch
from torch import Tensor

from specviz import texts
from specviz.cost.formula import expected_tokens
from specviz.settings.settings import Sampling
from specviz.trace.rule_choice import select_rule
from specviz.trace.rule_specs import Drawn
from specviz.ui.lossless.sandbox.experiment import Experiment, whole
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


class Reply(TypedDict):
    """What the page gets: the number of its experiment, and an answer, or why there is none."""

    number: int
    answer: NotRequired[Answer]
    problem: NotRequired[str]


def reply(data: Mapping[str, Any]) -> Reply:
    """Return the reply to an experiment of the page."""
    number = whole(data.get("number"), "The number", 1, 2**53)
    try:
        return {"number": number, "answer": answer(data)}
    except ValueError as problem:
        return {"number": number, "problem": str(problem)}


def answer(data: Mapping[str, Any]) -> Answer:
    """Return the answer to an experiment. Raises ValueError if it is invalid."""
    experiment = Experiment.from_data(data)
    round_ = round_of(experiment)
    found = enumerate_position(round_)
    exact = found.tv < EXACT
    worst = None if exact else int(found.wrong.abs().argmax())
    return {
        "verdict": "exact" if exact else "lossy",
        "sentence": sentence(found, worst),
        "worst": worst,
        "why": why(experiment, round_.rule, exact),
        "kept": found.through_draft.tolist(),
        "filled": found.through_rest.tolist(),
        "numbers": format_numbers(experiment, found),
        "table": {"heads": HEADS, "rows": rows(experiment.q, found)},
    }


def round_of(experiment: Experiment) -> RoundSetup:
    """Build the round of an experiment.

    A rule that reads q gets q even if the guess was not sampled: a common mistake, which visitors
    should be able to try. Block and traversal verification judge whole branches, so they are not
    offered for a single position. Raises MismatchedRule if the rule cannot check such guesses.
    """
    drawn, fits = experiment.drawn, experiment.rule == "auto"
    rule = make_rule(select_rule(drawn, WARM) if fits else experiment.rule)
    method = CandidateMethod(drawn) if rule.spec.reads_q else as_method(drawn)
    p, q = tensor(experiment.p), tensor(experiment.q)
    return RoundSetup.position(rule, p, q, method, experiment.candidates)


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


def why(experiment: Experiment, rule: Rule, exact: bool) -> str:
    """Return why the verdict is as it is: a property of the rule and of how guesses are chosen."""
    spec = rule.spec
    hidden = [texts.text("lossless", "error_hidden")] if exact else []
    if not spec.lossless:
        return " ".join([spec.tradeoff, *hidden])
    if experiment.drawn in spec.accepts:
        return texts.text("lossless", f"why_{_explanation(experiment, spec.name)}")
    if exact and experiment.candidates == 1 and experiment.drawn is not Drawn.POINT_MASS:
        hidden = [texts.text("lossless", "try_more_guesses")]
    elif exact:
        hidden.append(texts.text("lossless", "move_a_bar"))
    return " ".join([texts.text("lossless", MISFIT[experiment.drawn]), *hidden])


def _explanation(experiment: Experiment, rule: str) -> str:
    # With one guess, all rules that use q are equal.
    if rule in EXPLAINED:
        return rule.replace("-", "_")
    if experiment.candidates == 1:
        return "speculative"
    return "without_replacement" if rule == "without-replacement" else "several"


EXPLAINED: Final = ("point-mass", "accept-reject", "k-seq")
MISFIT: Final[Mapping[Drawn, str]] = {  # names of macros, by how the guesses were chosen
    Drawn.POINT_MASS: "misfit_point_mass",
    Drawn.WITHOUT_REPLACEMENT: "misfit_without_replacement",
    Drawn.SAMPLED: "misfit_sampled",
}


def format_numbers(experiment: Experiment, found: PositionResult) -> dict[str, str]:
    """Format the numbers that are shown beside the bars."""
    best = acceptance_ceiling(
        tensor(experiment.p), tensor(experiment.q), experiment.drawn, experiment.candidates
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
