"""Guesses that are dropped after looking at them, or accepted without a check."""

from __future__ import annotations

from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.exact.candidates import CandidateMethod
from specviz.verification.published_rules.case_study import (
    CaseStudy,
    PatchedRule,
    RuleProcedure,
    Source,
    p_itself,
)

SURE = 0.2
DISCARD = Source(
    "ikawrakow/ik_llama.cpp pull request 1820: discard last drafted token with low prob",
    "https://github.com/ikawrakow/ik_llama.cpp/pull/1820",
)


def unsure(probs: Tensor, token: int) -> bool:
    """Return whether the drafter gave its guess less than SURE."""
    return probs[token].item() < SURE


CASE_STUDIES = (
    CaseStudy(
        key="dropped-when-unsure",
        name="Dropping low-confidence guesses",
        claimed="The last drafted token is often improbable: discard it and save its check.",
        source=DISCARD,
        drawn=f"One token sampled from q, and dropped if its q is below {SURE}.",
        judged="Accept x with probability min(1, p/q). If rejected, sample from (p − q)₊, "
        "rescaled. If the guess was dropped, sample from p.",
        why="The remaining guesses are no longer samples of q: only likely tokens are left, "
        "yet each is tested as if unlikely ones could have been guessed too.",
        case=RuleProcedure(RULES["speculative"], CandidateMethod(Drawn.SAMPLED, drop=unsure)),
    ),
    CaseStudy(
        key="dropped-and-masked",
        name="Dropping low-confidence guesses, with qx = 1",
        claimed="The last drafted token is often improbable: discard it and save its check.",
        source=DISCARD,
        drawn=f"One token sampled from q, and dropped if its q is below {SURE}.",
        judged="Accept x with probability p(x). If rejected, remove x from p and sample from "
        "the rest. If the guess was dropped, sample from p.",
        why="The rule without q is exact for every guess, so also for every way of choosing "
        "which guesses it sees. (That project compares with a token sampled from the "
        "target.)",
        case=RuleProcedure(
            RULES["point-mass"], CandidateMethod(Drawn.SAMPLED, reported_q=None, drop=unsure)
        ),
    ),
    CaseStudy(
        key="first-unseen",
        name="The first guess is never checked",
        claimed="Speculative decoding is supposed to be exact. (The issue reports that it was "
        "not.)",
        source=Source(
            "ohdearquant/lattice issue 243: n-gram speculative decoding is lossy",
            "https://github.com/ohdearquant/lattice/issues/243",
        ),
        drawn="The token with the highest q.",
        judged="Accept it without a test. (The guesses after it are compared with the target's "
        "tokens.)",
        why="The logits at a guess predict the token after it; whether the guess itself is "
        "right is decided by the logits one row earlier. The code is off by one row, so "
        "the drafter decides one token of every round.",
        case=RuleProcedure(
            PatchedRule("unverified", p_itself, False),
            CandidateMethod(Drawn.POINT_MASS, reported_q=None),
        ),
    ),
)
