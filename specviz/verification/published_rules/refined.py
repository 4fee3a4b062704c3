"""Guesses that are sampled all at once and then refined in parallel, as XPress samples them.

A parallel refiner samples each position again from what it now knows of the earlier ones, in a few
passes over the whole block (Jacobi iteration). A guess is then a sample from its last pass's
distribution, which was computed from the guesses before that pass. If an earlier guess changed in
this pass, that is not the distribution after the guesses that are sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final

import torch
from torch import Tensor

from specviz.verification.distributions import residual
from specviz.verification.exact.closed_form import acceptance_ratio
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.blocks import sample_tokens
from specviz.verification.published_rules.case_study import CaseStudy, Source
from specviz.verification.published_rules.drafts import TESTED, outer

GAMMA: Final = 3
REPEATED: Final = 0.2  # factor by which the refiner lowers the weight of the token before


def refined(q: Tensor) -> Tensor:
    """Return the refiner's distribution after each token, (V, V)."""
    weights = q * (1 - (1 - REPEATED) * torch.eye(len(q), dtype=q.dtype))
    return weights / weights.sum(1, keepdim=True)


def second_guesses(q: Tensor) -> Tensor:
    """Return the probabilities of the second guess before and after the pass, by the first guess x.

    Both are the argmax of log weights plus the same Gumbel noise: first with weights q, then with
    the weight of x lowered. So any other winner stays. If x loses, the runner-up wins, which is one
    of the others with a probability proportional to q. Returns (V, V, V): by first guess, second
    guess before the pass, and second guess after it.
    """
    both = torch.diag(q).expand(len(q), -1, -1).clone()
    for x, after in enumerate(refined(q)):
        both[x, x] = q * (q[x] - after[x]) / (1 - q[x]) if q[x] < 1 else 0.0
        both[x, x, x] = after[x]
    return both


