"""Rules that use no q: qx = 1, and comparing with a token sampled from the target."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.distributions import residual
from specviz.verification.exact.candidates import CandidateMethod, as_method, identity
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.case_study import (
    CaseStudy,
    PatchedRule,
    RuleProcedure,
    Source,
    token_counts,
)

EAGLE = Source(
    "SafeAILab/EAGLE issue 329: non-greedy rejection sampling ignores draft (q)",
    "https://github.com/SafeAILab/EAGLE/issues/329",
)


@dataclass(frozen=True)
class SampleAndCompare:
    """The target samples a token, and the one candidate is accepted if it is that token.

    The output is the target's sample in both cases, so it does not depend on q.
    """

    length: int = 1

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`: sum over all pairs of guess and sample."""
        out: defaultdict[tuple[int, ...], float] = defaultdict(float)
        for guess, draft_q in enumerate(q.tolist()):
            for own, target_p in enumerate(p.tolist()):
                out[(guess if guess == own else own,)] += draft_q * target_p
        return dict(out)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`: Σ p q."""
        return float((p * q).sum())

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        generator = torch.Generator().manual_seed(seed)
        guess, own = (
            torch.multinomial(probs, throws, replacement=True, generator=generator)
            for probs in (q, p)
        )
        return token_counts(torch.where(guess == own, guess, own), len(p))


CASE_STUDIES = (
    CaseStudy(
        key="top-k-masked",
        name="qx = 1 with masking, for top-k guesses",
        claimed="EAGLE's sampling path never reads q, so it cannot be lossless.",
        source=EAGLE,
        drawn="The two tokens with the highest q, every time.",
        judged="Accept x with probability p(x). If rejected, remove x from p, rescale, and test "
        "the next guess.",
        why="A guess that is fixed in advance has q = 1 at its own token. x appears with "
        "probability p(x), and any other y with (1 − p(x)) · p(y)/(1 − p(x)) = p(y). "
        "This holds for every guess, so the rule needs no q.",
        case=RuleProcedure(RULES["point-mass"], as_method(Drawn.POINT_MASS), (-1, 0, 0)),
    ),
    CaseStudy(
        key="suggested-fix",
        name="The textbook test, used on top-k guesses",
        claimed="Lossless means min(1, p/q) with the residual (p − q)₊, so EAGLE's code should "
        "do that.",
        source=EAGLE,
        drawn="The two tokens with the highest q, every time.",
        judged="Accept x with probability min(1, p/q). If rejected, continue with (p − q)₊, "
        "rescaled.",
        why="The proof assumes that x was sampled with probability q(x). Here the top tokens "
        "are always guessed and the others never, so the top tokens appear too often.",
        case=RuleProcedure(
            RULES["speculative"], CandidateMethod(Drawn.POINT_MASS, identity), (-1, 0, 0)
        ),
    ),
    CaseStudy(
        key="sampled-masked",
        name="qx = 1 with masking, for sampled guesses",
        claimed="Without the draft's probabilities, the sampler falls back to a path that is not "
        "the intended p/q logic.",
        source=Source(
            "vllm-project/vllm pull request 40269: wire draft_probs into rejection",
            "https://github.com/vllm-project/vllm/pull/40269",
        ),
        drawn="One token sampled from q.",
        judged="Accept x with probability p(x). If rejected, remove x from p and sample from "
        "the rest.",
        why="The rule is exact for every x, so it is exact for a sampled x too. It is only "
        "wasteful: it accepts Σ p q of the guesses, where the test with q accepts Σ "
        "min(p, q).",
        case=RuleProcedure(RULES["point-mass"], as_method(Drawn.SAMPLED)),
    ),
    CaseStudy(
        key="half-a-fix",
        name="qx = 1 with the residual (p − q)₊",
        claimed="The replacement must be sampled from norm(max(0, p − q)).",
        source=EAGLE,
        drawn="One token sampled from q.",
        judged="Accept x with probability p(x). If rejected, sample from (p − q)₊, rescaled.",
        why="This combines halves of two rules. The residual (p − q)₊ completes the test "
        "min(1, p/q), not the test p(x). So the tokens where p exceeds q most get too "
        "much probability, and the others too little.",
        case=RuleProcedure(
            PatchedRule("point-mass", lambda dists, token: residual(dists.p, _q(dists.q))),
            CandidateMethod(Drawn.SAMPLED),
        ),
    ),
    CaseStudy(
        key="draw-and-compare",
        name="Sample from the target, then compare",
        claimed="Accepting a guess only if it equals a token sampled from the target biases the "
        "text towards what both models like.",
        source=Source(
            "ml-explore/mlx-swift-lm pull request 459: preserve the target distribution",
            "https://github.com/ml-explore/mlx-swift-lm/pull/459",
        ),
        drawn="One token sampled from q.",
        judged="Sample y from p. Accept x if it equals y; output y in either case.",
        why="Every output token is a fresh sample from p, whatever was guessed, so nothing "
        "is biased. The price is that only Σ p q of the guesses are accepted.",
        case=SampleAndCompare(),
    ),
)


def _q(q: Tensor | None) -> Tensor:
    assert q is not None
    return q
