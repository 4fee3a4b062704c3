"""Rules that judge a branch as a whole, with formulas that are slightly wrong."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from math import log, prod

import torch
from torch import Tensor

from specviz.trace.rule_specs import Drawn
from specviz.verification.distributions import residual
from specviz.verification.exact.candidates import as_method
from specviz.verification.exact.closed_form import acceptance_ratio
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.leaf_first import LeafFirst
from specviz.verification.lossy import Fly
from specviz.verification.published_rules.case_study import CaseStudy, RuleProcedure, Source

GAMMA = 2


@dataclass(frozen=True)
class CumulativeUniform:
    """Accept the longest prefix i with R_i ≥ u₁ … u_i, where R_i = Π min(1, p/q).

    The next token is sampled from (R_i p − q)₊, or from p if all guesses were accepted. The case
    has two guesses and three tokens. With u₁ u₂ the product of two uniform numbers, P(u₁ u₂ ≤ R₂) =
    R₂ (1 − ln R₂), and P(u₁ ≤ R₁, u₁ u₂ > R₂) = R₁ − R₂ − R₂ ln(R₁/R₂).
    """

    length: int = GAMMA + 1

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`."""
        out: defaultdict[tuple[int, ...], float] = defaultdict(float)
        ratios = acceptance_ratio(p, q).tolist()
        remainders = [residual(p, q).tolist(), *residuals(p, q).tolist()]
        target_p, draft_q = p.tolist(), q.tolist()
        for draft in product(range(len(p)), repeat=GAMMA):
            weight = prod(draft_q[x] for x in draft)
            stops = acceptance_counts(ratios[draft[0]], ratios[draft[0]] * ratios[draft[1]])
            for count, stop in enumerate(stops):
                next_ = target_p if count == GAMMA else remainders[count and 1 + draft[0]]
                for rest in product(range(len(p)), repeat=GAMMA + 1 - count):
                    after = next_[rest[0]] * prod(target_p[y] for y in rest[1:])
                    out[(*draft[:count], *rest)] += weight * stop * after
        return dict(out)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`."""
        ratios, draft_q = acceptance_ratio(p, q).tolist(), q.tolist()
        found = 0.0
        for x, y in product(range(len(p)), repeat=GAMMA):
            _, one, two = acceptance_counts(ratios[x], ratios[x] * ratios[y])
            found += draft_q[x] * draft_q[y] * (one + 2 * two)
        return found

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        generator = torch.Generator().manual_seed(seed)
        draft = sample_tokens(q, throws, GAMMA, generator)
        u = torch.rand(throws, GAMMA, generator=generator, dtype=torch.float64)
        passed = acceptance_ratio(p, q)[draft].cumprod(1) >= u.cumprod(1)
        accepted = torch.where(passed[:, 1], 2, torch.where(passed[:, 0], 1, 0))
        bonus = sample_tokens(p, throws, GAMMA + 1, generator)
        remainders = torch.cat([residual(p, q)[None], residuals(p, q)])
        rows = remainders[torch.where(accepted == 1, 1 + draft[:, 0], 0)]
        left = torch.multinomial(rows, 1, generator=generator)
        index = torch.arange(GAMMA + 1)
        text = torch.where(
            index < accepted[:, None], torch.cat([draft, bonus[:, :1]], dim=1), bonus
        )
        replaced = (index == accepted[:, None]) & (accepted[:, None] < GAMMA)
        text = torch.where(replaced, left, text)
        strings, counts = text.unique(dim=0, return_counts=True)
        pairs = zip(strings.tolist(), counts.tolist(), strict=True)
        return {tuple(string): float(count) for string, count in pairs}


def residuals(p: Tensor, q: Tensor) -> Tensor:
    """For each accepted first token, return (R₁ p − q)₊ normalized: (V, V)."""
    return torch.stack([residual(each * p, q) for each in acceptance_ratio(p, q)])


def sample_tokens(probs: Tensor, throws: int, length: int, generator: torch.Generator) -> Tensor:
    """Sample tokens (throws, length) independently from a distribution (V,)."""
    tokens = torch.multinomial(probs, throws * length, replacement=True, generator=generator)
    return tokens.view(throws, length)


def acceptance_counts(one: float, both: float) -> tuple[float, float, float]:
    """Return the probabilities of accepting 0, 1 and 2 of two guesses, given R₁ and R₂ ≤ R₁."""
    if both <= 0:
        return 1 - one, one, 0.0
    two = both * (1 - log(both))
    first = one - both - both * log(one / both)
    return 1 - first - two, first, two


class RemainingMass(LeafFirst):
    """Traversal verification that wrongly divides by the untried draft mass."""

    def __init__(self) -> None:
        super().__init__("traversal")

    def after_rejection(self, left: float, reach: float, untried: float) -> float:
        """Implement `LeafFirst.after_rejection`."""
        return min(1.0, left / untried) if untried > 0.0 else 1.0


CASE_STUDIES = (
    CaseStudy(
        key="block",
        name="Block verification, as in the paper",
        claimed="Block verification keeps the target's distribution, and on average accepts at "
        "least as many guesses as testing them one by one.",
        source=Source(
            "Block Verification Accelerates Speculative Decoding (Sun et al. 2024)",
            "https://arxiv.org/abs/2403.10444",
        ),
        drawn="A chain of two tokens, each sampled from q.",
        judged="The reach a starts at 1; each guess makes it min(1, a p/q). Judge from the last "
        "guess back: it is accepted with probability a, an earlier one with S/(S + 1 − a), where S "
        "is the sum of (a p − q)₊. After an earlier one, sample from (a p − q)₊, rescaled.",
        why="A chain of guesses is accepted with at most the probability that the target gives it, "
        "and the residuals add exactly the rest. A strong later guess can make up for a weak "
        "earlier one, so on average no fewer guesses are accepted.",
        premise="The guesses are sampled from q, and each round gets new random numbers.",
        lines="""
for x, p, q in draft:        # forward: how far p covers q
    reach.append(min(1, reach[-1] * p[x] / q[x]))
for i in (n, ..., 1):        # back: the last guess first
    a = reach[i]
    S = sum(max(a * p_next[y] - q_next[y], 0) for y in tokens)
    if random() <= (a if i == n else S / (S + 1 - a)):
        return i             # guesses 1 to i are accepted
""",
        answer="On Step it is the rule “Block verification (chains)”. Trees has its average over "
        "many drafts: the rule traversal, on a chain.",
        case=RuleProcedure(
            LeafFirst("block"), as_method(Drawn.SAMPLED), (-1, 0, 1), length=GAMMA + 1
        ),
    ),
    CaseStudy(
        key="traversal",
        name="Traversal verification, as in the paper",
        claimed="Traversal verification of a tree keeps the target's distribution.",
        source=Source(
            "Traversal Verification for Speculative Tree Decoding",
            "https://arxiv.org/abs/2505.12398",
        ),
        drawn="Two tokens sampled from q, the second different from the first; then two different "
        "children of the first.",
        judged="As block verification, but on a tree: test the leaves first. After a rejected "
        "child, a node's p becomes (a p − q)₊, rescaled, its reach a becomes S/(S + 1 − a), where "
        "S is the sum of (a p − q)₊, and q loses the child. Then the next child is tested, and "
        "last the node itself.",
        why="A path is accepted with at most the probability that the target gives it, and the "
        "residuals add exactly the rest.",
        premise="The guesses are sampled from q, and each round gets new random numbers.",
        lines="""
for child in children:       # each tests its own children first
    if accepted(child, reach=min(1, a * p[x] / q[x])):
        return child
    S = sum(max(a * p[y] - q[y], 0) for y in tokens)
    p, a = normalize(max(a * p - q, 0)), S / (S + 1 - a)
    q = normalize(without(q, x))
return random() <= a         # the node itself
""",
        answer="On Step it is the rule “Traversal verification (trees)”. On a chain it is block "
        "verification.",
        case=RuleProcedure(
            LeafFirst("traversal"), as_method(Drawn.WITHOUT_REPLACEMENT), (-1, 0, 0, 1, 1), length=3
        ),
        p=(0.5, 0.3, 0.2),
        q=(0.2, 0.3, 0.5),
    ),
    CaseStudy(
        key="cumulative-uniform",
        name="Block verification with products of coins",
        claimed="Block verification: accept the longest prefix whose product of ratios is at "
        "least the product of the coins. (The issue reports that this is not the paper's "
        "rule.)",
        source=Source(
            "vllm-project/vllm-ascend issue 7807: block_verify is not correct",
            "https://github.com/vllm-project/vllm-ascend/issues/7807",
        ),
        drawn="A chain of two tokens, each sampled from q.",
        judged="Accept the longest prefix with R = Π min(1, p/q) ≥ Π u. Then sample from (R p − "
        "q)₊ at the next position, rescaled.",
        why="The product of two uniform random numbers is not uniform: it is low far more "
        "often than a single one. So more guesses are accepted than any lossless rule "
        "can accept.",
        premise="Block verification compares a product of ratios with one uniform random number.",
        lines="""
R, U, accepted = 1, 1, 0
for i, (x, p, q) in enumerate(draft):
    R *= min(1, p[x] / q[x])
    U *= random()            # a product is not uniform
    if R >= U:
        accepted = i + 1
""",
        answer="The fix takes acceptance and residual from equations 5 and 4 of the paper.",
        answered=Source(
            "vllm-project/vllm-ascend pull request 7808: fix block verification",
            "https://github.com/vllm-project/vllm-ascend/pull/7808",
        ),
        case=CumulativeUniform(),
    ),
    CaseStudy(
        key="remaining-mass",
        name="Traversal that divides by the remaining draft mass",
        claimed="Traversal verification of a tree keeps the target's distribution. (In the "
        "paper, it does.)",
        source=Source(
            "Traversal Verification for Speculative Tree Decoding, of which this is a variant",
            "https://arxiv.org/abs/2505.12398",
        ),
        drawn="Two tokens sampled from q, the second different from the first; then one child "
        "of the first.",
        judged="Test the leaves first. Let S be the probability still missing after a rejection. "
        "Accept the parent with probability S/Q, where Q is the total q of the tokens not yet "
        "tried.",
        why="The correct probability for the parent is S/(S + 1 − a), where a is the parent's "
        "probability of acceptance before its child was rejected. The total q of the untried "
        "tokens is a different number, so the output misses p.",
        premise="After a rejected child, the parent's probability is what is left, divided by "
        "what is left or was never accepted.",
        lines="""
# S: missing after the child's rejection, a: the parent's
# probability of acceptance before it
Q = sum(q[y] for y in untried)
accept_parent = random() <= S / Q   # not S / (S + 1 - a)
""",
        answer="The paper divides by S + 1 − a. Trees runs its rule, traversal.",
        case=RuleProcedure(
            RemainingMass(), as_method(Drawn.WITHOUT_REPLACEMENT), (-1, 0, 0, 1, 1), length=3
        ),
        p=(0.5, 0.3, 0.2),
        q=(0.2, 0.3, 0.5),
    ),
    CaseStudy(
        key="deferred",
        name="FLy: rejections overruled where the target is unsure",
        claimed="Where the target is unsure, a rejected guess is often only another wording: do "
        "not reject yet, and accept if the next guesses pass. (The paper and vLLM call it lossy.)",
        source=Source(
            "Training-free loosely speculative decoding (FLy)", "https://arxiv.org/abs/2511.22972"
        ),
        drawn="A chain of two tokens, each sampled from q.",
        judged="Accept x with probability min(1, p/q). If the first is rejected, accept both "
        "anyway when the entropy of the target's three most probable tokens is at least 0.3 and "
        "the second passes its own test. Otherwise sample from (p − q)₊, rescaled.",
        why="A rejection takes the draft's surplus away. Where it is overruled the surplus stays, "
        "so tokens that the drafter prefers come too often.",
        premise="A lossless rule rejects what the draft has too much of, whatever follows.",
        lines="""
if random() <= p[x] / q[x]:
    accept(x)
elif top3_entropy(p) >= 0.3 and next_guess_passes():
    accept(x)                # overruled
else:
    return sample(normalize(max(p - q, 0)))
""",
        answer="The pull request to vLLM says it: lossy by design, and off by default.",
        answered=Source(
            "vllm-project/vllm pull request 50808: add FLy verification",
            "https://github.com/vllm-project/vllm/pull/50808",
        ),
        case=RuleProcedure(
            Fly("fly", {"window": 1}), as_method(Drawn.SAMPLED), (-1, 0, 1), length=3
        ),
    ),
)
