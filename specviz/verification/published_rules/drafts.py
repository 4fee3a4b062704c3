"""Drafts that are cut short: by what was known before a token was sampled, or by the token itself.

A guess that is sampled from q and then dropped because its own q is low is no longer a sample of q:
the guesses that remain are the probable ones, and each of them comes more often than q says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from math import prod

import torch
from torch import Tensor

from specviz.verification.distributions import residual
from specviz.verification.exact.closed_form import acceptance_ratio
from specviz.verification.exact.enumeration import StringDistribution
from specviz.verification.published_rules.blocks import sample_tokens
from specviz.verification.published_rules.case_study import CaseStudy, Source

GAMMA = 2
LEAST = 0.2  # q below this cuts the draft


@dataclass(frozen=True)
class CutDraft:
    """A chain of at most two sampled guesses, cut at a low q; then speculative sampling.

    Attributes:
        drops: Whether the guess with the low q is dropped as well. Otherwise it stays, and only no
            further guess is sampled.
        length: The number of tokens of a string.
    """

    drops: bool
    length: int = GAMMA + 1

    def guesses(self, q: Tensor) -> list[list[int]]:
        """Return how many guesses are sent, by the first and the second token sampled."""
        low = (q < LEAST).tolist()
        if self.drops:
            return [[0 if one else 1 if two else 2 for two in low] for one in low]
        return [[1 if one else 2] * len(low) for one in low]

    def distribution(self, p: Tensor, q: Tensor) -> StringDistribution:
        """Implement `Procedure.distribution`."""
        out: defaultdict[tuple[int, ...], float] = defaultdict(float)
        target_p, draft_q, left = p.tolist(), q.tolist(), residual(p, q).tolist()
        ratios, sent = acceptance_ratio(p, q).tolist(), self.guesses(q)
        for draft in product(range(len(p)), repeat=GAMMA):
            weight = prod(draft_q[x] for x in draft)
            count = sent[draft[0]][draft[1]]
            for accepted in range(count + 1):
                kept = draft[:accepted]
                chance = weight * prod(ratios[x] for x in kept)
                rejected = accepted < count
                if rejected:
                    chance *= 1 - ratios[draft[accepted]]
                for rest in product(range(len(p)), repeat=self.length - accepted):
                    next_ = left if rejected else target_p
                    after = next_[rest[0]] * prod(target_p[y] for y in rest[1:])
                    out[(*kept, *rest)] += chance * after
        return dict(out)

    def accepted_length(self, p: Tensor, q: Tensor) -> float:
        """Implement `Procedure.accepted_length`."""
        ratios, draft_q, sent = acceptance_ratio(p, q).tolist(), q.tolist(), self.guesses(q)
        found = 0.0
        for x, y in product(range(len(p)), repeat=GAMMA):
            one = ratios[x] if sent[x][y] >= 1 else 0.0
            two = one * ratios[y] if sent[x][y] == GAMMA else 0.0
            found += draft_q[x] * draft_q[y] * (one + two)
        return found

    def sample(self, p: Tensor, q: Tensor, throws: int, seed: int) -> StringDistribution:
        """Implement `Procedure.sample`."""
        generator = torch.Generator().manual_seed(seed)
        draft = sample_tokens(q, throws, GAMMA, generator)
        sent = torch.tensor(self.guesses(q))[draft[:, 0], draft[:, 1]]
        u = torch.rand(throws, GAMMA, generator=generator, dtype=torch.float64)
        index = torch.arange(GAMMA + 1)
        passed = (u <= acceptance_ratio(p, q)[draft]) & (index[:GAMMA] < sent[:, None])
        accepted = passed.long().cumprod(1).sum(1)
        bonus = sample_tokens(p, throws, GAMMA + 1, generator)
        left = sample_tokens(residual(p, q), throws, 1, generator)
        text = torch.where(
            index < accepted[:, None], torch.cat([draft, bonus[:, :1]], dim=1), bonus
        )
        replaced = (index == accepted[:, None]) & (accepted < sent)[:, None]
        text = torch.where(replaced, left, text)
        strings, counts = text.unique(dim=0, return_counts=True)
        pairs = zip(strings.tolist(), counts.tolist(), strict=True)
        return {tuple(string): float(count) for string, count in pairs}


CASE_STUDIES = (
    CaseStudy(
        key="cut-before-sampling",
        name="A draft that ends after an improbable guess",
        claimed="Stop drafting as soon as the draft model is unsure; the text stays lossless.",
        source=Source(
            "vllm-project/vllm pull request 35301: confidence-threshold early exit",
            "https://github.com/vllm-project/vllm/pull/35301",
        ),
        drawn=f"Tokens sampled from q, at most two. After a token with q below {LEAST}, no further "
        "one is sampled.",
        judged="Accept each token with probability min(1, p/q). If rejected, sample from "
        "(p − q)₊, rescaled.",
        why="Whether the second token is sampled depends on the first one only. If it is sampled, "
        "it has probability q(x), as the proof requires; if not, the round is shorter, and plain "
        "decoding follows. DSpark's confidence head decides in the same way, before a "
        "token is sampled.",
        case=CutDraft(drops=False),
    ),
    CaseStudy(
        key="cut-after-sampling",
        name="A draft without its improbable guess",
        claimed="Discard the last drafted token if its probability is low, since it will rarely "
        "be accepted. (The program in the thread compares with the target's own sample, which is "
        "lossless with any draft; here the guesses are tested with p/q.)",
        source=Source(
            "ggml-org/llama.cpp pull request 22506: discard the last drafted token with low "
            "probability",
            "https://github.com/ggml-org/llama.cpp/pull/22506",
        ),
        drawn=f"Tokens sampled from q, at most two. A token with q below {LEAST} is dropped, and "
        "the draft ends before it.",
        judged="Accept each token with probability min(1, p/q). If rejected, sample from "
        "(p − q)₊, rescaled.",
        why="Whether a token is kept depends on the token. Only probable ones are kept, so they "
        "are guessed more often than q says, while the test still divides by q. A dropped one is "
        "replaced by a sample from p, which can be a probable token again.",
        case=CutDraft(drops=True),
    ),
)
