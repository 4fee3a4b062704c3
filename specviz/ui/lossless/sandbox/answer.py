"""The sandbox's answer to one question: what comes out, exactly, and in words.

Pure: text in, text out, no state. The production rule itself is run on every branch that a round
can take; nothing here knows a rule's formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from specviz.cost.law import expected_tokens
from specviz.settings.settings import Sampling
from specviz.trace.promises import Drawn, fitting
from specviz.ui.lossless.sandbox.question import SandboxQuestion
from specviz.ui.question import Unasked, number_of, packed
from specviz.verification import MismatchedRule, Rule, named
from specviz.verification.exact import Answer, Drawing, Round
from specviz.verification.exact import answer as answered
from specviz.verification.exact.drawing import plainly
from specviz.verification.exact.transport import ceiling

DEEP: Final = 4  # places of a round; its laws are the same at each, so the speed law is exact
EXACT: Final = 1e-9  # a distance below this is rounding
WARM: Final = Sampling(1.0)
HEADS: Final = ("p", "q", "min(p, q)", "p − q above 0", "through the draft", "instead", "out − p")


def answer(text: Any) -> str:
    """JSON for the page; a question that cannot be answered gets the sentence that says why."""
    try:
        asked = SandboxQuestion.from_text(text)
        round_ = round_of(asked)
    except (Unasked, MismatchedRule) as problem:
        return packed({"id": number_of(text), "problem": str(problem)})
    found = answered(round_)
    return packed(
        {
            "id": asked.number,
            **verdict(asked, round_.rule, found),
            "kept": found.through_draft.tolist(),
            "filled": found.through_rest.tolist(),
            "told": told(asked, found),
            "table": {"heads": HEADS, "rows": rows(asked.q, found)},
        }
    )


def round_of(asked: SandboxQuestion) -> Round:
    """The round that a question is about. Raises MismatchedRule with a sentence.

    A rule that reads q is told q even where no chance drew the guess: that is a fault that people
    make, and here it can be made. Block and traversal verification judge whole branches, so one
    place is nothing to them.
    """
    rule = named(fitting(asked.drawn, WARM) if asked.rule == "auto" else asked.rule)
    drawing = Drawing(asked.drawn) if rule.promise.reads_q else plainly(asked.drawn)
    return Round.place(rule, tensor(asked.p), tensor(asked.q), drawing, asked.candidates)


def tensor(law: Sequence[float]) -> Tensor:
    """A law (V,) in float64, in which all of this is computed."""
    return torch.tensor(law, dtype=torch.float64)


def verdict(asked: SandboxQuestion, rule: Rule, found: Answer) -> dict[str, Any]:
    """Whether what comes out is p, in a word, a sentence, and why; worst: the word that is off."""
    exact = found.tv < EXACT
    worst = None if exact else int(found.wrong.abs().argmax())
    said = "What comes out follows p, word by word."
    if worst is not None:
        out, p = found.law[worst].item(), asked.p[worst]
        often = "often" if out > p else "seldom"
        said = f"comes too {often}: {out:.3f} of the time, where p says {p:.3f}."
    name = "exact" if exact else "lossy"
    reason = why(asked, rule, exact)
    return {"is": name, "verdict": name.title(), "said": said, "worst": worst, "why": reason}


def why(asked: SandboxQuestion, rule: Rule, exact: bool) -> str:
    """What in the pair of rule and drawing makes it so."""
    promise = rule.promise
    if not promise.lossless:
        lucky = " On these two laws nothing of that shows." if exact else ""
        return f"{promise.says}{lucky}"
    if asked.drawn in promise.accepts:
        return FITS[promise.name if promise.name in FITS else "speculative"]
    by_luck = " On these two laws nothing of that shows; move a bar." if exact else ""
    return MISFIT[asked.drawn] + by_luck


FITS: Final[Mapping[str, str]] = {
    "speculative": "A guess x comes with chance q(x) and is kept with min(1, p/q): together "
    "min(p, q). What is missing up to p is just what a fallen guess is replaced from.",
    "point-mass": "A guess is kept with its own chance p and taken out of p where it falls: each "
    "word comes out with p, whatever was guessed. No q is needed.",
    "accept-reject": "Of a kept guess nothing but p is left, since q in the draw and q in the test "
    "cancel. Fewer guesses are kept than by min(1, p/q): the test divides by the largest p/q.",
    "k-seq": "Every guess passes the same test, and what is drawn instead makes up for all of them "
    "at once. ρ is chosen so that no word is owed less than nothing.",
}
MISFIT: Final[Mapping[Drawn, str]] = {
    Drawn.POINT_MASS: "The test divides by q as if chance had drawn the guess. The top word was "
    "guessed for sure, so it comes too often: a point mass needs p(x) as its test, and a mask.",
    Drawn.WITHOUT_REPLACEMENT: "The second guess cannot be the first again, so it is drawn from "
    "another law than the q that it is tested with: q must lose each guess that fell.",
    Drawn.SAMPLED: "q loses each guess that fell, as if none could come twice. These are drawn "
    "from the whole of q each time.",
}


def told(asked: SandboxQuestion, found: Answer) -> dict[str, str]:
    """The numbers beside the bars, as they are shown."""
    best = ceiling(tensor(asked.p), tensor(asked.q), asked.drawn, asked.candidates)
    return {
        "tv": "0" if found.tv < EXACT else f"{found.tv:.4f}",
        "kept": f"{found.acceptance:.4f}",
        "ceiling": f"{best:.4f}",
        "tokens": f"{expected_tokens(min(found.acceptance, 1.0), DEEP):.3f}",
    }


def rows(law: Sequence[float], found: Answer) -> list[list[str]]:
    """One row a word, and their sums. law: the draft's."""
    p, q = found.p, tensor(law)
    both, above = torch.minimum(p, q), (p - q).clamp(min=0.0)
    columns = (p, q, both, above, found.through_draft, found.through_rest)
    lines = [
        [*(f"{column[at].item():.4f}" for column in columns), signed(found.wrong[at].item())]
        for at in range(len(p))
    ]
    return [*lines, [*(f"{column.sum().item():.4f}" for column in columns), ""]]


def signed(value: float) -> str:
    """A difference with its sign; 0 where it is rounding."""
    return "0" if abs(value) < EXACT else f"{value:+.4f}".replace("-", "−")
