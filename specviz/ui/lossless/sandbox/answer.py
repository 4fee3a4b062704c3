"""Answer one question of the sandbox: the exact output distribution, and the verdict in words.

Stateless. Every branch of a round is run through the production rule itself, so
no formula of a rule is repeated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from specviz import texts
from specviz.cost.formula import expected_tokens
from specviz.settings.settings import Sampling
from specviz.trace.rule_specs import Drawn, select_rule
from specviz.ui.lossless.sandbox.question import SandboxQuestion
from specviz.verification import Rule, make_rule
from specviz.verification.exact import (
    CandidateMethod,
    PositionResult,
    RoundSetup,
    enumerate_position,
)
from specviz.verification.exact.candidates import as_method
from specviz.verification.exact.closed_form import acceptance_ceiling

DEEP: Final = 4  # positions of a round; p and q are the same at each, so the formula is exact
EXACT: Final = 1e-9  # a distance below this is rounding
WARM: Final = Sampling(1.0)
HEADS: Final = (
    "p",
    "q",
    "min(p, q)",
    "p − q above 0",
    "accepted guesses",
    "replacements",
    "output − p",
)


def answer(data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a question. Raises BadRequest or MismatchedRule with a sentence."""
    asked = SandboxQuestion.from_data(data)
    round_ = round_of(asked)
    found = enumerate_position(round_)
    return {
        **verdict(asked, round_.rule, found),
        "kept": found.through_draft.tolist(),
        "filled": found.through_rest.tolist(),
        "numbers": format_numbers(asked, found),
        "table": {"heads": HEADS, "rows": rows(asked.q, found)},
    }


def round_of(asked: SandboxQuestion) -> RoundSetup:
    """Build the round that a question describes.

    A rule that reads q gets q even if the guess was not sampled: a common mistake, which visitors
    should be able to try. Block and traversal verification judge whole branches, so they are not
    offered for a single position.

    Raises:
        MismatchedRule: With a sentence, if the rule cannot check such guesses.
    """
    rule = make_rule(select_rule(asked.drawn, WARM) if asked.rule == "auto" else asked.rule)
    drawing = CandidateMethod(asked.drawn) if rule.spec.reads_q else as_method(asked.drawn)
    return RoundSetup.position(rule, tensor(asked.p), tensor(asked.q), drawing, asked.candidates)


def tensor(law: Sequence[float]) -> Tensor:
    """Convert a distribution to a float64 tensor of shape (V,)."""
    return torch.tensor(law, dtype=torch.float64)


def verdict(asked: SandboxQuestion, rule: Rule, found: PositionResult) -> dict[str, Any]:
    """Say whether the output is p, and why. worst: index of the word with the largest error."""
    exact = found.tv < EXACT
    worst = None if exact else int(found.wrong.abs().argmax())
    said = texts.text("lossless", "output_is_p")
    if worst is not None:
        out, p = found.output[worst].item(), asked.p[worst]
        numbers = {"out": f"{out:.3f}", "p": f"{p:.3f}"}
        said = texts.text("lossless", "output_differs", too_often=out > p, **numbers)
    name = "exact" if exact else "lossy"
    reason = why(asked, rule, exact)
    return {"is": name, "verdict": name.title(), "said": said, "worst": worst, "why": reason}


def why(asked: SandboxQuestion, rule: Rule, exact: bool) -> str:
    """Explain the verdict by the rule and the way guesses are chosen."""
    spec = rule.spec
    hidden = [texts.text("lossless", "error_hidden")] if exact else []
    if not spec.lossless:
        return " ".join([spec.tradeoff, *hidden])
    if asked.drawn in spec.accepts:
        name = spec.name if spec.name in EXPLAINED else "speculative"
        return texts.text("lossless", f"why_{name.replace('-', '_')}")
    if exact and asked.candidates == 1 and asked.drawn is not Drawn.POINT_MASS:
        hidden = [texts.text("lossless", "try_more_guesses")]
    elif exact:
        hidden.append(texts.text("lossless", "move_a_bar"))
    return " ".join([texts.text("lossless", MISFIT[asked.drawn]), *hidden])


EXPLAINED: Final = ("speculative", "point-mass", "accept-reject", "k-seq")
MISFIT: Final[Mapping[Drawn, str]] = {  # macros, by how the guesses were chosen
    Drawn.POINT_MASS: "misfit_point_mass",
    Drawn.WITHOUT_REPLACEMENT: "misfit_without_replacement",
    Drawn.SAMPLED: "misfit_sampled",
}


def format_numbers(asked: SandboxQuestion, found: PositionResult) -> dict[str, str]:
    """Format the numbers beside the bars."""
    best = acceptance_ceiling(tensor(asked.p), tensor(asked.q), asked.drawn, asked.candidates)
    return {
        "tv": "0" if found.tv < EXACT else f"{found.tv:.4f}",
        "kept": f"{found.acceptance:.4f}",
        "ceiling": f"{best:.4f}",
        "tokens": f"{expected_tokens(min(found.acceptance, 1.0), DEEP):.3f}",
    }


def rows(law: Sequence[float], found: PositionResult) -> list[list[str]]:
    """Build the table: one row per word, then the sums. law: the draft's distribution."""
    p, q = found.p, tensor(law)
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