@dataclass(frozen=True)
class RefinedOnce:
    """Speculative sampling of three guesses, sampled from q and then refined in one pass.

    p and q are the same in every context; the refiner lowers the probability of the token before.
    recomputed: whether the third guess is tested with the distribution after the second one as it
    is sent; otherwise, with the distribution that it was sampled from.
    """

    recomputed: bool
    length: int = GAMMA + 1

    def masses(self, p: Tensor, q: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Return the probabilities of accepting 1 to 3 guesses, and of 1 to 3 tokens that end so.

        Both lists have the shapes (V,), (V, V) and (V, V, V). In the second, the last token
        replaces a rejected guess.
        """
        after, both = refined(q), second_guesses(q)
        ratio = torch.stack([acceptance_ratio(p, each) for each in after])
        left = torch.stack([residual(p, each) for each in after])
        tested = (ratio[None], left[None]) if self.recomputed else (ratio[:, None], left[:, None])
        third = after[:, None] * tested[0]  # by the second guess before and after the pass
        third, replaced = torch.broadcast_tensors(
            third, (1 - third.sum(-1, keepdim=True)) * tested[1]
        )
        one, second = q * acceptance_ratio(p, q), after * ratio
        two = one[:, None, None] * both * ratio[:, None]
        rejected = one * (1 - second.sum(1))
        ended = [(1 - one.sum()) * residual(p, q), rejected[:, None] * left]
        ended.append(torch.einsum("xab,aby->xby", two, replaced))
        return [one, two.sum(1), torch.einsum("xab,abc->xbc", two, third)], ended

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`."""
        accepted, ended = self.masses(p, q)
        out = outer(accepted[-1], p)
        for count, mass in enumerate(ended, 1):
            out = out + outer(mass, *[p] * (self.length - count))
        strings = product(range(len(p)), repeat=self.length)
        return dict(zip(strings, out.flatten().tolist(), strict=True))

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`."""
        return sum(mass.sum().item() for mass in self.masses(p, q)[0])

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample` by two races with the same noise."""
        generator = torch.Generator().manual_seed(seed)
        u = torch.rand(throws, GAMMA, len(q), generator=generator, dtype=torch.float64)
        race, rows = -u.log(), torch.cat([q[None], refined(q)])  # at the start, after each token
        before = (race / q).argmin(-1)
        draft = (race / rows[after_previous(before)]).argmin(-1)
        tested = after_previous(draft if self.recomputed else before)
        ratio = torch.stack([acceptance_ratio(p, each) for each in rows])
        u = torch.rand(throws, GAMMA, generator=generator, dtype=torch.float64)
        accepted = (u <= ratio[tested, draft]).long().cumprod(1).sum(1)
        left = torch.stack([residual(p, each) for each in rows])
        last = tested.gather(1, accepted.clamp(max=GAMMA - 1)[:, None])[:, 0]
        left = torch.multinomial(left[last], 1, generator=generator)
        bonus = sample_tokens(p, throws, self.length, generator)
        index = torch.arange(self.length)
        text = torch.where(
            index < accepted[:, None], torch.cat([draft, bonus[:, :1]], dim=1), bonus
        )
        ended = (index == accepted[:, None]) & (accepted < GAMMA)[:, None]
        strings, counts = torch.where(ended, left, text).unique(dim=0, return_counts=True)
        pairs = zip(strings.tolist(), counts.tolist(), strict=True)
        return {tuple(string): float(count) for string, count in pairs}


def after_previous(tokens: Tensor) -> Tensor:
    """Return, for tokens (n, γ), 0 at the first position, and 1 + the token before at others."""
    return torch.cat([torch.zeros_like(tokens[:, :1]), 1 + tokens[:, :-1]], dim=1)


REFINED: Final = (
    "Three tokens sampled from q at once. One pass of a refiner then samples each again, with the "
    f"same noise: after a token x, its distribution is q with q(x) times {REPEATED}, rescaled. "
    "It reads the tokens as they were before the pass."
)
XPRESS: Final = "https://github.com/Supercomputing-System-AI-Lab/xPress"

CASE_STUDIES = (
    CaseStudy(
        key="refined-last-pass",
        name="Guesses refined in parallel, tested with the last pass's q",
        claimed="Sampling with a parallel refiner is lossless: the noise stays the same from pass "
        "to pass, and q is that of the last pass. (The program runs six passes over 15 guesses.)",
        source=Source("Supercomputing-System-AI-Lab/xPress: lossless sampling at T = 1", XPRESS),
        drawn=REFINED,
        judged=TESTED + " q is the distribution that the token was sampled from in the last pass.",
        why="In its last pass, a position reads only earlier positions, and its own noise is "
        "independent of theirs. So its guess is a sample of that pass's q, whatever the earlier "
        "guesses became in the same pass. The passes need not have converged.",
        premise="q must be the distribution that the guess was sampled from.",
        lines="""
x = argmax(log(q) + noise)   # all three positions
q2 = refine(previous(x))     # one pass over the block
x = argmax(log(q2) + noise)
accept = random() <= p[x] / q2[x]
""",
        answer="The pull request to vLLM samples no guesses at first: it takes each pass's top "
        "token, and a guess that is not sampled has no q.",
        answered=Source(
            "vllm-project/vllm pull request 54448: add XPress",
            "https://github.com/vllm-project/vllm/pull/54448",
        ),
        case=RefinedOnce(recomputed=False),
    ),
    CaseStudy(
        key="refined-chain",
        name="Guesses refined in parallel, tested as if drafted one by one",
        claimed="The refiner gives a distribution after each token, so the q of a guess is the "
        "distribution after the guess before it. (XPress does not do this. A server does that "
        "computes q once the draft is complete, as it may for an ordinary draft model.)",
        source=Source(
            "XPress, arXiv 2608.02438: parallel refinement of a block",
            "https://arxiv.org/abs/2608.02438",
        ),
        drawn=REFINED,
        judged=TESTED + " q is the refiner's distribution after the token before, as it is sent.",
        why="The third guess was sampled after the second one as it was before the pass. If the "
        "pass replaced that one, the third is no sample of the q that it is tested with. More "
        "passes make this rarer; it is exact once a pass changes nothing.",
        premise="q must be the distribution that the guess was sampled from.",
        lines="""
x = argmax(log(q) + noise)
x = argmax(log(refine(previous(x))) + noise)
q2 = refine(previous(x))     # one pass further than
                             # the one that x is from
accept = random() <= p[x] / q2[x]
""",
        answer="XPress keeps the logits of its last pass for the test: the case above.",
        answered=Source("Supercomputing-System-AI-Lab/xPress: q = last pass's logits", XPRESS),
        case=RefinedOnce(recomputed=True),
    ),
)
