"""Rules that use one random number twice where two independent ones are needed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification import RULES
from specviz.verification.distributions import overlap, residual
from specviz.verification.exact.candidates import as_method
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.case_study import (
    CaseStudy,
    ReusedUniform,
    RuleProcedure,
    Source,
    token_counts,
)


@dataclass(frozen=True)
class SharedGumbelNoise:
    """Guess and replacement are both the argmax of log weights plus the same Gumbel noise.

    There is one candidate. Adding Gumbel noise to log weights is equivalent to a race: token i
    arrives at time E_i/w_i, where E_i is exponential, and the first to arrive is drawn. In the race
    for the guess, with weights q, the winner x arrives at a time t, which is exponential with rate
    1. The others have not arrived by then, so each E_i is q_i t plus an exponential. The race for
    the replacement has the residual's weights r, so token i starts at (q_i/r_i) t instead of 0:
    tokens that q prefers but that were not drawn arrive late. Integrated over t, the probabilities
    are rational functions of q and r.
    """

    length: int = 1

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`: min(p, q), plus the winner of the second race."""
        out = torch.minimum(p, q) + (1 - overlap(p, q)) * win_probabilities(residual(p, q), q)
        return {(token,): mass for token, mass in enumerate(out.tolist())}

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`: Σ min(p, q)."""
        return overlap(p, q).item()

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample` with shared Gumbel noise."""
        generator = torch.Generator().manual_seed(seed)
        u = torch.rand(throws, len(p) + 1, generator=generator, dtype=torch.float64)
        race = -u[:, 1:].log()
        guess = (race / q).argmin(dim=1)
        accepted = u[:, 0] * q[guess] < p[guess]
        other = (race / residual(p, q)).argmin(dim=1)
        return token_counts(torch.where(accepted, guess, other), len(p))


def win_probabilities(weights: Tensor, starts: Tensor) -> Tensor:
    """Return each runner's probability of winning a race with unequal starting times.

    Runner i starts at the time (s_i/w_i) t and needs an exponential time of rate w_i; t is
    exponential of rate 1.

    Between two starting times the race has a constant rate, so each interval is integrated
    separately.

    Args:
        weights: (V,), the rates w.
        starts: (V,), the numbers s.
    """
    runners = sorted(
        (start / weight, weight, start, token)
        for token, (weight, start) in enumerate(zip(weights.tolist(), starts.tolist(), strict=True))
        if weight > 0
    )
    won: defaultdict[int, float] = defaultdict(float)
    rate = behind = 0.0
    for place, (begins, weight, start, _) in enumerate(runners):
        rate, behind = rate + weight, behind + start
        share = 1 / (1 + rate * begins - behind)
        if place + 1 < len(runners):
            share -= 1 / (1 + rate * runners[place + 1][0] - behind)
        for _, own, _, token in runners[: place + 1]:
            won[token] += own / rate * share
    return torch.tensor([won[token] for token in range(len(weights))], dtype=torch.float64)


CASE_STUDIES = (
    CaseStudy(
        key="one-coin",
        name="One random number for the whole chain",
        claimed="A fixed seed makes a run repeatable. (If the seed is set inside the loop, "
        "every coin is the same number.)",
        source=Source(
            "feifeibear/LLMSpeculativeSampling: sampling/speculative_sampling.py",
            "https://github.com/feifeibear/LLMSpeculativeSampling/blob/main/sampling/"
            "speculative_sampling.py",
        ),
        drawn="A chain of two tokens, each sampled from q.",
        judged="Accept x with probability min(1, p/q), using the same u at every position. If "
        "rejected, sample from (p − q)₊, rescaled.",
        why="Each test alone is correct, so the first token is exact. But a u that accepted "
        "the first guess is probably low, so the second guess is accepted too often. "
        "Only sequences of tokens show the error.",
        premise="Every test needs its own random number, independent of the others.",
        lines="""
for x, p, q in draft:
    manual_seed(seed)        # in the loop
    if random() > p[x] / q[x]:
        return sample(normalize(max(p - q, 0)))
    accept(x)
""",
        answer="A later pull request of the same project changes how the seed is set.",
        answered=Source(
            "feifeibear/LLMSpeculativeSampling pull request 19: random seed setting",
            "https://github.com/feifeibear/LLMSpeculativeSampling/pull/19",
        ),
        case=RuleProcedure(
            ReusedUniform(RULES["speculative"]), as_method(Drawn.SAMPLED), (-1, 0, 1), length=3
        ),
    ),
    CaseStudy(
        key="shared-noise",
        name="The same Gumbel noise for guess and replacement",
        claimed="The draft's noise is seeded by position, to match the noise of the target's own "
        "samples.",
        source=Source(
            "vllm-project/vllm pull request 54282: decouple the draft's Gumbel noise",
            "https://github.com/vllm-project/vllm/pull/54282",
        ),
        drawn="One token sampled from q: the argmax of log q plus Gumbel noise.",
        judged="Accept x with probability min(1, p/q). If rejected, take the argmax of the "
        "residual's logarithm plus the same noise.",
        why="x had the largest sum of log q and noise, so the noise of the other tokens was "
        "probably low, most of all where q is high. The replacement therefore avoids the tokens "
        "that q likes.",
        premise="Guess, test and replacement need independent random numbers.",
        lines="""
noise = gumbel(seed, position)
x = argmax(log(q) + noise)
if random() <= p[x] / q[x]:
    return x
return argmax(log(max(p - q, 0)) + noise)  # the same noise
""",
        answer="An earlier pull request: sharing noise is right where a guess must equal the "
        "target's token, not for the test with p/q.",
        answered=Source(
            "vllm-project/vllm pull request 47386: decouple the draft's Gumbel stream",
            "https://github.com/vllm-project/vllm/pull/47386",
        ),
        case=SharedGumbelNoise(),
    ),
)
